package coordinator

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/breaker"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/resume"
)

// guard is the breaker of one run of a query: it keeps an upstream that refuses or fails too many chunks from being asked for
// all the others.
//
// What it decides is a function of what the streams hold, so that a coordinator that takes over decides the same. The
// results of the run are looked at in the order of their stream, each as it comes, and close the intake at once. Interruptions
// stand in another stream, and the two have no order in common; but the first of them stops the run anyway. So they are looked
// at when the run has drained: with the last results of the run, ordered by the time at which each ended, which is stored
// with it. Then it is only told why the run stopped.
//
// A chunk counts as failed when its failure is durable, or when the service interrupted it after all retries. Not counted are
// refusals for quota, what was handed back, splits, and chunks that ended their workers: none of these is the upstream's failure.
type guard struct {
	run     int
	breaker *breaker.Breaker
	window  []ended // of the breaker: the last results in the order of their stream

	results       lastEnded
	interruptions lastEnded
}

// ended is what came of one chunk.
type ended struct {
	position messages.Position
	at       time.Time
	failed   bool
	class    string // of a failure; empty: it was interrupted
	status   int
	message  string
	hint     string
}

func newGuard(run int) (*guard, error) {
	b, err := breaker.New(breaker.Default())
	if err != nil {
		return nil, err
	}
	return &guard{run: run, breaker: b}, nil
}

// result takes in a result that is kept, in the order of the stream. It gives the reason to stop when it is the one that
// trips the breaker, and else nil.
func (g *guard) result(h *messages.ResultHeader) *messages.Stop {
	if h.Run != g.run || h.Outcome == messages.OutcomeSplit || h.Failure != nil && h.Failure.Class == messages.ClassPoison {
		return nil
	}
	e := ended{position: h.Position, at: h.Finished}
	if f := h.Failure; f != nil {
		e.failed, e.class, e.status, e.message, e.hint = true, f.Class, f.Status, f.Message, f.Hint
	}
	g.results.add(e)
	if len(g.window) == breaker.Default().Window {
		g.window = slices.Delete(g.window, 0, 1)
	}
	g.window = append(g.window, e)
	if !g.breaker.Add(completionOf(e)) {
		return nil
	}
	return stopOf(g.window)
}

func completionOf(e ended) breaker.Completion {
	if e.failed {
		return breaker.Completion{Outcome: breaker.Error, Kind: e.class}
	}
	return breaker.Completion{Outcome: breaker.Success}
}

// interruption takes in an interruption, in any order.
func (g *guard) interruption(m *messages.Interruption) {
	storeFull := m.Status == 0 && strings.Contains(m.Reason, messages.ErrStoreFull.Error())
	if m.Run != g.run || m.Kind != messages.ServiceInterrupted || storeFull {
		return
	}
	g.interruptions.add(ended{position: m.Position, at: m.At, failed: true, status: m.Status, message: m.Reason})
}

// conclude tells of a run that has drained whether it was the breaker's matter: then it gives the reason with its evidence
// in place of that of the one chunk that stopped the run.
func (g *guard) conclude(action resume.Action) resume.Action {
	if action.State != messages.Interrupted || action.Stop == nil || action.Stop.Kind != string(messages.ServiceInterrupted) {
		return action
	}
	last := g.results
	last.list = slices.Clone(last.list)
	for _, e := range g.interruptions.list {
		last.add(e)
	}
	fresh, err := newGuard(g.run)
	if err != nil {
		return action
	}
	for i, e := range last.list {
		if fresh.breaker.Add(completionOf(e)) {
			stop := stopOf(last.list[:i+1])
			stop.Until, stop.At = action.Stop.Until, action.Stop.At
			action.Stop = stop
			return action
		}
	}
	return action
}

// lastEnded is the last ones by time, then by position: as many as a window holds, in any order of telling.
type lastEnded struct{ list []ended }

func (l *lastEnded) add(e ended) {
	at, told := slices.BinarySearchFunc(l.list, e, func(a, b ended) int {
		return cmp.Or(a.at.Compare(b.at), a.position.Compare(b.position))
	})
	if told {
		return // an event may be stored twice
	}
	l.list = slices.Insert(l.list, at, e)
	if len(l.list) > breaker.Default().Window {
		l.list = slices.Delete(l.list, 0, 1)
	}
}

// stopOf is the reason of a window that has just tripped. The most frequent reason speaks, of the failures when there are any
// and else of the interruptions, and of the chunks with that reason the lowest position.
func stopOf(window []ended) *messages.Stop {
	type reason struct {
		class  string
		status int
	}
	alike := map[reason]int{}
	failures := 0
	for _, e := range window {
		if e.failed {
			alike[reason{e.class, e.status}]++
			failures++
		}
	}
	var example *ended
	ofFailure := func(e *ended) int { return min(1, len(e.class)) }
	for i := range window {
		e := &window[i]
		if e.failed && (example == nil || cmp.Or(
			cmp.Compare(ofFailure(e), ofFailure(example)),
			cmp.Compare(alike[reason{e.class, e.status}], alike[reason{example.class, example.status}]),
			example.position.Compare(e.position),
		) > 0) {
			example = e
		}
	}
	cfg := breaker.Default()
	stop := &messages.Stop{
		Kind: messages.StopBreaker, Position: example.position, Status: example.status, Class: example.class, Hint: example.hint,
		Tripped: &messages.Tripped{
			Window: cfg.Window, Minimum: cfg.Minimum, Threshold: cfg.ErrorRate.FloatString(2), Ended: len(window), Failed: failures,
			Alike: alike[reason{example.class, example.status}],
		},
	}
	percent := new(big.Rat).Mul(cfg.ErrorRate, big.NewRat(100, 1)).FloatString(0)
	stop.Reason = messages.Text(fmt.Sprintf("%d of the last %d chunks failed, so nothing more was asked for (%s%% of at least %d is the limit); %s, such as chunk %s: %s",
		failures, len(window), percent, cfg.Minimum, likewise(stop), example.position, example.message))
	if stop.Hint == "" && stop.Class == "" {
		stop.Hint = "wait until the service is well again; resume then, with fewer requests at a time (--in-flight) if it could not keep up"
	}
	return stop
}

// likewise says how many of the failures are like the example.
func likewise(stop *messages.Stop) string {
	what := "interrupted"
	if stop.Class != "" {
		what = stop.Class
	}
	if stop.Status != 0 {
		what += fmt.Sprintf(" with HTTP %d", stop.Status)
	}
	if stop.Tripped.Alike == stop.Tripped.Failed {
		return "all " + what
	}
	return fmt.Sprintf("%d %s", stop.Tripped.Alike, what)
}
