//go:build unix

package e2e

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
)

// soon lets a definition try again at once.
const soon = "\nretry: {attempts: 3, base: 5ms, cap: 10ms}\n"

// mustDefine is the text of a built-in definition, or of the example.
func mustDefine(t *testing.T, name string) string {
	t.Helper()
	text, err := definitionOf(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// suspiciousDesk has every service of the simulator, changed as the pairs say, and tries again at once.
func suspiciousDesk(t *testing.T, up *upstream, replace ...string) *desk {
	t.Helper()
	d := newDesk(t, nil)
	d.args = append(d.args, "--services-dir", d.path("services"), "--progress", "quiet")
	for _, s := range simulator.Services() {
		text := strings.NewReplacer(replace...).Replace(mustDefine(t, s.Name))
		d.write("services/"+s.Name+".yaml", text+soon)
		d.args = append(d.args, "--service-url", s.Name+"="+up.root()+s.Base)
	}
	return d
}

// root is the address of the fake services together.
func (u *upstream) root() string { return strings.TrimSuffix(u.base, simulator.WaterDataBase) }

// asking is a query of some pages, whose table is known from an undisturbed run.
type asking struct {
	name  string // in test names
	query string
	pages int64 // requests of an undisturbed run
	// config makes so many pages of it.
	config simulator.Config
}

func askings() map[string]asking {
	head := func(service, collection string) string {
		return "schema: query/v1\nservice: " + service + "\ncollection: " + collection + "\nwhere:\n"
	}
	list := []asking{
		{
			name: "daily", pages: 3, config: simulator.Config{PageRows: 400},
			query: head("usgs-waterdata", "daily") + "  monitoring_location_id: [USGS-01000000, USGS-01000037, USGS-01000074]\n" +
				"  parameter_code: '00060'\n  statistic_id: '00003'\n  time: {from: 2023-10-01, to: 2024-09-30}\n",
		},
		{
			name: "levels", pages: 3, config: simulator.Config{PageRows: 5},
			query: head("usgs-ngwmn", "waterLevelObs") + "  monitoring_location_id: [USGS-01000000, USGS-01000037, USGS-01000074]\n" +
				"  time: {from: 2023-10-01T00:00:00Z, to: 2024-09-30T00:00:00Z}\n",
		},
		{
			name: "water-use", pages: 3, config: simulator.Config{PageRows: 8},
			query: head("usgs-nwdc", "water-use") + "  model: wu-public-supply-wd\n  variable: [pswdtot]\n  resolution: annualcy\n" +
				"  time: {from: '2015', to: '2016'}\n  state: [WI]\n",
		},
		{name: "stations", pages: 5, config: simulator.Config{PageRows: 20}, query: head("open-hydro", "stations") + "  basin: [danube, elbe, odra, rhône]\n"},
		{name: "readings", pages: 4, query: head("open-hydro", "readings") + "  station: [st-001]\n  ts: {from: 2022-10-01, to: 2023-09-30}\n"},
		{name: "events", pages: 3, config: simulator.Config{PageRows: 10}, query: head("open-hydro", "events") + "  kind: [drought, flood, ice]\n"},
		{name: "alerts", pages: 3, config: simulator.Config{PageRows: 3}, query: head("open-hydro", "alerts") + "  {}\n"},
	}
	byName := map[string]asking{}
	for _, a := range list {
		byName[a.name] = a
	}
	return byName
}

// calm gives the tables of undisturbed runs, by the asking's name and the format.
func calm(t *testing.T, formats ...string) map[string][]byte {
	t.Helper()
	tables := map[string][]byte{}
	for name, a := range askings() {
		up := newUpstream(t, a.config)
		d := suspiciousDesk(t, up)
		d.write("q.yaml", a.query)
		args := []string{"run", "q.yaml"}
		for _, format := range formats {
			args = append(args, "-o", name+"."+format)
		}
		d.run(args...).mustExit(t, 0)
		if n := up.Counters().Requests; n != a.pages {
			t.Errorf("%s: %d requests undisturbed, want %d", name, n, a.pages)
		}
		for _, format := range formats {
			tables[name+"."+format] = d.read(name + "." + format)
		}
	}
	return tables
}

// mustHaveNoTable fails when a query that is not complete has written one.
func (d *desk) mustHaveNoTable(name string) {
	d.t.Helper()
	if _, err := os.Stat(d.path(name)); err == nil {
		d.t.Errorf("%s was written", name)
	}
}

// mostResident watches the memory of a process until it ends, and gives the most that it saw. What the system tells of a child that
// has ended would include the memory of this process, from before the child was another program.
func (p *process) mostResident() (bytes int64) {
	p.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for p.running() {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid)) // gone as soon as the process is
		for line := range strings.Lines(string(status)) {
			if text, found := strings.CutPrefix(line, "VmHWM:"); found {
				kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
				if err != nil {
					p.t.Fatal(err)
				}
				bytes = max(bytes, kilobytes<<10)
			}
		}
		<-tick.C
	}
	if bytes == 0 && runtime.GOOS == "linux" {
		p.t.Fatal("the memory of the process was never told")
	}
	if bytes == 0 {
		p.t.Skip("this system does not tell the memory of a process")
	}
	return bytes
}
