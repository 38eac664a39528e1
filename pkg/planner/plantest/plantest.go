// Package plantest is the contract of a planner.Plan as a check, for whoever writes a plan or a planner.
package plantest

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/planner"
)

// TB is what the check needs of a test: *testing.T, *testing.B and *rapid.T are such.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// Check reports when the plan breaks its contract: it has at least one chunk; each iteration yields as many as Len says,
// the same ones in the same order, also after one that was broken off and while another one is under way; no chunk
// changes once it was yielded; and a plan that finds chunks by their position finds those. An endless plan and one that can be iterated only once are found, not waited for.
func Check(t TB, plan planner.Plan) {
	t.Helper()
	n := plan.Len()
	if n < 1 {
		t.Errorf("the plan has %d chunks; a query that needs no division has one", n)
		return
	}
	first, chunks := read(plan.All(), n)
	if len(first) != n {
		t.Errorf("the plan says it has %d chunks and yields %s", n, counted(len(first), n))
		return
	}
	for i, chunk := range chunks {
		if now := text(chunk); now != first[i] {
			t.Errorf("chunk %d was %s when it was yielded and is %s now", i, first[i], now)
			return
		}
	}
	for range plan.All() {
		break
	}
	checkSecond(t, plan, first)
	checkInterleaved(t, plan, first)
	checkIndex(t, plan, first)
	if again := plan.Len(); again != n {
		t.Errorf("the plan had %d chunks and has %d after it was iterated", n, again)
	}
}

func checkSecond(t TB, plan planner.Plan, first []string) {
	t.Helper()
	second, _ := read(plan.All(), len(first))
	if len(second) != len(first) {
		t.Errorf("iterated again the plan yields %s, not the %d of before", counted(len(second), len(first)), len(first))
		return
	}
	for i := range first {
		if first[i] != second[i] {
			t.Errorf("iterated again chunk %d is %s, not %s", i, second[i], first[i])
			return
		}
	}
}

// checkInterleaved has two iterations under way at once, one a step ahead of the other.
func checkInterleaved(t TB, plan planner.Plan, first []string) {
	t.Helper()
	ahead, stopAhead := iter.Pull(plan.All())
	defer stopAhead()
	behind, stopBehind := iter.Pull(plan.All())
	defer stopBehind()
	at := 0
	for ; at < len(first); at++ {
		a, okAhead := ahead()
		if at == 0 {
			continue
		}
		b, okBehind := behind()
		if !okAhead || !okBehind || text(a) != first[at] || text(b) != first[at-1] {
			t.Errorf("of two iterations at once, one yields another chunk at %d than it does alone", at)
			return
		}
	}
}

// checkIndex asks for each chunk by its position, backwards.
func checkIndex(t TB, plan planner.Plan, first []string) {
	t.Helper()
	indexed, ok := plan.(planner.Indexed)
	if !ok {
		return
	}
	for i, want := range slices.Backward(first) {
		if found := text(indexed.At(i)); found != want {
			t.Errorf("the chunk at %d is %s, and %s when it is iterated", i, found, want)
			return
		}
	}
}

// read gives the chunks and their text at the time they were yielded, at most one more than n.
func read(all iter.Seq[planner.Chunk], n int) (texts []string, chunks []planner.Chunk) {
	for chunk := range all {
		texts, chunks = append(texts, text(chunk)), append(chunks, chunk)
		if len(texts) > n {
			break
		}
	}
	return texts, chunks
}

func counted(n, want int) string {
	if n > want {
		return "more"
	}
	return fmt.Sprint(n)
}

func text(c planner.Chunk) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.Values)) {
		fmt.Fprintf(&out, "%q=%q ", name, c.Values[name])
	}
	return "{" + strings.TrimSuffix(out.String(), " ") + "}"
}
