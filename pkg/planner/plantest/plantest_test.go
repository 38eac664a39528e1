package plantest_test

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"testing"

	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/planner/plantest"
	"github.com/braidhq/braid/pkg/service"
)

// plan is a plan as somebody might write it.
type plan struct {
	length func() int
	all    func(yield func(planner.Chunk) bool)
}

func (p plan) Len() int                     { return p.length() }
func (p plan) All() iter.Seq[planner.Chunk] { return p.all }

// indexed is a list that finds each chunk a place too far.
type indexed struct{ planner.List }

func (x indexed) At(i int) planner.Chunk { return x.List[(i+1)%len(x.List)] }

func fixed(n int) func() int { return func() int { return n } }

func chunk(i int) planner.Chunk {
	return planner.Chunk{Values: service.Values{"site": {strconv.Itoa(i)}}}
}

// upTo yields n chunks.
func upTo(n int) func(func(planner.Chunk) bool) {
	return func(yield func(planner.Chunk) bool) {
		for i := range n {
			if !yield(chunk(i)) {
				return
			}
		}
	}
}

// shared yields from one counter, whoever iterates.
func shared(n int, restart bool) func(func(planner.Chunk) bool) {
	at := 0
	return func(yield func(planner.Chunk) bool) {
		if restart {
			at = 0
		}
		for ; at < n; at++ {
			if !yield(chunk(at)) {
				return
			}
		}
	}
}

// recorder is a test that goes on after an error.
type recorder struct{ said []string }

func (*recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func TestAPlanThatBreaksItsContractIsFound(t *testing.T) {
	one := chunk(0)
	lengths := 0
	tests := map[string]struct {
		plan planner.Plan
		want string // empty: nothing is wrong
	}{
		"a list":             {planner.List{chunk(0), chunk(1)}, ""},
		"one chunk":          {planner.List{chunk(0)}, ""},
		"a generator":        {plan{fixed(3), upTo(3)}, ""},
		"no chunk":           {planner.List{}, "one"},
		"a negative length":  {plan{fixed(-1), upTo(0)}, "one"},
		"too few":            {plan{fixed(3), upTo(2)}, "yields 2"},
		"too many":           {plan{fixed(3), upTo(4)}, "yields more"},
		"endless":            {plan{fixed(3), upTo(1 << 40)}, "yields more"},
		"a one-shot":         {plan{fixed(3), shared(3, false)}, "iterated again the plan yields 0"},
		"one at a time":      {plan{fixed(3), shared(3, true)}, "two iterations at once"},
		"a growing length":   {plan{func() int { lengths++; return 2 + lengths/2 }, upTo(2)}, "has 3 after"},
		"another index":      {indexed{planner.List{chunk(0), chunk(1)}}, "the chunk at 1 is"},
		"another every time": {plan{fixed(1), another()}, "iterated again chunk 0 is"},
		"one map for all": {plan{fixed(2), func(yield func(planner.Chunk) bool) {
			for i := range 2 {
				one.Values["site"] = []string{strconv.Itoa(i)}
				if !yield(one) {
					return
				}
			}
		}}, "when it was yielded"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var r recorder
			plantest.Check(&r, test.plan)
			said := strings.Join(r.said, "\n")
			if test.want == "" && said != "" || !strings.Contains(said, test.want) {
				t.Errorf("it says %q, want %q", said, test.want)
			}
		})
	}
}

func another() func(func(planner.Chunk) bool) {
	n := 0
	return func(yield func(planner.Chunk) bool) {
		n++
		yield(chunk(n))
	}
}
