//go:build unix

package e2e

import (
	"testing"

	"github.com/braidhq/braid/internal/simulator"
)

// oneSite is a chunk in which nothing can be divided.
const oneSite = `schema: query/v1
service: usgs-waterdata
collection: latest-daily
where:
  monitoring_location_id: USGS-01000000
  parameter_code: '00060'
`

func TestWhatCannotBeAskedForInLessIsAFailureThatNamesIt(t *testing.T) {
	t.Parallel()
	for kind, says := range map[simulator.FaultKind]string{
		simulator.Fault413: "413", simulator.Fault414: "414", simulator.FaultServerLimits: "exceeding server limits", simulator.Fault504: "504",
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t, simulator.Config{Faults: []simulator.Fault{{Kind: kind}}})
			d := suspiciousDesk(t, up)
			d.write("q.yaml", oneSite)
			d.run("run", "q.yaml", "-o", "t.csv").mustExit(t, 3).mustSay(t, says, "too large", "nothing in it can be divided", "USGS-01000000", "braid resume")
			d.mustHaveNoTable("t.csv")
		})
	}
}

func TestABombIsRefusedInBoundedMemory(t *testing.T) {
	t.Parallel()
	const answer, most = 8 << 20, 160 << 20
	calmUp := newUpstream(t, simulator.Config{})
	quiet := suspiciousDesk(t, calmUp)
	quiet.write("q.yaml", oneSite)
	quiet.run("run", "q.yaml", "-o", "t.csv").mustExit(t, 0)
	up := newUpstream(t, simulator.Config{Faults: []simulator.Fault{{Kind: simulator.FaultGzipBomb}}})
	d := suspiciousDesk(t, up, "limits: {url_bytes", "limits: {response_bytes: 8388608, url_bytes")
	d.write("q.yaml", oneSite)
	p := d.braid("run", "q.yaml", "-o", "t.csv")
	used := p.mostResident()
	p.wait(limit).mustExit(t, 3).mustSay(t, "8388608 bytes", "USGS-01000000", "braid resume")
	d.mustHaveNoTable("t.csv")
	if used > most {
		t.Errorf("an answer of 1 GiB took %d MiB of memory, want at most %d with answers of %d", used>>20, most>>20, answer>>20)
	}
	up.change(t, func(c *simulator.Config) { c.Faults = []simulator.Fault{{Kind: simulator.FaultGzipBomb, Times: 1}} })
	d.run("resume").mustExit(t, 3)
	d.run("resume").mustExit(t, 0)
	d.mustEqual("t.csv", quiet.read("t.csv"))
}
