package messages_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/messages"
)

func TestAPlaceComesBackAndNothingElseIsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := messages.Place{
			Created: time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC(),
			ID:      rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_-]{0,63}`).Draw(t, "id"),
		}
		got, err := messages.ParsePlace(p.String())
		if err != nil || got != p {
			t.Fatalf("%v became %v, %v", p, got, err)
		}
		text := rapid.String().Draw(t, "text")
		if got, err := messages.ParsePlace(text); err == nil && got.String() != text {
			t.Fatalf("%q is %v, which is written %q", text, got, got)
		}
	})
}

// Pages that follow one another are the whole list, whatever is added or removed in between.
func TestPagesGiveEachQueryOnceWhateverComesAndGoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) *messages.Query {
			return &messages.Query{
				ID: rapid.StringMatching(`[a-z]{2}`).Draw(t, "id"), Created: time.Unix(rapid.Int64Range(0, 5).Draw(t, "at"), 0).UTC(),
				State: rapid.SampledFrom([]messages.QueryState{messages.Running, messages.Complete}).Draw(t, "state"), Owner: rapid.SampledFrom([]string{"", "a"}).Draw(t, "owner"),
			}
		}), 0, 30, func(q *messages.Query) string { return q.ID })
		all := draw.Draw(t, "queries")
		s := messages.Selection{Limit: rapid.IntRange(1, 7).Draw(t, "limit")}
		if rapid.Bool().Draw(t, "one state") {
			s.States = []messages.QueryState{messages.Running}
		}
		want := map[string]bool{}
		for _, q := range all {
			if s.Wants(q) {
				want[q.ID] = true
			}
		}
		seen := map[string]bool{}
		for range 40 {
			slices.SortFunc(all, func(a, b *messages.Query) int { return a.Place().Compare(b.Place()) })
			var page []*messages.Query
			for _, q := range all {
				if s.Wants(q) && len(page) < s.Limit {
					page = append(page, q)
				}
			}
			if len(page) == 0 {
				break
			}
			for _, q := range page {
				if seen[q.ID] {
					t.Fatalf("%s comes twice", q.ID)
				}
				seen[q.ID] = true
			}
			after, err := messages.ParsePlace(page[len(page)-1].Place().String())
			if err != nil {
				t.Fatal(err)
			}
			s.After = after
			all = append(all, &messages.Query{ID: "new" + after.ID + rapid.StringMatching(`[a-z]{6}`).Draw(t, "new"), Created: time.Unix(99, 0)})
			if rapid.Bool().Draw(t, "remove what was the mark") {
				all = slices.DeleteFunc(all, func(q *messages.Query) bool { return q.ID == after.ID })
			}
		}
		for id := range want {
			if !seen[id] {
				t.Fatalf("%s is missing", id)
			}
		}
	})
}
