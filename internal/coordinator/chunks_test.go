package coordinator_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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
	t.Parallel()
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

func TestAChunkTellsItsPagesAttemptsAndInterruptions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.work(testkit.NewScript(always))
	q := r.finished(r.lead(), 2)
	at := time.Now().Truncate(time.Second)
	for i, p := range []messages.Position{"1", "0", "1"} {
		err := r.bus.PublishInterruption(t.Context(), &messages.Interruption{
			V: 1, Query: q.ID, Run: 1, Position: p, Service: "rivers", Kind: messages.QuotaExhausted, Status: 429, Reason: "over", Worker: "w1", At: at.Add(time.Duration(-i) * time.Second),
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.bus.PublishExecutions(t.Context(), &messages.Executions{V: 1, Query: q.ID, Run: 1, Worker: "w1", Executions: []messages.Execution{
			{Position: p, Attempt: fmt.Sprintf("planted-%d", i), Try: 1, Class: "ok", Sent: at.Add(time.Duration(-i) * time.Hour)},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	c := r.onlooker()
	d, err := c.Chunk(t.Context(), q.ID, "1")
	if err != nil {
		t.Fatal(err)
	}
	if d.State != messages.ChunkDone || d.Rows != 4 || d.Pages != 2 || d.Requests != 2 || d.Run != 1 || d.Worker != "w1" || d.Bytes == 0 {
		t.Errorf("the chunk is %+v", d.Chunk)
	}
	if d.URL != "https://rivers.example/daily?site=s01" || !strings.Contains(d.Asks, "s01") {
		t.Errorf("it asks for %q by %q", d.Asks, d.URL)
	}
	if len(d.StoredPages) != 2 || d.StoredPages[0].Page != 0 || d.StoredPages[1].Page != 1 || d.StoredPages[0].Rows != 2 || d.StoredPages[1].Rows != 2 ||
		d.StoredPages[1].Request == nil || d.StoredPages[0].Bytes+d.StoredPages[1].Bytes != d.Bytes || d.StoredPages[0].Walk != d.StoredPages[1].Walk {
		t.Errorf("pages are %+v", d.StoredPages)
	}
	var planted []string
	for _, e := range d.Attempts {
		if e.Position != "1" {
			t.Errorf("an attempt of %s", e.Position)
		}
		if strings.HasPrefix(e.Attempt, "planted") {
			planted = append(planted, e.Attempt)
		}
	}
	if !slices.Equal(planted, []string{"planted-2", "planted-0"}) {
		t.Errorf("attempts are %+v", d.Attempts)
	}
	if len(d.Interruptions) != 2 || !d.Interruptions[0].At.Before(d.Interruptions[1].At) {
		t.Errorf("interruptions are %+v", d.Interruptions)
	}
	testkit.Until(t, "the series has the interruptions, the newest first", func() bool {
		s, err := c.Series(t.Context(), q.ID, 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(s.Interruptions) == 3 && s.Interruptions[0].At.After(s.Interruptions[1].At) && s.Interruptions[1].At.After(s.Interruptions[2].At)
	})
}

func TestASplitChunkNamesItsChildren(t *testing.T) {
	t.Parallel()
	r := lakeRig(t)
	r.work(testkit.NewScript(narrow(3)))
	q := r.submit(r.lead(), depths(8, 2))
	r.settles(q.ID, 1, messages.Complete)
	c := r.onlooker()
	zero := []int{0}
	r.shows(c, q.ID, 1, messages.Grid{Done: []int{q.Chunks}, Empty: zero, Split: zero, Failed: zero, InFlight: zero})
	d, err := c.Chunk(t.Context(), q.ID, "0")
	if err != nil || d.State != messages.ChunkSplit || !slices.Equal(d.Children, []messages.Position{"0.0", "0.1"}) {
		t.Fatalf("%+v, %v", d, err)
	}
	child, err := c.Chunk(t.Context(), q.ID, "0.1")
	if err != nil || child.Asks == "" || child.Asks == d.Asks || child.URL == d.URL {
		t.Fatalf("%+v, %v", child, err)
	}
	var all []messages.Position
	for from := messages.Position(""); ; {
		list, err := c.Chunks(t.Context(), q.ID, "", from, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, chunk := range list.Chunks {
			all = append(all, chunk.Position)
			if (chunk.State == messages.ChunkDone) != (chunk.Rows > 0) || chunk.Worker == "" {
				t.Errorf("%+v", chunk)
			}
		}
		if from = list.Next; from == "" {
			break
		}
	}
	if !slices.Contains(all, "0.0") || !slices.IsSortedFunc(all, messages.Position.Compare) {
		t.Errorf("the list has %v", all)
	}
}

func TestAChunkWithoutAResultTellsTheRequestsThatItTook(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	q := r.submit(r.onlooker(), sites(2))
	for i := range 3 {
		if err := r.bus.PublishInterruption(t.Context(), &messages.Interruption{
			V: 1, Query: q.ID, Run: 1, Position: "1", Service: "rivers", Kind: messages.ServiceInterrupted, Status: 500, Reason: "no", Requests: 4, Worker: "w1",
			At: time.Now().Add(time.Duration(i) * time.Second),
		}); err != nil {
			t.Fatal(err)
		}
	}
	c := r.onlooker()
	for at, want := range map[messages.Position]int{"0": 0, "1": 12} {
		d, err := c.Chunk(t.Context(), q.ID, at)
		if err != nil || d.Requests != want {
			t.Errorf("chunk %s has taken %d requests, want %d: %v", at, d.Requests, want, err)
		}
	}
}
