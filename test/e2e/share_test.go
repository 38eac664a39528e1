//go:build unix

package e2e

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/share"
	"github.com/braidhq/braid/test/rig"
)

// Two queries of one service, told apart by the statistic that they ask for.
const (
	sharedCap = 4
	oneStat   = "00003"
	otherStat = "00001"
)

// sharing is a cluster on which a long query runs, and soon another one.
type sharing struct {
	*cluster
	t    *testing.T
	up   *upstream
	desk *desk
}

func newSharing(t *testing.T, sim simulator.Config, long int) (s *sharing, first *process) {
	t.Helper()
	up := newUpstream(t, sim)
	c := newCluster(t, up, clusterConfig{leaseTTL: 5 * time.Second, inFlight: sharedCap, grace: time.Second})
	s = &sharing{cluster: c, t: t, up: up, desk: c.desk()}
	s.desk.write("one.yaml", rig.DailyQuery(long, long))
	first = s.desk.braid("run", "one.yaml", "-o", "one.csv")
	up.saw(t, 40)
	return s, first
}

// join starts the other query.
func (s *sharing) join(chunks int, flags ...string) *process {
	s.t.Helper()
	s.desk.write("other.yaml", strings.ReplaceAll(rig.DailyQuery(chunks, chunks), oneStat, otherStat))
	return s.desk.braid(append([]string{"run", "other.yaml", "-o", "other.csv"}, flags...)...)
}

// record is the query of that name.
func (s *sharing) record(name string) *messages.Query {
	s.t.Helper()
	var list struct{ Queries []messages.Status }
	if err := json.Unmarshal([]byte(s.desk.run("list", "--json").mustExit(s.t, 0).stdout), &list); err != nil {
		s.t.Fatal(err)
	}
	for _, status := range list.Queries {
		if status.Query.Name == name {
			return status.Query
		}
	}
	s.t.Fatalf("there is no query %s", name)
	return nil
}

// log is what the upstream saw, in the order in which requests came.
func (s *sharing) log() []simulator.Exchange {
	log := s.up.Requests()
	slices.SortStableFunc(log, func(a, b simulator.Exchange) int { return a.Time.Compare(b.Time) })
	return log
}

func asksFor(e simulator.Exchange, stat string) bool {
	return strings.Contains(e.URL, "statistic_id="+stat)
}

// between counts the requests of one query from the n-th of the other up to the m-th of it.
func between(log []simulator.Exchange, stat, other string, n, m int) int {
	seen, count := 0, 0
	for _, e := range log {
		if asksFor(e, other) {
			seen++
		}
		if asksFor(e, stat) && seen >= n && seen < m {
			count++
		}
	}
	return count
}

func TestQueriesOfOneServiceShareItByTheirWeights(t *testing.T) {
	t.Parallel()
	s, first := newSharing(t, simulator.Config{Latency: 40 * time.Millisecond}, 400)
	s.join(300, "--weight", "3").wait(limit).mustExit(t, 0)
	log := s.log()
	first.wait(limit).mustExit(t, 0)
	s.desk.run("list").mustExit(t, 0).mustSay(t, s.record("other").ID+" has weight 3")
	if q := s.record("other"); q.Weight != 3 || q.Priority != 0 {
		t.Errorf("the record says %+v", q.Rank)
	}
	const from, to = 40, 260
	if n := between(log, oneStat, otherStat, from, to); n == 0 || !near(float64(to-from)/float64(n), 3) {
		t.Errorf("%d requests of the query of weight 1 beside %d of the one of weight 3", n, to-from)
	} else {
		t.Logf("%d requests of the query of weight 1 beside %d of the one of weight 3", n, to-from)
	}
	// What was queued of the first stands before the other's, and no more, beside what it sends while the other is planned.
	created, waited := s.record("other").Created, 0
	for _, e := range log {
		if asksFor(e, otherStat) {
			break
		}
		if e.Time.After(created) {
			waited++
		}
	}
	const planning = 50 // requests in half a second
	if most := share.Total(sharedCap) + planning; waited > most {
		t.Errorf("%d requests of the first query before the other had one, want at most %d", waited, most)
	}
}

func near(got, want float64) bool { return got > want*0.75 && got < want*1.33 }

func TestAQueryOfHigherPriorityPassesALongOne(t *testing.T) {
	t.Parallel()
	s, first := newSharing(t, simulator.Config{Latency: 40 * time.Millisecond}, 400)
	s.join(150, "--priority", "5").wait(limit).mustExit(t, 0)
	log := s.log()
	if !first.running() {
		t.Error("the long query was over first")
	}
	const last = 140 // behind these the other's last items may have been given out, and the long query goes on
	if n, most := between(log, oneStat, otherStat, 1, last), share.Total(sharedCap); n > most {
		t.Errorf("%d requests of the long query beside %d of the other, want at most %d, which were queued", n, last, most)
	} else {
		t.Logf("%d requests of the long query beside %d of the other", n, last)
	}
	first.wait(limit).mustExit(t, 0)
	if seen := s.up.Counters(); seen.MostInFlight > sharedCap || seen.Repeated > 0 {
		t.Errorf("%d requests in flight, %d repeated; want at most %d and none", seen.MostInFlight, seen.Repeated, sharedCap)
	}
}

// A request that was begun is finished; its answer is nobody's. Nothing else is begun, not even the next page.
func TestACancelStopsOneQueryAtOnceAndNoOther(t *testing.T) {
	t.Parallel()
	const (
		latency  = 200 * time.Millisecond
		notLater = 250 * time.Millisecond // what a busy machine may take to tell its workers; a page more would be seen
	)
	s, first := newSharing(t, simulator.Config{Latency: latency, PageRows: 100}, 200)
	other := s.join(20)
	eventually(t, limit, "requests of both queries", func() bool {
		return slices.ContainsFunc(s.up.Requests(), func(e simulator.Exchange) bool { return asksFor(e, otherStat) })
	})
	answer, err := http.Post(s.url+"/v1/queries/"+s.record("one").ID+"/cancel", "application/json", nil)
	acknowledged := time.Now()
	if err != nil {
		t.Fatal(err)
	}
	if answer.Body.Close(); answer.StatusCode/100 != 2 {
		t.Fatalf("the cancel is answered with %s", answer.Status)
	}
	other.wait(limit).mustExit(t, 0)
	first.wait(limit)
	s.up.idle(t)
	asked := 0
	var latest time.Duration
	for _, e := range s.log() {
		if asksFor(e, otherStat) {
			asked++
			continue
		}
		latest = max(latest, e.Time.Sub(acknowledged))
	}
	if latest > notLater {
		t.Errorf("a request of the cancelled query was begun %v after the cancel was acknowledged, want at most %v", latest, notLater)
	}
	t.Logf("the last request of the cancelled query was begun %v after the cancel was acknowledged", latest)
	if seen := s.up.Counters(); seen.Repeated > 0 {
		t.Errorf("%d requests were repeated", seen.Repeated)
	}
	if state := s.record("one").State; state != messages.Cancelled {
		t.Errorf("the first query is %s", state)
	}
	if q := s.record("other"); q.State != messages.Complete || asked != cmp.Or(4*20, q.Chunks) {
		t.Errorf("the other query is %s after %d requests, want %d", q.State, asked, 4*20)
	}
}
