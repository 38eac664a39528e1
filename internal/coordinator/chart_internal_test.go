package coordinator

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/resume"
)

func chartNoon() time.Time { return time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC) }

func headerAt(p messages.Position, o messages.Outcome, run int) *messages.ResultHeader {
	h := &messages.ResultHeader{
		Query: "q1", Run: run, Position: p, Outcome: o, Requests: 1, Finished: chartNoon().Add(time.Duration(p.Index()) * time.Second), Upstream: time.Second,
	}
	switch o {
	case messages.OutcomeRows:
		h.Rows = 7
	case messages.OutcomeFailed:
		h.Failure = &messages.Failure{Class: "bad_request", Message: "no"}
	case messages.OutcomeEmpty, messages.OutcomeSplit:
	}
	return h
}

func (c *chart) takeHeader(h *messages.ResultHeader) {
	c.take(h, sampleOf(h, chartNoon(), chartNoon().Add(time.Hour)))
}

// store is what the result stream holds, and how a leader keeps it.
type store struct {
	held map[messages.Position]*messages.ResultHeader
	run  int
}

// next begins a further run.
func (s *store) next() {
	s.run++
	for at, h := range s.held {
		if h.Failure != nil {
			delete(s.held, at)
		}
	}
}

func (s *store) order(r *rand.Rand) []*messages.ResultHeader {
	var all []*messages.ResultHeader
	for _, h := range s.held {
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b *messages.ResultHeader) int { return a.Position.Compare(b.Position) })
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// stands says where a position of the plan stands, as the model of resume and what is stored tell.
func (s *store) stands(run *resume.Run, p messages.Position) mark {
	switch {
	case run.Completion().IsSplit(p):
		first, second, _ := p.Children()
		a, b := s.stands(run, first), s.stands(run, second)
		undecided := func(m mark) bool { return m == unmarked || m == markSplit }
		switch {
		case undecided(a) || undecided(b):
			return markSplit
		case a == markFailed || b == markFailed:
			return markFailed
		case a == markDone || b == markDone:
			return markDone
		}
		return markEmpty
	case run.Completion().Has(p):
		return markOf(s.held[p])
	case run.Decided(p):
		return markFailed
	}
	return unmarked
}

func position(t *rapid.T, chunks int) messages.Position {
	p := messages.PositionAt(rapid.IntRange(0, chunks-1).Draw(t, "index"))
	for range rapid.IntRange(0, 3).Draw(t, "depth") {
		p += messages.Position(rapid.SampledFrom([]string{".0", ".1"}).Draw(t, "half"))
	}
	return p
}

func outcomes() *rapid.Generator[messages.Outcome] {
	return rapid.SampledFrom([]messages.Outcome{
		messages.OutcomeRows, messages.OutcomeEmpty, messages.OutcomeSplit, messages.OutcomeSplit, messages.OutcomeFailed,
	})
}

func TestAChartThatFollowsIsTheOneOfWhatIsStored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chunks := rapid.IntRange(1, 6).Draw(t, "chunks")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)) //nolint:gosec // an order
		s := &store{held: map[messages.Position]*messages.ResultHeader{}, run: 1}
		followed := newChart(chunks, 1)
		lost := false
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			p := position(t, chunks)
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0: // a further run begins: the leader removes the failures, of which no tracker hears
				s.next()
				followed.begin(s.run)
			case 4: // the same, and no record is seen: a result tells of the run
				if h := s.held[p]; h == nil {
					s.next()
					s.held[p] = headerAt(p, messages.OutcomeRows, s.run)
					followed.takeHeader(s.held[p])
				}
			case 1: // what is stored turns out to be no result
				if h := s.held[p]; h != nil {
					lost = lost || h.Failure == nil
					delete(s.held, p)
					followed.forget(p)
				}
			case 2: // somebody looks
				for i := range chunks {
					followed.of(i)
				}
			case 3: // a worker was late with the failure of a run that is over: the leader removes it
				if s.held[p] == nil && s.run > 1 {
					followed.takeHeader(headerAt(p, messages.OutcomeFailed, s.run-1))
				}
			default:
				if s.held[p] == nil { // the first write wins
					h := headerAt(p, outcomes().Draw(t, "outcome"), s.run)
					s.held[p] = h
					followed.takeHeader(h)
				}
			}
		}
		followed.begin(s.run)
		fresh := newChart(chunks, s.run)
		model := resume.NewRun("q1", s.run, chunks, resume.Limits{})
		for _, h := range s.order(r) {
			fresh.takeHeader(h)
			model.Result(h)
		}
		for i := range chunks {
			p := messages.PositionAt(i)
			want := s.stands(model, p)
			if got := followed.of(i); got != want {
				t.Errorf("%s: the one that followed says %d, want %d", p, got, want)
			}
			if got := fresh.of(i); got != want {
				t.Errorf("%s: the one that was read says %d, want %d", p, got, want)
			}
		}
		if a, b := followed.done.Roots(), model.Completion().Roots(); a != b {
			t.Errorf("%d positions are complete, want %d", a, b)
		}
		every := func(c *chart) []listed { return c.list("", "0", 1000, nil) }
		if diff := cmp.Diff(every(fresh), every(followed), cmp.AllowUnexported(listed{})); diff != "" {
			t.Errorf("lists differ:\n%s", diff)
		}
		if diff := cmp.Diff(seriesOf(fresh, 1000), seriesOf(followed, 1000)); diff != "" && !lost {
			t.Errorf("courses differ:\n%s", diff)
		}
	})
}

func seriesOf(c *chart, points int) *messages.Series {
	s := &messages.Series{}
	c.course.fill(s, points)
	return s
}

func gridOf(c *chart, from, to, bins int, spans ...messages.Span) *messages.Grid {
	g := &messages.Grid{From: from, To: to, Width: (to - from + bins - 1) / bins}
	n := (to - from + g.Width - 1) / g.Width
	for _, list := range []*[]int{&g.Done, &g.Empty, &g.Split, &g.Failed, &g.InFlight} {
		*list = make([]int, n)
	}
	c.count(g, spans)
	return g
}

func TestBinsCountEachPositionOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chunks := rapid.IntRange(1, 50).Draw(t, "chunks")
		c := newChart(chunks, 1)
		for range rapid.IntRange(0, 60).Draw(t, "results") {
			c.takeHeader(headerAt(position(t, chunks), outcomes().Draw(t, "outcome"), 1))
		}
		from := rapid.IntRange(0, chunks-1).Draw(t, "from")
		to := rapid.IntRange(from+1, chunks).Draw(t, "to")
		span := messages.Span{rapid.IntRange(0, chunks).Draw(t, "first"), rapid.IntRange(0, 2*chunks).Draw(t, "last")}
		bins := rapid.IntRange(1, 60).Draw(t, "bins")
		g := gridOf(c, from, to, bins, span)
		if len(g.Done) > bins {
			t.Fatalf("%d bins, at most %d", len(g.Done), bins)
		}
		want := &messages.Grid{
			From: from, To: to, Width: g.Width, Done: make([]int, len(g.Done)), Empty: make([]int, len(g.Done)), Split: make([]int, len(g.Done)),
			Failed: make([]int, len(g.Done)), InFlight: make([]int, len(g.Done)),
		}
		for i := from; i < to; i++ {
			bin := (i - from) / g.Width
			switch c.of(i) {
			case markDone:
				want.Done[bin]++
			case markEmpty:
				want.Empty[bin]++
			case markSplit:
				want.Split[bin]++
			case markFailed:
				want.Failed[bin]++
			default:
				if span[0] <= i && i <= span[1] {
					want.InFlight[bin]++
				}
			}
		}
		if diff := cmp.Diff(want, g); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAListGoesOnWhereItSaid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chunks := rapid.IntRange(1, 9).Draw(t, "chunks")
		c := newChart(chunks, 1)
		for range rapid.IntRange(0, 80).Draw(t, "results") {
			c.takeHeader(headerAt(position(t, chunks), outcomes().Draw(t, "outcome"), 1))
		}
		spans := []messages.Span{{1, 3}, {7, 7}}
		state := rapid.SampledFrom([]messages.ChunkState{"", "pending", "in_flight", "done", "empty", "split", "failed"}).Draw(t, "state")
		var want []listed
		for _, l := range c.list("", "0", 1<<20, spans) {
			if state == "" || l.state() == state {
				want = append(want, l)
			}
		}
		var got []listed
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		for from := messages.Position("0"); from != ""; {
			part := c.list(state, from, limit+1, spans)
			from = ""
			if len(part) > limit {
				from, part = part[limit].position, part[:limit]
			}
			got = append(got, part...)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(listed{})); diff != "" {
			t.Error(diff)
		}
		for i := 1; i < len(got); i++ {
			if got[i-1].position.Compare(got[i].position) >= 0 {
				t.Errorf("%s stands before %s", got[i-1].position, got[i].position)
			}
		}
	})
}

func TestASplitAtTheDeepestLevelIsAFailure(t *testing.T) {
	c := newChart(1, 1)
	p := messages.PositionAt(0)
	for {
		c.takeHeader(headerAt(p, messages.OutcomeSplit, 1))
		first, second, ok := p.Children()
		if !ok {
			break
		}
		c.takeHeader(headerAt(second, messages.OutcomeRows, 1))
		p = first
	}
	if got := c.of(0); got != markFailed {
		t.Errorf("the position stands as %d, want failed", got)
	}
}

func TestPositionsBehindThePlanAreLeftAlone(t *testing.T) {
	c := newChart(3, 1)
	for _, p := range []messages.Position{"3", "2147483647", "3.0"} {
		c.takeHeader(headerAt(p, messages.OutcomeRows, 1))
		c.forget(p)
	}
	if len(c.roots)+len(c.below) > 0 || len(seriesOf(c, 10).Chunks) > 0 {
		t.Errorf("%d positions and %d children are kept", len(c.roots), len(c.below))
	}
}

func TestFailuresBeyondTheBoundMakeTheCourseBlurry(t *testing.T) {
	c := newChart(mostFailed+10, 1)
	for i := range mostFailed + 10 {
		c.takeHeader(headerAt(messages.PositionAt(i), messages.OutcomeFailed, 1))
	}
	if !c.blurry || len(c.failed) != mostFailed {
		t.Errorf("blurry: %v, %d failures are kept", c.blurry, len(c.failed))
	}
	c.begin(2)
	if g := gridOf(c, 0, mostFailed+10, 1); g.Failed[0] != 0 {
		t.Errorf("%d are failed in the next run", g.Failed[0])
	}
}

// million is a chart of 1,000,000 positions, each 7th split in two.
func million() *chart {
	const n = 1_000_000
	c := newChart(n, 1)
	for i := range n {
		p := messages.PositionAt(i)
		if i%7 == 0 {
			c.takeHeader(headerAt(p, messages.OutcomeSplit, 1))
			first, second, _ := p.Children()
			c.takeHeader(headerAt(first, messages.OutcomeRows, 1))
			c.takeHeader(headerAt(second, messages.OutcomeEmpty, 1))
			continue
		}
		c.takeHeader(headerAt(p, messages.OutcomeRows, 1))
	}
	return c
}

func BenchmarkChartOfAMillion(b *testing.B) {
	b.Run("build", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c := newChart(1_000_000, 1)
			for i := range 1_000_000 {
				c.takeHeader(headerAt(messages.PositionAt(i), messages.OutcomeRows, 1))
			}
		}
	})
	c := million()
	for _, bins := range []int{1, 2000, 4096} {
		b.Run(fmt.Sprintf("count in %d bins", bins), func(b *testing.B) {
			for b.Loop() {
				gridOf(c, 0, 1_000_000, bins, messages.Span{0, 999_999})
			}
		})
	}
	b.Run("list what has failed", func(b *testing.B) {
		for b.Loop() {
			c.list(messages.ChunkFailed, "0", 1000, nil)
		}
	})
}

func TestWhatCameOfASplitIsFoundOutAgainWhenItChanges(t *testing.T) {
	c := newChart(1, 1)
	step := func(what string, want mark) {
		t.Helper()
		if got := c.of(0); got != want {
			t.Errorf("%s: it stands as %d, want %d", what, got, want)
		}
		if g := gridOf(c, 0, 1, 1); []int{g.Done[0], g.Empty[0], g.Split[0], g.Failed[0]}[map[mark]int{markDone: 0, markEmpty: 1, markSplit: 2, markFailed: 3}[want]] != 1 {
			t.Errorf("%s: the grid is %+v, want %d", what, g, want)
		}
	}
	c.takeHeader(headerAt("0", messages.OutcomeSplit, 1))
	step("split", markSplit)
	c.takeHeader(headerAt("0.0", messages.OutcomeEmpty, 1))
	step("one half is empty", markSplit)
	c.takeHeader(headerAt("0.1", messages.OutcomeFailed, 1))
	step("and the other failed", markFailed)
	if got := c.list(messages.ChunkFailed, "0", 10, nil); len(got) != 1 || got[0].position != "0.1" {
		t.Errorf("failed are %+v", got)
	}
	c.begin(2)
	step("it is tried again", markSplit)
	c.takeHeader(headerAt("0.1", messages.OutcomeEmpty, 2))
	step("both are empty", markEmpty)
	c.forget("0.0")
	step("one is lost", markSplit)
	c.takeHeader(headerAt("0.0", messages.OutcomeRows, 2))
	step("and has rows now", markDone)
}
