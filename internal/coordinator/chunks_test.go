package coordinator_test

import (
	"context"
	"slices"
	"testing"

	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// below gives a position and all that its splits made.
func below(t *testing.T, c *coordinator.Coordinator, id string, p messages.Position) []messages.Position {
	t.Helper()
	d, err := c.Chunk(t.Context(), id, p)
	if err != nil {
		t.Fatal(err)
	}
	all := []messages.Position{p}
	for _, child := range d.Children {
		all = append(all, below(t, c, id, child)...)
	}
	return all
}

// listed gives the positions of all pages of a list, with no more on each than limit.
func listed(t *testing.T, c *coordinator.Coordinator, id string, state messages.ChunkState, limit int) []messages.Position {
	t.Helper()
	var all []messages.Position
	for from := messages.Position(""); ; {
		page, err := c.Chunks(t.Context(), id, state, from, limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Chunks) > limit || page.Next != "" && len(page.Chunks) < limit {
			t.Errorf("limit %d: %d chunks from %q on, and then %q", limit, len(page.Chunks), from, page.Next)
		}
		for _, chunk := range page.Chunks {
			all = append(all, chunk.Position)
		}
		if page.Next == "" {
			return all
		}
		if from != "" && page.Next.Compare(from) <= 0 {
			t.Fatalf("limit %d: behind %s comes %s", limit, from, page.Next)
		}
		from = page.Next
	}
}

// The pages of a list are the list: no position is missing, or there twice, wherever pages end.
func TestThePagesOfAListAreAllPositions(t *testing.T) {
	r := lakeRig(t)
	r.work(testkit.NewScript(func(_ context.Context, call testkit.Call) (service.Page, error) {
		switch names := sitesOf(call); {
		case len(names) > 3:
			return service.Page{}, refuse(service.ClassTooLarge, 413, 0)
		case slices.Contains(names, "s05"):
			return service.Page{}, refuse(service.ClassBadRequest, 400, 0)
		default:
			return rowsOf(names), nil
		}
	}))
	spec := depths(30, 5)
	spec.Run.OnFailure = query.FailureFinish
	q := r.submit(r.lead(), spec)
	r.settles(q.ID, 1, messages.Failed)
	c := r.onlooker()
	testkit.Until(t, "all is read", func() bool {
		g, err := c.Grid(t.Context(), q.ID, 0, 0, 1)
		return err == nil && !g.Reading
	})
	var want []messages.Position
	of := map[messages.ChunkState][]messages.Position{}
	for i := range q.Chunks {
		want = append(want, below(t, c, q.ID, messages.PositionAt(i))...)
	}
	for _, p := range want {
		d, err := c.Chunk(t.Context(), q.ID, p)
		if err != nil {
			t.Fatal(err)
		}
		of[d.State] = append(of[d.State], p)
	}
	if len(want) <= q.Chunks+2 || len(of[messages.ChunkFailed]) == 0 || len(of[messages.ChunkSplit]) == 0 || len(of[messages.ChunkDone]) == 0 {
		t.Fatalf("%d chunks, %v: there is too little of some kind", q.Chunks, of)
	}
	of[""] = want
	for _, limit := range []int{1, 2, 3, 4, 5, len(want) - 1, len(want), len(want) + 1, 1000} {
		for _, state := range []messages.ChunkState{"", messages.ChunkDone, messages.ChunkFailed, messages.ChunkSplit, messages.ChunkPending} {
			if got := listed(t, c, q.ID, state, limit); !slices.Equal(got, of[state]) {
				t.Errorf("limit %d, state %q:\n got %v\nwant %v", limit, state, got, of[state])
			}
		}
	}
}
