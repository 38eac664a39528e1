//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/pkg/messages"
)

// The chunks of queries here: one site each.
const failureChunks = 24

// failures is what braid failed --json prints.
func (d *desk) failures(id string) messages.Failures {
	d.t.Helper()
	var list messages.Failures
	o := d.run("failed", "--json", id).mustExit(d.t, 0)
	if err := json.Unmarshal([]byte(o.stdout), &list); err != nil {
		d.t.Fatalf("failed --json: %v\n%s", err, o.stdout)
	}
	return list
}

func (d *desk) finishing(name string) string {
	d.t.Helper()
	d.queryFile(name, failureChunks, failureChunks)
	return d.write(name, string(d.read(name))+"run: {on_failure: finish}\n")
}

func TestWhatFailedIsListedAndRetriedAndTheRestIsFinished(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	calm := newDesk(t, up)
	calm.run("run", calm.queryFile("q.yaml", failureChunks, failureChunks), "-o", "t.csv").mustExit(t, 0)
	up.Reset()
	wrong := []int{3, 11}
	up.change(t, func(c *simulator.Config) {
		for _, i := range wrong {
			c.Faults = append(c.Faults, simulator.Fault{Kind: simulator.FaultKeyEcho, Contains: siteName(i)})
		}
	})
	d := newDesk(t, up)
	o := d.run("run", d.finishing("q.yaml"), "-o", "t.csv").mustExit(t, 3).mustSay(t, "chunk 3 failed", "22 of 24 chunks", "braid failed ")
	id := idIn(o)
	list := d.failures(id)
	if len(list.Failures) != 2 || list.Failures[0].Position != "3" || list.Failures[1].Position != "11" || !strings.Contains(list.Failures[1].Asks, siteName(11)) {
		t.Errorf("%+v", list)
	}
	shown := d.run("failed").mustExit(t, 0).mustSay(t, "braid retry "+id+" --failed")
	for _, word := range []string{"CHUNK", "400", "bad_request", siteName(3), siteName(11)} {
		if !strings.Contains(shown.stdout, word) {
			t.Errorf("braid failed does not show %q:\n%s", word, shown.stdout)
		}
	}
	d.run("results", id, "--partial", "-o", "part.csv").mustExit(t, 0)
	if n := len(readCSV(t, d.read("part.csv"))); n != 22*exampleDays {
		t.Errorf("%d rows of the other chunks, want %d", n, 22*exampleDays)
	}
	d.run("retry", id).mustExit(t, 2).mustSay(t, "--failed")
	up.change(t, func(c *simulator.Config) { c.Faults = nil })
	before := len(up.Requests())
	d.run("retry", id, "--failed").mustExit(t, 0)
	if n := len(up.Requests()) - before; n != len(wrong) {
		t.Errorf("the retry sent %d requests, want one for each failed chunk", n)
	}
	d.mustEqual("t.csv", calm.read("t.csv"))
	d.run("failed", id).mustExit(t, 0).mustSay(t, "no chunk of query "+id+" has failed")
}

func TestAQueryOfWhichAllIsWrongSpendsLittleOfTheQuota(t *testing.T) {
	t.Parallel()
	const chunks = 1000
	up := newUpstream(t, simulator.Config{Faults: []simulator.Fault{{Kind: simulator.FaultKeyEcho}}})
	for _, rule := range []string{"stop", "finish"} {
		up.Reset()
		d := newDesk(t, up)
		d.queryFile("q.yaml", chunks, chunks)
		d.write("q.yaml", string(d.read("q.yaml"))+"run: {on_failure: "+rule+"}\n")
		o := d.run("run", "q.yaml", "-o", "t.csv", "--in-flight", "8").mustExit(t, 3).mustSay(t, "HTTP 400", "nothing yet", "braid failed ")
		const most = 20 + 2*3*8 // what trips the breaker, and what was with the workers and on the way
		if n := up.Counters().Requests; n > most {
			t.Errorf("on_failure: %s sent %d requests of %d, want at most %d", rule, n, chunks, most)
		}
		if stop := d.status(idIn(o)).Query.Stop; rule == "finish" && (stop.Kind != messages.StopBreaker || stop.Tripped == nil || stop.Tripped.Failed < 20) {
			t.Errorf("on_failure: %s is stopped by %+v", rule, stop)
		}
	}
}

// A chunk that kills each worker which asks for it: an answer that no worker survives, as the operator sees it.
func TestAChunkThatKillsItsWorkersIsGivenUpAndTheRestIsThere(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("each death waits for a lease")
	}
	const chunks, deadly = 8, 5
	up := newUpstream(t, simulator.Config{Faults: []simulator.Fault{{Kind: simulator.FaultHang, Contains: siteName(deadly), Delay: time.Minute}}})
	c := newCluster(t, up, clusterConfig{leaseTTL: time.Second, inFlight: 4, grace: 10 * time.Second})
	c.work[1].kill() // one at a time, so that it is known which one asked
	d := c.desk()
	d.queryFile("q.yaml", chunks, chunks)
	d.write("q.yaml", string(d.read("q.yaml"))+"run: {on_failure: finish}\n")
	p := d.braid("run", "q.yaml", "-o", "t.csv")
	deaths := 0
	// A chunk that the first worker to go had in hand is asked for twice: what is in flight may be that.
	arrived := func(counters simulator.Counters) (n int64) {
		for url, times := range counters.ByURL {
			if strings.Contains(url, siteName(deadly)) {
				n += times
			}
		}
		return n
	}
	for p.running() {
		eventually(t, limit, "a request for the deadly chunk, or the end", func() bool {
			counters := up.Counters()
			return !p.running() || counters.InFlight == 1 && counters.OK >= chunks-1 && arrived(counters) > int64(deaths)
		})
		if !p.running() {
			break
		}
		deaths++
		c.work[0].kill()
		up.idle(t)
		c.work[0].args[3] = fmt.Sprintf("worker-%d", 10+deaths)
		c.work[0].start()
	}
	o := p.wait(limit).mustExit(t, 3).mustSay(t, "ends the workers that run it", "worker-1")
	if deaths < 3 || deaths > 5 {
		t.Errorf("%d workers were killed by the chunk, want 3 to 5", deaths)
	}
	list := d.failures(idIn(o))
	if len(list.Failures) != 1 || list.Failures[0].Position != "5" || list.Failures[0].Class != messages.ClassPoison || list.Failures[0].Requests != 0 {
		t.Errorf("%+v", list)
	}
	if n := len(d.complete(idIn(o))); n != chunks-1 {
		t.Errorf("%d chunks are complete, want all others", n)
	}
	asked := 0
	for _, e := range up.Requests() {
		if strings.Contains(e.URL, siteName(deadly)) {
			asked++
		}
	}
	if asked != deaths {
		t.Errorf("%d requests for the deadly chunk, want one for each of %d deaths", asked, deaths)
	}
	up.change(t, func(c *simulator.Config) { c.Faults = nil })
	d.run("retry", idIn(o), "--failed", "-o", "t2.csv").mustExit(t, 0)
	if n := len(readCSV(t, d.read("t2.csv"))); n != chunks*exampleDays {
		t.Errorf("%d rows after the retry", n)
	}
}

func TestACancelIsInstantAndNothingIsAskedForAfterIt(t *testing.T) {
	t.Parallel()
	const inFlight, latency = 16, 5 * time.Second
	up := newUpstream(t, simulator.Config{Latency: latency})
	c := newCluster(t, up, clusterConfig{leaseTTL: 20 * time.Second, inFlight: inFlight, grace: 10 * time.Second})
	d := c.desk()
	d.queryFile("q.yaml", 60, 60)
	p := d.braid("run", "q.yaml", "-o", "t.csv")
	eventually(t, limit, "all slots to be used", func() bool { return up.Counters().InFlight == inFlight })
	begun := time.Now()
	d.run("cancel", "latest").mustExit(t, 0)
	if took := time.Since(begun); took > latency/2 {
		t.Errorf("the cancel took %s, with requests in flight that take %s", took, latency)
	}
	if n := up.Counters().InFlight; n != inFlight {
		t.Fatalf("%d requests are in flight, want %d: the cancel has waited for them", n, inFlight)
	}
	p.wait(latency).mustExit(t, 3).mustSay(t, "cancelled on request")
	eventually(t, 2*latency, "the requests in flight to end", func() bool { return up.Counters().InFlight == 0 })
	pass(time.Second) // whoever still had an item would have asked by now
	if n := up.Counters().Requests; n != inFlight {
		t.Errorf("%d requests, want the %d that were in flight at the cancel", n, inFlight)
	}
	if s := d.status("latest"); s.Query.State != messages.Cancelled {
		t.Errorf("the query is %s", s.Query.State)
	}
	up.change(t, func(c *simulator.Config) { c.Latency = 0 })
	d.run("resume", "latest", "-o", "t.csv").mustExit(t, 0)
	if n := len(readCSV(t, d.read("t.csv"))); n != 60*exampleDays {
		t.Errorf("%d rows after the resume", n)
	}
}
