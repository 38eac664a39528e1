package resume_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/resume"
)

func TestSpansAreWhereItemsAreOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := resume.NewRun("q1", 1, 200, resume.Limits{Window: 200})
		out := map[int]bool{}
		for range rapid.IntRange(0, 60).Draw(t, "items") {
			p := messages.PositionAt(rapid.IntRange(0, 199).Draw(t, "index"))
			out[p.Index()] = true
			if rapid.Bool().Draw(t, "child") {
				p += ".1"
			}
			run.Dispatched(p)
		}
		most := rapid.IntRange(1, 20).Draw(t, "most")
		exact, spans := run.Spans(1<<20), run.Spans(most)
		if len(spans) > most {
			t.Fatalf("%d spans, at most %d", len(spans), most)
		}
		if len(exact) <= most && !slices.Equal(exact, spans) {
			t.Errorf("%v, want %v", spans, exact)
		}
		told := map[int]bool{}
		next := 0
		for _, s := range spans {
			if s[0] < next || s[1] < s[0] {
				t.Fatalf("not in order: %v", spans)
			}
			next = s[1] + 1
			for i := s[0]; i <= s[1]; i++ {
				told[i] = true
			}
		}
		for i := range out {
			if !told[i] {
				t.Errorf("%d is out, and told by none of %v", i, spans)
			}
		}
		count := 0
		for _, s := range exact {
			count += s[1] - s[0] + 1
		}
		if count != len(out) {
			t.Errorf("%d positions are told of without a bound, want %d: %v", count, len(out), exact)
		}
		p := run.Progress(time.Unix(1, 0))
		p.Outstanding = run.Spans(messages.MaxSpans)
		if _, err := p.Encode(); err != nil {
			t.Error(err)
		}
	})
}

func TestTheSmallestGapsAreBridged(t *testing.T) {
	run := resume.NewRun("q1", 1, 100, resume.Limits{Window: 100})
	for _, i := range []int{0, 1, 10, 12, 40, 45, 47} {
		run.Dispatched(messages.PositionAt(i))
	}
	for most, want := range map[int][]messages.Span{
		1: {{0, 47}}, 2: {{0, 12}, {40, 47}}, 3: {{0, 1}, {10, 12}, {40, 47}}, 4: {{0, 1}, {10, 12}, {40, 40}, {45, 47}},
	} {
		if got := run.Spans(most); !slices.Equal(got, want) {
			t.Errorf("at most %d: %v, want %v", most, got, want)
		}
	}
}

func TestLeavesBelowAreThoseOfTheSplit(t *testing.T) {
	var c resume.Completion
	c.Add("3.0")
	if got := slices.Collect(c.LeavesBelow("3")); len(got) > 0 {
		t.Errorf("below what is not split: %v", got)
	}
	c.Split("3")
	c.Split("3.1")
	c.Add("3.1.1")
	c.Add("4")
	if got := slices.Collect(c.LeavesBelow("3")); !slices.Equal(got, []messages.Position{"3.0", "3.1.1"}) {
		t.Errorf("below 3: %v", got)
	}
	if got := slices.Collect(c.LeavesBelow("4")); len(got) > 0 {
		t.Errorf("below a leaf: %v", got)
	}
}
