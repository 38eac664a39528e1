//go:build unix

package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/pkg/messages"
)

const (
	exampleSites  = 60
	exampleChunks = 30
	exampleDays   = 366 // of the water year 2024
)

func example(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "examples", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAQuotaPauseExits75AndThePrintedCommandFinishesTheSameTable(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{Latency: 20 * time.Millisecond})
	file := example(t, "daily-flow.yaml")
	free := newDesk(t, up)
	free.run("run", file, "-o", free.path("out.parquet")).mustExit(t, 0)

	up.Reset()
	const quota, window = 20, 4 * time.Second
	up.change(t, func(c *simulator.Config) {
		c.Quota = simulator.Quota{Limit: quota, Window: window, RetryAfter: true}
	})
	d := newDesk(t, up)
	paused := d.run("run", file, "-o", "out.parquet").mustExit(t, 75)
	id := idIn(paused)
	paused.mustSay(t, "quota", "20 of 30 chunks; none of them will be asked for again")
	if next := paused.line(t, "next"); !strings.Contains(next, "in ") {
		t.Errorf("next is %q, which does not say how long that is", next)
	}
	command := paused.line(t, "continue")
	if want := "braid resume " + id + " --data-dir " + d.data + " --wait"; command != want {
		t.Errorf("the command to go on is\n%s, want\n%s", command, want)
	}
	if s := d.status(id); s.Query.State != messages.Interrupted || s.Progress.Completed != quota {
		t.Errorf("status is %s with %d complete, want interrupted with %d", s.Query.State, s.Progress.Completed, quota)
	}

	before := len(up.Requests())
	complete := d.complete(id)
	d.sh(command).mustExit(t, 0)
	mustNotAskFor(t, up.Requests()[before:], complete)
	d.mustEqual("out.parquet", free.read("out.parquet"))
	seen := up.Counters()
	if seen.Repeated != 0 || seen.OK != exampleChunks {
		t.Errorf("%d answers of which %d were repeated, want %d and none", seen.OK, seen.Repeated, exampleChunks)
	}
}

func TestWaitGoesThroughAQuotaPauseByItself(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{
		Latency: 20 * time.Millisecond, Quota: simulator.Quota{Limit: 20, Window: 4 * time.Second, RetryAfter: true},
	})
	d := newDesk(t, up)
	p := d.braid("run", example(t, "daily-flow.yaml"), "--wait", "-o", "out.csv")
	up.saw(t, 20) // it has the data directory
	told := false
	eventually(t, limit, "status that tells of the wait", func() bool {
		told = told || strings.Contains(d.run("status").stdout, "by itself")
		return told || !p.running()
	})
	if !told {
		t.Error("status never said that the process waits")
	}
	p.wait(limit).mustExit(t, 0)
	if n := len(readCSV(t, d.read("out.csv"))); n != exampleSites*exampleDays {
		t.Errorf("%d rows, want %d", n, exampleSites*exampleDays)
	}
	if seen := up.Counters(); seen.Repeated != 0 || seen.Refused == 0 {
		t.Errorf("%d repeated answers and %d refusals, want none and some", seen.Repeated, seen.Refused)
	}
}

func TestOneQueryGivesItsTableInEveryFormatWithoutAnotherRequest(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	d := newDesk(t, up)
	o := d.run("run", d.queryFile("q.yaml", 6, 3), "-o", "first.parquet", "-o", "first.csv").mustExit(t, 0)
	id := idIn(o)
	asked := up.Counters().Requests
	for _, format := range []string{"csv", "jsonl", "parquet"} {
		d.run("results", id, "-o", "again."+format).mustExit(t, 0)
	}
	d.mustEqual("again.parquet", d.read("first.parquet"))
	d.mustEqual("again.csv", d.read("first.csv"))
	if n := strings.Count(string(d.read("again.jsonl")), "\n"); n != 6*exampleDays {
		t.Errorf("%d lines of JSON, want %d", n, 6*exampleDays)
	}
	out := d.run("results", "-o", "-", "--format", "csv").mustExit(t, 0)
	if out.stdout != string(d.read("first.csv")) {
		t.Error("the table on stdout is not the one in the file")
	}
	if now := up.Counters().Requests; now != asked {
		t.Errorf("exports sent %d requests", now-asked)
	}
}

func TestAPlanSaysWhatARunWouldSendAndSendsNothing(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	d := newDesk(t, up)
	var plan messages.PlanSummary
	o := d.run("plan", example(t, "daily-flow.yaml"), "--json").mustExit(t, 0)
	if err := json.Unmarshal([]byte(o.stdout), &plan); err != nil {
		t.Fatal(err)
	}
	if plan.Chunks != exampleChunks || plan.LeastRequests != exampleChunks {
		t.Errorf("%d chunks and %d requests, want %d of each", plan.Chunks, plan.LeastRequests, exampleChunks)
	}
	if n := up.Counters().Requests; n != 0 {
		t.Errorf("a plan sent %d requests", n)
	}
	if o := d.run("plan", example(t, "daily-flow.yaml")).mustExit(t, 0); !strings.Contains(o.stdout, "USGS-01013500") {
		t.Errorf("the plan does not show its first request:\n%s", o.stdout)
	}
}

func TestAQueryIsListedUntilItIsRemoved(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{
		Latency: 20 * time.Millisecond, Quota: simulator.Quota{Limit: 2, Window: time.Hour, RetryAfter: true},
	})
	d := newDesk(t, up)
	id := idIn(d.run("run", d.queryFile("q.yaml", 6, 6), "-o", "out.csv").mustExit(t, 75))
	listed := func() []messages.Status {
		var list struct{ Queries []messages.Status }
		o := d.run("list", "--json").mustExit(t, 0)
		if err := json.Unmarshal([]byte(o.stdout), &list); err != nil {
			t.Fatal(err)
		}
		return list.Queries
	}
	if all := listed(); len(all) != 1 || all[0].Query.ID != id || all[0].Query.State != messages.Interrupted {
		t.Fatalf("the list is %+v, want the interrupted query %s", all, id)
	}
	d.run("results", id, "-o", "out.csv").mustExit(t, 3).mustSay(t, "2 of 6 chunks", "braid resume "+id)
	d.run("cancel", id).mustExit(t, 0)
	if s := d.status(id); s.Query.State != messages.Cancelled || s.Progress.Completed != 2 {
		t.Errorf("status is %s with %d complete, want cancelled with 2", s.Query.State, s.Progress.Completed)
	}
	d.run("cancel", id).mustExit(t, 2).mustSay(t, "it is cancelled")
	d.run("results", id, "--partial", "-o", "part.csv").mustExit(t, 0).mustSay(t, "rows are missing from this table")
	if n := len(readCSV(t, d.read("part.csv"))); n != 2*exampleDays {
		t.Errorf("%d rows in the partial table, want %d", n, 2*exampleDays)
	}
	d.run("rm", id).mustExit(t, 0)
	if all := listed(); len(all) != 0 {
		t.Errorf("the list is %+v after rm, want none", all)
	}
	d.run("status", id).mustExit(t, 2).mustSay(t, id, "braid list")
}
