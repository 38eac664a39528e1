//go:build unix

package chaos

import (
	"bytes"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/test/rig"
)

// judge holds a schedule that is over against what is promised. pauses is how long this process itself, and so the machine, stood
// still at worst: nothing that is measured in time can be known better.
func (x *trial) judge(table, want []byte, pauses time.Duration) {
	t := x.t
	t.Helper()
	if !bytes.Equal(table, want) {
		t.Errorf("the table has %d bytes that differ from the %d of the undisturbed run", len(table), len(want))
	}
	commits, doubled := x.o.commits(t, x.query)
	if len(doubled) > 0 || len(commits) != x.Chunks {
		t.Errorf("%d positions have a result, want %d; more than one have %v", len(commits), x.Chunks, doubled)
	}
	seen, log := x.up.Counters(), x.up.Requests()
	told.worst("requests in flight beyond the cap", float64(seen.MostInFlight-slots), float64(x.overlap))
	if most := slots + x.overlap; seen.MostInFlight > most {
		t.Errorf("%d requests in flight, want at most %d: the cap, and one for each slot that a stopped worker held", seen.MostInFlight, most)
	}
	x.judgeRepeats(seen, log, commits, pauses)
	x.judgeQuota(log, pauses)
	for _, m := range x.measures {
		if !m.counted {
			continue
		}
		told.worst(m.what+" (s)", m.took.Seconds(), m.bound.Seconds())
		if m.took > m.bound+pauses {
			t.Errorf("%s: %v, want at most %v", m.what, m.took, m.bound)
		}
	}
}

// crossing is how long a look for a result and the request behind it may take: a commit in between is not seen.
const crossing = 100 * time.Millisecond

func pickIf(holds bool, value float64) float64 {
	if holds {
		return value
	}
	return 0
}

// attempts is how many attempts the actions may have thrown away at most. While it works, a system has no more items in workers'
// hands than twice its slots.
func (x *trial) attempts() int {
	const inHand = 2 * slots
	n := x.again * x.Pages // who runs a chunk without knowing of the other asks for all of it
	for _, a := range x.Actions {
		switch a.Kind {
		case killStandby, killLeader, stopLeader, apartLeader, jumpLeader, publishAgain, handBack, stallUpstream:
		default:
			n += inHand
		}
	}
	return n
}

// uncommitted is how long a result may have waited for a majority of a cluster's servers: its time is when the first took it,
// and no worker can know of it before most have. What was held back by a network is sent again as late as that once more.
func (x *trial) uncommitted() time.Duration {
	var longest time.Duration
	for _, a := range x.Actions {
		switch a.Kind {
		case stallRoutes, apartNATS, island, stopNATS, killNATS:
			longest = max(longest, a.Lasts)
		default:
		}
	}
	if !x.Cluster {
		return 0
	}
	return 2 * longest
}

// judgeRepeats counts what was asked for again.
func (x *trial) judgeRepeats(seen simulator.Counters, log []simulator.Exchange, commits map[messages.Position]commit, pauses time.Duration) {
	x.t.Helper()
	positions := x.positions()
	var late []string
	for _, e := range log {
		p, known := positions[firstSite(e)]
		if !known {
			x.t.Errorf("a request for no position: %s", e.URL)
			continue
		}
		if c, have := commits[p]; have && e.Time.After(c.at.Add(crossing+pauses+x.uncommitted())) {
			late = append(late, string(p)+" "+e.Time.Sub(c.at).String())
		}
	}
	allowed := x.attempts()
	if x.has(kind.ofDisks) {
		allowed += x.Chunks * x.Pages // what is lost is asked for again
	}
	told.worst("answers that were given before", float64(seen.Repeated), float64(allowed))
	if len(x.Actions) == x.count(restartAll) && x.Faults == 0 {
		told.worst("answers that were given before, where everything was restarted and nothing else was done", float64(seen.Repeated), float64(allowed))
	}
	if int(seen.Repeated) > allowed {
		x.t.Errorf("%d answers had been given before, want at most %d: one for each attempt that can have been in hand", seen.Repeated, allowed)
	}
	// A worker cannot know that its item was handed back in its name, which only an action does: it asks for the pages to come.
	most := x.overlap + x.handed*x.Pages
	if x.count(jumpNATS) > 0 {
		return // the times of results are of the clock that was set
	}
	told.worst("requests for a position with a result", float64(len(late)), float64(most))
	told.worst("requests for a position with a result, in schedules where there may be none", pickIf(most == 0, float64(len(late))), 0)
	if len(late) > most {
		x.t.Errorf("%d requests for a position that had its result for longer than a look takes, want at most %d: %v", len(late), most, late)
	}
}

// positions gives the position of each chunk by its first site.
func (x *trial) positions() map[string]messages.Position {
	all := map[string]messages.Position{}
	for i := range x.Chunks {
		all[rig.Site(2*i)] = messages.PositionAt(i)
	}
	return all
}

func firstSite(e simulator.Exchange) string {
	address, err := url.Parse(e.URL)
	if err != nil {
		return ""
	}
	return slices.Min(strings.Split(address.Query().Get("monitoring_location_id"), ","))
}

// judgeWait wants that a query that met the quota is told to wait for about a window, whatever clocks say: the suite resumes it
// at once, others do as they are told.
func (x *trial) judgeWait(stop *messages.Stop) {
	x.t.Helper()
	if stop == nil || stop.Kind != string(messages.QuotaExhausted) {
		return
	}
	wait, bound := time.Until(stop.Until), 2*quotaWindow
	if x.count(jumpNATS) > 0 {
		bound += farthestNATS
	}
	told.worst("seconds to wait for the quota, as the query says", wait.Seconds(), bound.Seconds())
	if wait > bound {
		x.t.Errorf("the query says that the quota is back in %v, want at most %v", wait, bound)
	}
}

// judgeQuota wants that nothing is sent between the moment when a refusal can be known to all and the end of the window, but what
// was in flight or about to be: one for each slot.
func (x *trial) judgeQuota(log []simulator.Exchange, pauses time.Duration) {
	x.t.Helper()
	if x.Quota == 0 {
		return
	}
	const heard = 500 * time.Millisecond // until every worker knows that the gate is closed
	refused := map[int64]time.Time{}     // the first answer that refused, by window
	window := func(at time.Time) int64 { return at.UnixNano() / int64(quotaWindow) }
	for _, e := range log {
		answered := e.Time.Add(e.Duration)
		if e.Status != 429 || e.Fault != "" {
			continue
		}
		w := window(e.Time)
		if first, have := refused[w]; !have || answered.Before(first) {
			refused[w] = answered
		}
	}
	after := map[int64]int{}
	for _, e := range log {
		w := window(e.Time)
		first, have := refused[w]
		if !have || !e.Time.After(first) {
			continue
		}
		after[w]++
		if e.Time.After(first.Add(heard+pauses)) && !x.has(kind.ofTheStore) && x.count(stopWorker)+x.count(apartWorker) == 0 {
			x.t.Errorf("a request %v after a refusal that closed the gate until the window's end", e.Time.Sub(first))
		}
	}
	for w, n := range after {
		told.worst("requests in a window that was spent", float64(n), slots)
		if n > slots+x.overlap {
			x.t.Errorf("%d requests in window %s after it was known to be spent, want at most %d", n, strconv.FormatInt(w, 10), slots+x.overlap)
		}
	}
}
