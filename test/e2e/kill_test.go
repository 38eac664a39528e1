//go:build unix

package e2e

import (
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/pkg/messages"
)

// What the killed query asks for: two sites a chunk, two pages a chunk.
const (
	killSites  = 80
	killChunks = 40
	killPages  = 2
	killCap    = 4
	killTotal  = killChunks * killPages
)

// moment says when a process is killed: after a time, after so many answers of the upstream, or while it writes its table.
type moment struct {
	after   time.Duration
	answers int64
	writing bool
}

// killMoments are drawn so that a failure can be repeated by its seed: before there is a query, all along its way, and
// while the table is written.
func killMoments(random *rand.Rand) []moment {
	moments := []moment{{}, {after: time.Duration(random.Int64N(int64(200 * time.Millisecond)))}}
	for i := range int64(5) {
		moments = append(moments, moment{answers: 1 + i*killTotal/6 + random.Int64N(killTotal/6)})
	}
	moments = append(moments, moment{writing: true})
	if testing.Short() {
		return []moment{moments[1], moments[4], moments[7]}
	}
	return moments
}

func TestAKilledRunGoesOnWithoutAskingAgainForWhatIsComplete(t *testing.T) {
	t.Parallel()
	const seed = 20240930
	up := newUpstream(t, simulator.Config{Latency: 30 * time.Millisecond, PageRows: 400})
	calm := newDesk(t, up)
	calm.run("run", calm.queryFile("q.yaml", killSites, killChunks), "-o", "t.parquet").mustExit(t, 0)
	up.Reset()

	v := &victim{desk: newDesk(t, up), up: up}
	v.queryFile("q.yaml", killSites, killChunks)
	v.write("out/README", "the table goes here\n")
	moments := killMoments(rand.New(rand.NewPCG(seed, seed)))
	for i, m := range moments {
		t.Logf("seed %d, kill %d of %d: %+v", seed, i+1, len(moments), m)
		v.start()
		v.killAt(m)
		v.takeStock()
	}
	v.start().wait(limit).mustExit(t, 0)
	v.mustHaveAskedOnlyForTheRest()
	v.mustEqual("out/t.parquet", calm.read("t.parquet"))
	if seen := up.Counters(); seen.MostInFlight > killCap || seen.Repeated > int64(len(moments)*killCap*killPages) {
		t.Errorf("%d in flight and %d answers repeated, want at most %d and %d: what was in flight at each kill",
			seen.MostInFlight, seen.Repeated, killCap, len(moments)*killCap*killPages)
	}
}

// victim is a query whose process is killed again and again.
type victim struct {
	*desk
	up       *upstream
	id       string // empty until a query has been stored
	process  *process
	complete map[string]bool // sites of the chunks that have a result
	read     int             // entries of the upstream's log that were there when stock was taken
}

// start runs the query, or resumes it when there is one.
func (v *victim) start() *process {
	v.t.Helper()
	v.read = len(v.up.Requests())
	if v.id == "" {
		v.process = v.braid("run", "q.yaml", "-o", "out/t.parquet", "--in-flight", "4", "--lease-ttl", "2s")
	} else {
		v.process = v.braid("resume", v.id, "--in-flight", "4", "--lease-ttl", "2s")
	}
	return v.process
}

// pages is how many different pages the upstream has answered.
func (v *victim) pages() int64 {
	seen := v.up.Counters()
	return seen.OK - seen.Repeated
}

func (v *victim) killAt(m moment) {
	v.t.Helper()
	switch {
	case m.writing:
		eventually(v.t, limit, "the table to be written", func() bool {
			files, err := filepath.Glob(v.path("out/.braid-*"))
			return v.pages() == killTotal && len(files) > 0 && err == nil || !v.process.running()
		})
	case m.answers > 0:
		eventually(v.t, limit, "answers of the upstream", func() bool { return v.pages() >= m.answers || !v.process.running() })
	default:
		pass(m.after)
	}
	if !v.process.running() {
		v.t.Fatalf("the process ended before it was killed: %+v", v.process.wait(limit))
	}
	v.process.kill()
	v.up.idle(v.t)
}

// takeStock reads from what the dead process left behind what is complete, and holds the requests that it had sent
// against what had been complete before.
func (v *victim) takeStock() {
	v.t.Helper()
	mustNotAskFor(v.t, v.up.Requests()[v.read:], v.complete)
	if v.id == "" {
		var list struct{ Queries []messages.Status }
		if err := json.Unmarshal([]byte(v.run("list", "--json").mustExit(v.t, 0).stdout), &list); err != nil {
			v.t.Fatal(err)
		}
		if len(list.Queries) == 0 {
			return
		}
		v.id = list.Queries[0].Query.ID
	}
	before := v.complete
	v.complete = v.desk.complete(v.id)
	for site := range before {
		if !v.complete[site] {
			v.t.Errorf("the result with %s is lost", site)
		}
	}
	s := v.status(v.id)
	if s.Query.State.Active() || s.Progress.Completed*killSites/killChunks != len(v.complete) {
		v.t.Errorf("status: %s with %d complete; the table has %d sites", s.Query.State, s.Progress.Completed, len(v.complete))
	}
	v.t.Logf("kept: %d of %d chunks", s.Progress.Completed, killChunks)
}

// mustHaveAskedOnlyForTheRest wants of the last process one request for each page of each chunk that had no result.
func (v *victim) mustHaveAskedOnlyForTheRest() {
	v.t.Helper()
	log := v.up.Requests()[v.read:]
	mustNotAskFor(v.t, log, v.complete)
	if want := (killSites - len(v.complete)) * killPages * killChunks / killSites; len(log) != want {
		v.t.Errorf("the last resume sent %d requests, want %d: each page of the chunks without a result", len(log), want)
	}
}
