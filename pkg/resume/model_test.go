package resume_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/resume"
)

// world is all that stands around a run: a plan, a queue that holds an item once, workers that do what they like with what
// is in it, a service that takes some chunks only in parts, a result stream that keeps the first write and may lose it, and
// news that arrive late, in any order and more than once. It drives the run as a coordinator does.
type world struct {
	*rapid.T
	total  int
	window int
	room   int                          // of the window, that others leave
	all    []messages.Position          // of the plan and of all splits, in order
	splits map[messages.Position]bool   // those that the service always refuses as too large
	fails  map[messages.Position]string // class of the failure that a position always has
	goesOn bool                         // a failure keeps nothing back
	only   []messages.Position          // that the run is limited to

	run      *resume.Run
	number   int
	now      time.Time
	at       int // cursor in the plan
	ended    bool
	stopping bool

	queue   []messages.Position
	results map[messages.Position]*messages.ResultHeader
	news    []any // of this run and of earlier ones
	heard   []*messages.Interruption
	calm    bool                       // no worker interrupts any more, and nothing is lost
	losses  int                        // that are still to come
	lost    map[messages.Position]bool // in this run
}

func newWorld(t *rapid.T) *world {
	w := &world{
		T: t, total: rapid.IntRange(1, 8).Draw(t, "chunks"), window: rapid.IntRange(1, 6).Draw(t, "window"), now: at(0),
		fails: map[messages.Position]string{}, splits: map[messages.Position]bool{}, results: map[messages.Position]*messages.ResultHeader{},
		losses: rapid.IntRange(0, 4).Draw(t, "losses"), goesOn: rapid.Bool().Draw(t, "finish"),
	}
	for _, p := range positions(w.total) {
		w.grow(p)
	}
	for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(w.all)-1), 0, 3).Draw(t, "failing") {
		if p := w.all[i]; !w.splits[p] {
			w.fails[p] = rapid.SampledFrom([]string{"bad_request", "bad_link"}).Draw(t, "class")
		}
	}
	return w
}

// grow decides whether a chunk is too large, and then about its children.
func (w *world) grow(p messages.Position) {
	w.all = append(w.all, p)
	if len(w.all) < 40 && rapid.IntRange(0, 9).Draw(w.T, "size of "+string(p)) > 6 {
		w.splits[p] = true
		first, second, _ := p.Children()
		w.grow(first)
		w.grow(second)
	}
}

// begin starts a further run: what the streams hold is told first, in any order.
func (w *world) begin() {
	w.number++
	w.run = w.newRun()
	w.queue, w.at, w.ended, w.stopping, w.heard, w.lost = nil, 0, false, false, nil, map[messages.Position]bool{}
	w.takeOver()
}

func (w *world) newRun() *resume.Run {
	l := limits(w.window)
	l.Finish, l.Only = w.goesOn, w.only
	return resume.NewRun("q1", w.number, w.total, l)
}

// takeOver rebuilds the run from the results, as a coordinator does that knows nothing else.
func (w *world) takeOver() {
	w.at, w.ended = 0, false
	for _, p := range rapid.Permutation(w.all).Draw(w.T, "replay") {
		if h := w.results[p]; h != nil && !w.run.Result(h) {
			delete(w.results, p)
		}
	}
}

func positions(n int) []messages.Position {
	all := make([]messages.Position, n)
	for i := range all {
		all[i] = messages.PositionAt(i)
	}
	return all
}

// settled drives the run to its end.
func (w *world) settled() resume.Action {
	for range 10_000 {
		action := w.act()
		if action.Kind == resume.Settle {
			return action
		}
		switch n := len(w.queue) + len(w.news); {
		case n > 0 && (len(w.news) == 0 || len(w.queue) > 0 && rapid.Bool().Draw(w.T, "work")):
			w.work()
		case n > 0:
			w.hear()
			w.lose()
		case action.At.After(w.now):
			w.now = action.At
		default:
			w.Fatalf("the run waits, and there is nothing to wait for: %+v", w.run.Progress(w.now))
		}
	}
	w.Fatal("the run does not end")
	return resume.Action{}
}

// act takes actions until there is one to wait for. Others may leave the run little room, or none; it is given no more than it demands.
func (w *world) act() resume.Action {
	room := w.window
	if rapid.IntRange(0, 3).Draw(w.T, "crowded") == 0 {
		room = rapid.IntRange(0, w.window).Draw(w.T, "room")
	}
	action := w.actWithin(room)
	if action.Kind == resume.Wait && len(w.queue)+len(w.news) == 0 {
		return w.actWithin(w.window)
	}
	return action
}

func (w *world) actWithin(room int) resume.Action {
	for range 100 {
		w.room = min(room, w.run.Demand(w.ended))
		w.run.SetWindow(w.room)
		action := w.run.Next(w.now, w.ended, w.stopping)
		switch action.Kind {
		case resume.Wait, resume.Settle:
			return action
		case resume.Rewind:
			w.at, w.ended = 0, false
		case resume.Stop:
			if w.stopping || action.Stop == nil {
				w.Fatalf("a stop of a run that is stopping, or without a reason: %+v", action)
			}
			w.stopping = true
		case resume.Dispatch:
			w.dispatch(action.Children, action.Count)
		case resume.Discard:
			w.Fatalf("all rows are wanted, and %v are discarded", action.Discard)
		}
	}
	w.Fatal("the run acts for ever")
	return resume.Action{}
}

func (w *world) dispatch(children []messages.Position, n int) {
	if len(children)+n < 1 || w.stopping {
		w.Fatalf("dispatch %v and %d, stopping %t", children, n, w.stopping)
	}
	if !slices.IsSortedFunc(children, messages.Position.Compare) {
		w.Fatalf("%v are not in order", children)
	}
	for _, p := range children {
		if !p.IsChild() && w.only == nil || w.run.Decided(p) || w.run.Outstanding(p) || p.IsChild() && !w.splits[p.Parent()] {
			w.Fatalf("%s is dispatched; decided: %t, outstanding: %t", p, w.run.Decided(p), w.run.Outstanding(p))
		}
		w.send(p)
	}
	for ; n > 0; w.at++ {
		if w.at == w.total {
			w.ended = true
			break
		}
		if p := messages.PositionAt(w.at); !w.run.Decided(p) && !w.run.Outstanding(p) {
			n--
			w.send(p)
		}
	}
	if waiting := w.run.Progress(w.now).Waiting; waiting > w.room {
		w.Fatalf("%d outstanding, the window is %d", waiting, w.room)
	}
}

func (w *world) send(p messages.Position) {
	w.run.Dispatched(p)
	if w.results[p] == nil && !slices.Contains(w.queue, p) {
		w.queue = append(w.queue, p)
	} else if w.results[p] != nil {
		w.tell(w.results[p]) // the recheck finds the result
	}
}

// lose takes a result out of the stream, if it is time for that, and what is still to be heard of it too.
func (w *world) lose() {
	if w.calm || w.losses == 0 || rapid.IntRange(0, 5).Draw(w.T, "lose") > 0 {
		return
	}
	have := slices.DeleteFunc(slices.Clone(w.all), func(p messages.Position) bool { return w.results[p] == nil })
	if len(have) == 0 {
		return
	}
	w.losses--
	p := rapid.SampledFrom(have).Draw(w.T, "lost")
	w.news = slices.DeleteFunc(w.news, func(what any) bool { return what == any(w.results[p]) })
	delete(w.results, p)
	w.lost[p] = true
	w.run.Lost(p)
}

func (w *world) tell(what any) { w.news = append(w.news, what) }

// work lets a worker do something with an item.
func (w *world) work() {
	i := rapid.IntRange(0, len(w.queue)-1).Draw(w.T, "item")
	p := w.queue[i]
	w.queue = slices.Delete(w.queue, i, i+1)
	ends := []string{"done", "done", "done"}
	if !w.calm {
		ends = append(ends, "done", "handed back", "quota", "service")
	}
	if w.stopping {
		ends = []string{"done", "handed back", "lost"}
	}
	m := interrupted(w.number, p, "", time.Time{})
	m.At = w.now
	switch rapid.SampledFrom(ends).Draw(w.T, "end") {
	case "done":
		w.commit(p)
		return
	case "lost":
		return // a worker that died while the run stops
	case "handed back":
		m.Kind = messages.HandedBack
	case "quota":
		m.Kind, m.Until = messages.QuotaExhausted, w.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(w.T, "until"))*time.Second)
	case "service":
		m.Kind = messages.ServiceInterrupted
	}
	w.tell(m)
}

func (w *world) commit(p messages.Position) {
	h := rows(w.number, p)
	if w.splits[p] {
		h = split(w.number, p)
	}
	if class, fails := w.fails[p]; fails {
		h = failed(w.number, p, class)
	}
	w.results[p] = h
	w.tell(h)
}

// hear takes in one piece of news, which may come again later.
func (w *world) hear() {
	i := rapid.IntRange(0, len(w.news)-1).Draw(w.T, "news")
	what := w.news[i]
	if rapid.IntRange(0, 4).Draw(w.T, "again") > 0 {
		w.news = slices.Delete(w.news, i, i+1)
	}
	w.now = w.now.Add(time.Duration(rapid.IntRange(0, 20).Draw(w.T, "seconds")) * time.Second)
	switch m := what.(type) {
	case *messages.ResultHeader:
		if !w.run.Result(m) && w.results[m.Position] == m {
			delete(w.results, m.Position)
		}
	case *messages.Interruption:
		w.run.Interruption(m, w.now)
		if m.Run == w.number && m.Kind != messages.HandedBack {
			w.heard = append(w.heard, m)
		}
	}
}

// lowestFailure is the one that the run knows.
func (w *world) lowestFailure() messages.Position {
	for _, p := range w.all {
		if _, fails := w.fails[p]; fails && w.run.Decided(p) && w.run.Counts(p) {
			return p
		}
	}
	return ""
}

// pauseHeard is what the interruptions add up to, however they came.
func (w *world) pauseHeard() *messages.Stop {
	if len(w.heard) == 0 {
		return nil
	}
	speaks := w.heard[0]
	var until time.Time
	for _, m := range w.heard {
		sameKind, quota := m.Kind == speaks.Kind, m.Kind == messages.QuotaExhausted
		if !sameKind && quota || sameKind && m.Position.Compare(speaks.Position) < 0 {
			speaks = m
		}
		if m.Until.After(until) {
			until = m.Until
		}
	}
	return &messages.Stop{Kind: string(speaks.Kind), Position: speaks.Position, Until: until}
}

// check holds the way a run ended against what happened in it.
func (w *world) check(action resume.Action) {
	lowest, pause := w.lowestFailure(), w.pauseHeard()
	switch {
	case w.run.Progress(w.now).Completed == w.total:
		if action.State != messages.Complete || action.Stop != nil {
			w.Fatalf("all is done, and the run ends as %+v", action)
		}
		w.checkResults()
	case lowest != "":
		if action.State != messages.Failed || action.Stop.Position != lowest || action.Stop.Class != w.fails[lowest] {
			w.Fatalf("%s is the lowest failure, and the run ends as %+v, %+v", lowest, action, action.Stop)
		}
	case pause != nil:
		got := &messages.Stop{Kind: action.Stop.Kind, Position: action.Stop.Position, Until: action.Stop.Until}
		if diff := cmp.Diff(pause, got); diff != "" || action.State != messages.Interrupted {
			w.Fatalf("the run ends as %s (-want +got):\n%s", action.State, diff)
		}
	default:
		w.Fatalf("nothing happened, and the run ends as %+v", action)
	}
	w.checkFinished(action, pause)
	if pause == nil && len(w.fails) > 0 {
		for _, p := range w.all {
			if _, fails := w.fails[p]; fails {
				if lowest != p {
					w.Fatalf("%s speaks, and without an interruption it is always %s", lowest, p)
				}
				break
			}
		}
	}
}

// checkResults holds the results of a complete query against what the service takes.
func (w *world) checkResults() {
	for _, p := range w.all {
		h := w.results[p]
		switch {
		case h == nil:
			w.Fatalf("the query is complete, and %s has no result", p)
		case w.splits[p] != (h.Outcome == messages.OutcomeSplit):
			w.Fatalf("the query is complete, and the result of %s is %q", p, h.Outcome)
		}
	}
	if n := w.run.Progress(w.now).Split; n != len(w.splits) {
		w.Fatalf("%d are said to be split, want %d", n, len(w.splits))
	}
}

// Whatever the order of news, the duplicates and the late ones: each run ends as what happened in it says, and once the
// interruptions are over and the failures mended, a resume completes the query with the results it has.
func TestARunEndsAsWhatHappenedSaysInAnyOrderOfNews(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(0, 3).Draw(t, "runs") {
			w.begin()
			kept := completed(w)
			w.check(w.settled())
			for _, p := range kept {
				if h := w.results[p]; !w.lost[p] && (h == nil || h.Run >= w.number) {
					t.Fatalf("%s was complete before run %d and was run again", p, w.number)
				}
			}
			if len(completed(w)) == len(w.all) {
				return
			}
		}
		w.calm = true
		w.begin()
		w.check(w.settled())
		clear(w.fails)
		w.begin()
		if action := w.settled(); action.State != messages.Complete || action.Stop != nil {
			t.Fatalf("it ends as %+v", action)
		}
	})
}

func completed(w *world) []messages.Position {
	var done []messages.Position
	for _, p := range w.all {
		if h := w.results[p]; h != nil && h.Outcome != messages.OutcomeFailed {
			done = append(done, p)
		}
	}
	return done
}

// A second coordinator begins in the middle, with the items of the first one still in the queue.
func TestARunThatIsTakenOverEndsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.calm = true
		w.begin()
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			if w.act().Kind == resume.Settle {
				break
			}
			switch {
			case len(w.queue) > 0:
				w.work()
			case len(w.news) > 0:
				w.hear()
			}
		}
		w.run = w.newRun()
		w.takeOver()
		w.check(w.settled())
	})
}

// checkFinished wants of a run that is to finish that all was tried, unless something interrupted it.
func (w *world) checkFinished(action resume.Action, pause *messages.Stop) {
	if !w.goesOn || pause != nil || action.State != messages.Failed {
		return
	}
	for _, p := range w.all {
		if w.run.Counts(p) && !w.run.Decided(p) {
			w.Fatalf("the run is over, and %s has neither a result nor a failure", p)
		}
	}
}

// A retry runs what failed and nothing else, to its end, whatever becomes of it.
func TestARunOfTheFailedPositionsRunsThemAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.calm = true
		w.begin()
		w.settled()
		for p, h := range w.results {
			if h.Outcome == messages.OutcomeFailed && w.run.Counts(p) {
				w.only = append(w.only, p)
			}
		}
		if len(w.only) == 0 {
			return
		}
		if rapid.Bool().Draw(t, "one fails again") {
			w.fails = map[messages.Position]string{rapid.SampledFrom(w.only).Draw(t, "again"): "bad_request"}
		} else {
			clear(w.fails)
		}
		w.begin()
		kept := map[messages.Position]bool{}
		for _, p := range completed(w) {
			kept[p] = true
		}
		action := w.settled()
		for p, h := range w.results {
			if h.Run == w.number && !slices.Contains(w.only, p) {
				t.Fatalf("%s was run, and asked for were %v", p, w.only)
			}
			if kept[p] && h.Run == w.number {
				t.Fatalf("%s was complete, and was run again", p)
			}
		}
		for _, p := range w.only {
			if !w.run.Decided(p) {
				t.Fatalf("%s was asked for, and was not run", p)
			}
		}
		switch lowest := w.lowestFailure(); {
		case lowest != "":
			if action.State != messages.Failed || action.Stop.Position != lowest {
				t.Fatalf("%s fails, and it ends as %+v", lowest, action)
			}
		case len(completed(w)) == len(w.all):
			if action.State != messages.Complete {
				t.Fatalf("all is there, and it ends as %+v", action)
			}
		case action.State != messages.Interrupted || action.Stop.Kind != messages.StopRetried:
			t.Fatalf("something is missing, and it ends as %+v", action)
		}
	})
}
