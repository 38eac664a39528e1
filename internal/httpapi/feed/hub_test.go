package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/messages"
)

// store is a source in memory, which keeps the newest of each key as the real one does. It is for a synctest bubble.
type store struct {
	mu       sync.Mutex // guards all but lose; it is held while the watch is told
	revision uint64
	keys     map[string]stored // "query.q1"
	watch    func(stored)
	lose     chan error
}

type stored struct {
	key      string
	q        *messages.Query
	p        *messages.Progress
	revision uint64
}

func newStore() *store { return &store{keys: map[string]stored{}, lose: make(chan error)} }

func (s *store) WatchStandings(ctx context.Context, on func(string, *messages.Query, *messages.Progress, uint64), caughtUp func()) error {
	s.mu.Lock()
	s.watch = func(c stored) {
		_, id, _ := strings.Cut(c.key, ".")
		on(id, c.q, c.p, c.revision)
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watch = nil
	}()
	var all []stored
	for _, c := range s.keys {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b stored) int { return int(a.revision) - int(b.revision) })
	for _, c := range all {
		s.watch(c)
	}
	caughtUp()
	s.mu.Unlock()
	select {
	case err := <-s.lose:
		return err
	case <-ctx.Done():
		return nil
	}
}

func (s *store) write(c stored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision++
	c.revision = s.revision
	s.keys[c.key] = c
	if s.watch != nil {
		s.watch(c)
	}
}

func (s *store) record(id string, state messages.QueryState, run int) {
	s.write(stored{key: "query." + id, q: &messages.Query{V: 1, ID: id, State: state, Run: run}})
}

func (s *store) progress(id string, completed int) {
	s.write(stored{key: "progress." + id, p: &messages.Progress{V: 1, Query: id, Run: 1, Completed: completed}})
}

func (s *store) remove(id string) {
	s.write(stored{key: "query." + id})
	s.forget("progress." + id)
}

func (s *store) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, key)
}

func (s *store) makeAnew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision, s.keys = 0, map[string]stored{}
}

// run runs a hub over a store in a bubble, until the test ends.
func run(t *testing.T, test func(t *testing.T, h *Hub, s *store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		h := New(s, nil)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.Run(ctx)
		}()
		synctest.Wait()
		test(t, h, s)
		stop()
		<-done
	})
}

// said writes events for comparison, such as "status q1 running 3".
func said(events []*Event) string {
	var parts []string
	for _, e := range events {
		_, data, _ := strings.Cut(strings.TrimSuffix(string(e.Bytes()), "\n\n"), "\ndata: ")
		if e.Kind != Status {
			parts = append(parts, string(e.Kind)+" "+e.Query)
			continue
		}
		var status messages.Status
		if err := json.Unmarshal([]byte(data), &status); err != nil {
			panic(err)
		}
		parts = append(parts, fmt.Sprintf("%s %s %d", status.Query.ID, status.Query.State, status.Progress.Completed))
	}
	return strings.Join(parts, ", ")
}

func wantTaken(t *testing.T, r *Subscription, want string, wantOver bool) []*Event {
	t.Helper()
	synctest.Wait()
	events, over := r.Take()
	if got := said(events); got != want || over != wantOver {
		t.Errorf("took %q over=%v, want %q over=%v", got, over, want, wantOver)
	}
	return events
}

func TestAReaderIsToldHowThingsStandAndThenEachChange(t *testing.T) {
	run(t, func(t *testing.T, h *Hub, s *store) {
		s.record("q1", messages.Running, 1)
		r := h.Query("q1", Mark{})
		defer r.Close()
		wantTaken(t, r, "q1 running 0", false)
		wantTaken(t, r, "", false)
		time.Sleep(time.Second)
		s.progress("q1", 3)
		wantTaken(t, r, "q1 running 3", false)
		time.Sleep(time.Second)
		s.progress("q1", 9)
		s.record("q1", messages.Complete, 1)
		wantTaken(t, r, "q1 running 9", false)
		time.Sleep(Gap)
		wantTaken(t, r, "q1 complete 9, end q1", true)
	})
}

func TestTheNewestStatusWinsAndNoChangeOfStateIsPassedOver(t *testing.T) {
	run(t, func(t *testing.T, h *Hub, s *store) {
		s.record("q1", messages.Running, 1)
		r := h.Query("q1", Mark{})
		defer r.Close()
		time.Sleep(time.Second)
		for i := range 100 {
			s.progress("q1", i+1)
		}
		s.record("q1", messages.Stopping, 1)
		s.progress("q1", 101)
		s.record("q1", messages.Interrupted, 1)
		s.record("q1", messages.Running, 2)
		s.progress("q1", 102)
		s.progress("q1", 103)
		time.Sleep(4 * Gap)
		wantTaken(t, r, "q1 running 0, q1 stopping 100, q1 interrupted 101, q1 running 101, q1 running 103", false)
	})
}

func TestWhereHundredsReadProgressIsToldLessOftenButNoChangeOfStateLater(t *testing.T) {
	run(t, func(t *testing.T, h *Hub, s *store) {
		s.record("q1", messages.Running, 1)
		readers := make([]*Subscription, 500)
		defer func() {
			for _, r := range readers {
				if r != nil {
					r.Close()
				}
			}
		}()
		for i := range readers {
			readers[i] = h.Query("q1", Mark{})
			wantTaken(t, readers[i], "q1 running 0", false)
		}
		took := 0
		for i := range 1000 { // ten seconds
			s.progress("q1", i+1)
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
			events, _ := readers[0].Take()
			took += len(events)
		}
		if took < 8 || took > 11 {
			t.Errorf("one of 500 readers took %d events in ten seconds, want about ten", took)
		}
		s.record("q1", messages.Interrupted, 1)
		time.Sleep(Gap)
		wantTaken(t, readers[0], "q1 interrupted 1000, end q1", true)
		for _, r := range readers[10:] {
			r.Close()
			r.Close()
		}
		s.record("q1", messages.Running, 2)
		again := h.Query("q1", Mark{})
		defer again.Close()
		time.Sleep(Gap)
		synctest.Wait() // what is told at this very instant is told before
		again.Take()
		s.progress("q1", 2000)
		time.Sleep(Gap)
		wantTaken(t, again, "q1 running 2000", false)
	})
}

func TestNoQueryIsToldOfMoreThanFourTimesASecond(t *testing.T) {
	run(t, func(t *testing.T, h *Hub, s *store) {
		s.record("q1", messages.Running, 1)
		r, all := h.Query("q1", Mark{}), h.All(Mark{})
		defer r.Close()
		defer all.Close()
		events := map[*Subscription]int{}
		for i := range 400 { // four seconds
			s.progress("q1", i)
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
			for _, reader := range []*Subscription{r, all} {
				taken, _ := reader.Take()
				events[reader] += len(taken)
			}
		}
		for _, reader := range []*Subscription{r, all} {
			if n := events[reader]; n < 12 || n > 16 {
				t.Errorf("%d events in four seconds", n)
			}
		}
	})
}

func TestWhoComesBackIsToldWhatIsNewer(t *testing.T) {
	run(t, func(t *testing.T, h *Hub, s *store) {
		s.record("q1", messages.Running, 1)
		s.record("q2", messages.Running, 1)
		first, all := h.Query("q1", Mark{}), h.All(Mark{})
		seen := wantTaken(t, first, "q1 running 0", false)[0]
		seenOfAll := wantTaken(t, all, "q1 running 0, q2 running 0", false)[1]
		first.Close()
		all.Close()
		for i := range 3 {
			time.Sleep(time.Second)
			s.progress("q1", i+1)
		}
		time.Sleep(time.Second)
		s.remove("q2")
		time.Sleep(time.Second)

		again := h.Query("q1", ParseMark(seen.ID()))
		last := wantTaken(t, again, "q1 running 1, q1 running 2, q1 running 3", false)[2]
		again.Close()
		again = h.Query("q1", ParseMark(last.ID()))
		wantTaken(t, again, "", false)
		again.Close()
		again = h.All(ParseMark(seenOfAll.Through()))
		wantTaken(t, again, "q1 running 1, q1 running 2, q1 running 3, removed q2", false)
		again.Close()
		for _, unknown := range []string{"", "x", "-1", "0", "007", "99999999999999999999", "1000000", "-end", "1;DROP"} {
			again = h.Query("q1", ParseMark(unknown))
			wantTaken(t, again, "q1 running 3", false)
			again.Close()
			again = h.All(ParseMark(unknown))
			wantTaken(t, again, "q1 running 3", false)
			again.Close()
		}
	})
}

func TestWhatHasSettledIsToldOnce(t *testing.T) {
	run(t, func(t *testing.T, h *Hub, s *store) {
		s.record("q1", messages.Failed, 1)
		r := h.Query("q1", Mark{})
		events := wantTaken(t, r, "q1 failed 0, end q1", true)
		r.Close()
		// Who saw the status alone has still to be told the end; who saw it is told nothing.
		r = h.Query("q1", ParseMark(events[0].ID()))
		wantTaken(t, r, "end q1", true)
		r.Close()
		r = h.Query("q1", ParseMark(events[1].ID()))
		if known, over := r.Place(); !known || !over {
			t.Errorf("known=%v over=%v", known, over)
		}
		wantTaken(t, r, "", true)
		r.Close()
		// A resume makes all of them wrong.
		time.Sleep(time.Second)
		s.record("q1", messages.Running, 2)
		r = h.Query("q1", ParseMark(events[1].ID()))
		wantTaken(t, r, "q1 running 0", false)
		r.Close()
	})
}

func TestAQueryThatGoesOnByItselfHasNotSettled(t *testing.T) {
	run(t, func(t *testing.T, h *Hub, s *store) {
		now := time.Now()
		s.write(stored{key: "query.q1", q: &messages.Query{
			V: 1, ID: "q1", State: messages.Interrupted, Run: 1, WaitUpTo: time.Hour,
			Stop: &messages.Stop{Kind: string(messages.QuotaExhausted), At: now, Until: now.Add(time.Minute)},
		}})
		r := h.Query("q1", Mark{})
		defer r.Close()
		wantTaken(t, r, "q1 interrupted 0", false)
	})
}

func TestARemovedQueryEndsItsStream(t *testing.T) {
	run(t, func(t *testing.T, h *Hub, s *store) {
		s.record("q1", messages.Complete, 1)
		s.record("q2", messages.Running, 1)
		r, all := h.Query("q2", Mark{}), h.All(Mark{})
		defer r.Close()
		defer all.Close()
		wantTaken(t, r, "q2 running 0", false)
		wantTaken(t, all, "q1 complete 0, q2 running 0", false)
		time.Sleep(time.Second)
		s.remove("q2")
		wantTaken(t, r, "removed q2", true)
		wantTaken(t, all, "removed q2", false)
	})
}

func TestALostWatchIsTakenUpAgainAndMissesNothingFinal(t *testing.T) {
	run(t, func(t *testing.T, h *Hub, s *store) {
		for _, id := range []string{"q1", "q2", "q3"} {
			s.record(id, messages.Running, 1)
		}
		first, second, all := h.Query("q1", Mark{}), h.Query("q2", Mark{}), h.All(Mark{})
		defer first.Close()
		defer second.Close()
		defer all.Close()
		wantTaken(t, first, "q1 running 0", false)
		wantTaken(t, second, "q2 running 0", false)
		wantTaken(t, all, "q1 running 0, q2 running 0, q3 running 0", false)
		s.lose <- errors.New("planted")
		synctest.Wait()
		s.record("q1", messages.Complete, 1)
		s.remove("q2")
		s.forget("query.q2") // the mark of its removal is gone by now too
		time.Sleep(2 * watchAgain)
		wantTaken(t, first, "q1 complete 0, end q1", true)
		wantTaken(t, second, "removed q2", true)
		wantTaken(t, all, "q1 complete 0, removed q2", false)
	})
}

func TestAStoreThatWasMadeAnewIsToldAnew(t *testing.T) {
	run(t, func(t *testing.T, h *Hub, s *store) {
		for i := range 10 {
			s.progress("q1", i)
		}
		s.record("q1", messages.Running, 1)
		s.record("q2", messages.Running, 1)
		r, all := h.Query("q1", Mark{}), h.All(Mark{})
		defer r.Close()
		defer all.Close()
		wantTaken(t, r, "q1 running 9", false)
		wantTaken(t, all, "q1 running 9, q2 running 0", false)
		s.lose <- errors.New("planted")
		synctest.Wait()
		s.makeAnew()
		s.record("q1", messages.Failed, 3)
		time.Sleep(2 * watchAgain)
		wantTaken(t, r, "q1 failed 0, end q1", true)
		events, _ := all.Take()
		if got := said(events); !strings.Contains(got, "q1 failed 0") || !strings.Contains(got, "removed q2") {
			t.Errorf("took %q", got)
		}
	})
}

func TestAReaderOfAQueryThatWasNotSeenYetWaitsForIt(t *testing.T) {
	run(t, func(t *testing.T, h *Hub, s *store) {
		r := h.Query("q1", Mark{})
		wantTaken(t, r, "", false)
		if known, _ := r.Place(); known {
			t.Error("the place in an unknown query is known")
		}
		s.record("q1", messages.Running, 1)
		wantTaken(t, r, "q1 running 0", false)
		r.Close()
		never := h.Query("never", Mark{})
		never.Close()
		if len(h.queries) != 1 {
			t.Errorf("%d queries are kept, want 1", len(h.queries))
		}
	})
}

func TestAStopLetsAllReadersGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		h := New(s, nil)
		ctx, stop := context.WithCancel(t.Context())
		go h.Run(ctx)
		s.record("q1", messages.Running, 1)
		synctest.Wait()
		r, all := h.Query("q1", Mark{}), h.All(Mark{})
		stop()
		for _, reader := range []*Subscription{r, all} {
			<-reader.Changed()
			<-reader.Stopped()
			wantTaken(t, reader, "", true)
			reader.Close()
		}
	})
}

func TestMemoryIsBoundedWhateverHappensAndEachReaderFindsTheNewest(t *testing.T) {
	run(t, func(t *testing.T, h *Hub, s *store) {
		slow, all := h.Query("q7", Mark{}), h.All(Mark{})
		defer slow.Close()
		defer all.Close()
		const queries = 3000
		for i := range queries {
			s.record(fmt.Sprintf("q%d", i), messages.Running, 1)
		}
		for i := range 10 {
			for j := range queries {
				s.progress(fmt.Sprintf("q%d", j), i+1)
			}
			time.Sleep(Gap)
			synctest.Wait()
		}
		for i := range 3 * maxWaiting { // faster than they may be told
			s.record("q7", messages.Running, i+2)
		}
		for i := range maxRemoved + 100 {
			s.remove(fmt.Sprintf("q%d", 1000+i))
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(h.events) > maxEvents || h.bytes > maxBytes || len(h.removed) > maxRemoved || len(h.waiting) > 0 || len(h.queries) > queries-100 {
			t.Errorf("%d events of %d bytes, %d removed, %d waiting, %d queries", len(h.events), h.bytes, len(h.removed), len(h.waiting), len(h.queries))
		}
		var size int64
		for _, e := range h.events {
			size += e.size
		}
		if size != h.bytes {
			t.Errorf("the events have %d bytes, counted are %d", size, h.bytes)
		}
		for id, q := range h.queries {
			if len(q.recent) > maxRecent || !slices.Contains(q.recent, q.latest) {
				t.Fatalf("%s remembers %d events, with its latest: %v", id, len(q.recent), slices.Contains(q.recent, q.latest))
			}
		}
		events, _ := slow.Take()
		if last := said(events[len(events)-1:]); last != "q7 running 10" || len(events) > maxRecent {
			t.Errorf("the slow reader took %d events, the last is %q", len(events), last)
		}
		events, _ = all.Take()
		last := map[string]string{}
		for _, e := range events {
			last[e.Query] = said([]*Event{e})
		}
		if len(last) < queries-100 || last["q5"] != "q5 running 10" || last["q2000"] != "removed q2000" {
			t.Errorf("the slow reader of all took %d queries, %q, %q", len(last), last["q5"], last["q2000"])
		}
	})
}

// Whatever happens, and wherever a reader breaks off and comes back, it ends up knowing how things stand, and saw each run.
func TestReadersThatComeBackMissNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 60).Draw(rt, "steps")
		run(t, func(_ *testing.T, h *Hub, s *store) {
			const ids = "abc"
			runs := map[string]int{}
			done := 0
			for i := range ids {
				id := ids[i : i+1]
				runs[id] = 1
				s.record(id, messages.Running, 1)
			}
			seen, mark := map[string][]string{}, ""
			seenRuns := map[string]bool{}
			r := h.All(Mark{})
			take := func() {
				synctest.Wait()
				events, _ := r.Take()
				for _, e := range events {
					seen[e.Query] = append(seen[e.Query], said([]*Event{e}))
					_, number, _ := strings.Cut(string(e.Bytes()), `"run":`)
					seenRuns[e.Query+strings.SplitN(number, ",", 2)[0]] = true
					mark = e.Through()
				}
			}
			want := map[string]string{}
			for i, step := range steps {
				id := ids[i%3 : i%3+1]
				switch {
				case step < 4:
					done++
					s.progress(id, done)
					want[id] = fmt.Sprint(done)
				case step < 6:
					runs[id]++
					s.record(id, messages.Running, runs[id])
				case step == 6:
					time.Sleep(100 * time.Millisecond)
				case step == 7:
					take()
					r.Close()
					time.Sleep(2 * Gap) // what waited for its turn is told meanwhile
					synctest.Wait()
					r = h.All(ParseMark(mark))
				default:
					take()
				}
			}
			time.Sleep(time.Minute)
			take()
			r.Close()
			for i := range ids {
				id := ids[i : i+1]
				all := seen[id]
				for n := range runs[id] {
					if !seenRuns[fmt.Sprint(id, n+1)] {
						rt.Fatalf("%s: run %d was never told: %q", id, n+1, all)
					}
				}
				if last := all[len(all)-1]; last != fmt.Sprintf("%s running %s", id, cmp0(want[id])) {
					rt.Fatalf("%s: the last event is %q, want %s: %q", id, last, want[id], all)
				}
			}
		})
	})
}

func cmp0(text string) string {
	if text == "" {
		return "0"
	}
	return text
}
