package coordinator_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// Names is coordinator.Names'.
func (*definitions) Names() []string { return []string{"rivers"} }

// onlooker is a coordinator that does not lead.
func (r *rig) onlooker() *coordinator.Coordinator {
	r.t.Helper()
	c := r.coordinator("onlooker", r.bus, nil)
	r.t.Cleanup(c.CloseViews)
	return c
}

// shows waits until a grid of all positions in so many bins is as wanted; what is still being read is not.
func (r *rig) shows(c *coordinator.Coordinator, id string, bins int, want messages.Grid) {
	r.t.Helper()
	var g *messages.Grid
	defer func() {
		if r.t.Failed() {
			r.t.Logf("the grid is %+v, want %+v", g, want)
		}
	}()
	testkit.Until(r.t, "the grid is as wanted", func() bool {
		var err error
		if g, err = c.Grid(r.t.Context(), id, 0, 0, bins); err != nil {
			r.t.Fatal(err)
		}
		return !g.Reading && slices.Equal(g.Done, want.Done) && slices.Equal(g.Empty, want.Empty) && slices.Equal(g.Split, want.Split) &&
			slices.Equal(g.Failed, want.Failed) && slices.Equal(g.InFlight, want.InFlight)
	})
}

func TestAQueryIsWatchedWhileItRunsByACoordinatorThatDoesNotLead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := hold("s02", "s03")
	r.work(h.adapter)
	q := r.submit(r.lead(), sites(6))
	c := r.onlooker()
	zero := []int{0, 0, 0}
	r.shows(c, q.ID, 3, messages.Grid{Done: []int{2, 0, 2}, Empty: zero, Split: zero, Failed: zero, InFlight: []int{0, 2, 0}})
	list, err := c.Chunks(t.Context(), q.ID, messages.ChunkInFlight, "", 10)
	if err != nil {
		t.Fatal(err)
	}
	if want := []messages.Chunk{{Position: "2", State: "in_flight"}, {Position: "3", State: "in_flight"}}; !cmp.Equal(want, list.Chunks) || list.Next != "" {
		t.Errorf("in flight are %+v, and then %q", list.Chunks, list.Next)
	}
	close(h.letGo)
	r.settles(q.ID, 1, messages.Complete)
	r.shows(c, q.ID, 3, messages.Grid{Done: []int{2, 2, 2}, Empty: zero, Split: zero, Failed: zero, InFlight: zero})
	s, err := c.Series(t.Context(), q.ID, 1)
	if err != nil {
		t.Fatal(err)
	}
	if s.Chunks[0] != 6 || s.Requests[0] != 12 || s.Rows[0] != 24 || s.Bytes[0] == 0 || s.Median[0] == nil || s.Reading || len(s.Interruptions) > 0 {
		t.Errorf("the series is %+v", s)
	}
}

func TestAGridOfAPartNamesItsPositions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.onlooker()
	q := r.submit(c, sites(10))
	g, err := c.Grid(t.Context(), q.ID, 3, 10, 3)
	if err != nil || g.From != 3 || g.To != 10 || g.Width != 3 || len(g.Done) != 3 || g.Chunks != 10 {
		t.Fatalf("%+v, %v", g, err)
	}
}

func TestWhatIsOutOfBoundsIsRefusedByName(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.onlooker()
	q := r.submit(c, sites(3))
	ctx := t.Context()
	grid := func(from, to, bins int) func() error {
		return func() error { _, err := c.Grid(ctx, q.ID, from, to, bins); return err }
	}
	chunks := func(state messages.ChunkState, from messages.Position, limit int) func() error {
		return func() error { _, err := c.Chunks(ctx, q.ID, state, from, limit); return err }
	}
	for i, bad := range []struct {
		name string
		ask  func() error
	}{
		{"bins", grid(0, 0, 0)},
		{"bins", grid(0, 0, 4097)},
		{"from", grid(-1, 0, 1)},
		{"from", grid(3, 0, 1)},
		{"to", grid(1, 1, 1)},
		{"to", grid(2, 1, 1)},
		{"to", grid(0, 4, 1)},
		{"to", grid(0, -1, 1)},
		{"points", func() error { _, err := c.Series(ctx, q.ID, 0); return err }},
		{"points", func() error { _, err := c.Series(ctx, q.ID, 1001); return err }},
		{"state", chunks("gone", "", 1)},
		{"from", chunks("", "01", 1)},
		{"from", chunks("", "-1", 1)},
		{"from", chunks("", messages.Position(strings.Repeat("1.", 40)), 1)},
		{"limit", chunks("", "", 0)},
		{"limit", chunks("", "", 1001)},
		{"limit", func() error { _, err := c.Preview(ctx, q.ID, 0); return err }},
		{"position", func() error { _, err := c.Chunk(ctx, q.ID, "a"); return err }},
	} {
		err := bad.ask()
		parameter, ok := errors.AsType[*query.ParameterError](err)
		if !ok || parameter.Name != bad.name || !errors.Is(err, query.ErrInvalid) {
			t.Errorf("%d: %v, want one about %s", i, err, bad.name)
		}
	}
	for _, at := range []messages.Position{"3", "2147483647", "0.0", "0.1.1"} {
		if d, err := c.Chunk(ctx, q.ID, at); !errors.Is(err, messages.ErrNotFound) {
			t.Errorf("position %s: %+v, %v", at, d, err)
		}
	}
	for what, ask := range map[string]func() error{
		"grid":    func() error { _, err := c.Grid(ctx, "nosuch", 0, 0, 1); return err },
		"series":  func() error { _, err := c.Series(ctx, "nosuch", 1); return err },
		"chunks":  func() error { _, err := c.Chunks(ctx, "nosuch", "", "", 1); return err },
		"chunk":   func() error { _, err := c.Chunk(ctx, "nosuch", "0"); return err },
		"preview": func() error { _, err := c.Preview(ctx, "nosuch", 1); return err },
		"service": func() error { _, err := c.Service(ctx, "nosuch"); return err },
	} {
		if err := ask(); !errors.Is(err, messages.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestFailuresThatAreTriedAgainEndRight(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var mended atomic.Bool
	r.work(testkit.NewScript(func(_ context.Context, call testkit.Call) (service.Page, error) {
		if siteOf(call) == "s01" && !mended.Load() {
			return service.Page{}, refuse("bad_request", 400, 0)
		}
		return two(call)
	}))
	c := r.lead()
	watching := r.onlooker()
	q := r.submit(c, sites(3))
	r.settles(q.ID, 1, messages.Failed)
	list, err := watching.Chunks(t.Context(), q.ID, messages.ChunkFailed, "", 10)
	if err != nil || len(list.Chunks) != 1 || list.Chunks[0].Position != "1" || list.Chunks[0].Class != "bad_request" || list.Chunks[0].Message == "" {
		t.Fatalf("%+v, %v", list, err)
	}
	detail, err := watching.Chunk(t.Context(), q.ID, "1")
	if err != nil || detail.State != messages.ChunkFailed || detail.Failure == nil || detail.Asks == "" || !strings.Contains(detail.URL, "s01") {
		t.Fatalf("%+v, %v", detail, err)
	}
	mended.Store(true)
	r.resume(c, q.ID)
	r.settles(q.ID, 2, messages.Complete)
	zero := []int{0}
	r.shows(watching, q.ID, 1, messages.Grid{Done: []int{3}, Empty: zero, Split: zero, Failed: zero, InFlight: zero})
	fresh := r.onlooker()
	r.shows(fresh, q.ID, 1, messages.Grid{Done: []int{3}, Empty: zero, Split: zero, Failed: zero, InFlight: zero})
	followed, err := watching.Series(t.Context(), q.ID, 100)
	if err != nil {
		t.Fatal(err)
	}
	read, err := fresh.Series(t.Context(), q.ID, 100)
	if diff := cmp.Diff(read, followed); err != nil || diff != "" {
		t.Errorf("who followed and who reads see differently: %v\n%s", err, diff)
	}
}

func TestALostResultIsPendingForThoseWhoWatch(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"gone", "flipped", "no header"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.work(testkit.NewScript(always))
			c := r.lead()
			q := r.finished(c, 3)
			watching := r.onlooker()
			zero := []int{0, 0, 0}
			r.shows(watching, q.ID, 3, messages.Grid{Done: []int{1, 1, 1}, Empty: zero, Split: zero, Failed: zero, InFlight: zero})
			r.spoil(q.ID, "1", what)
			if _, err := c.Verify(t.Context(), q.ID, true); err != nil {
				t.Fatal(err)
			}
			r.shows(watching, q.ID, 3, messages.Grid{Done: []int{1, 0, 1}, Empty: zero, Split: zero, Failed: zero, InFlight: zero})
		})
	}
}

// clocked is an onlooker with a clock of its own.
func (r *rig) clocked(now func() time.Time) *coordinator.Coordinator {
	r.t.Helper()
	return r.with(func(p *coordinator.Ports) { p.Now = now })
}

// with is an onlooker with other ports.
func (r *rig) with(edit func(*coordinator.Ports)) *coordinator.Coordinator {
	r.t.Helper()
	b := r.bus
	ports := coordinator.Ports{
		Queries: b, Catalogue: b, Items: b, Results: b, Services: b, Definitions: r.definitions, Leader: b.Leader(), Glances: b,
		NewID: func() string { return strings.ToLower(rand.Text()) }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}
	edit(&ports)
	c, err := coordinator.New(coordinator.Config{ID: "c9"}, ports)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.CloseViews)
	return c
}

func TestQueriesThatNobodyWatchesAreGivenUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var ahead atomic.Int64
	c := r.clocked(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
	look := func(id string) {
		if _, err := c.Grid(t.Context(), id, 0, 0, 1); err != nil {
			t.Fatal(err)
		}
	}
	a, b := r.submit(c, sites(1)).ID, r.submit(c, sites(1)).ID
	look(a)
	look(b)
	ahead.Store(int64(50 * time.Second))
	look(b)
	ahead.Store(int64(70 * time.Second))
	c.SweepViews()
	if n := c.Watched(); n != 1 {
		t.Errorf("%d are followed, want the one that was looked at", n)
	}
	look(a)
	if _, err := c.Cancel(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if err := c.Remove(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Grid(t.Context(), b, 0, 0, 1); !errors.Is(err, messages.ErrNotFound) {
		t.Errorf("a removed query: %v", err)
	}
	if n := c.Watched(); n != 1 {
		t.Errorf("%d are followed, want one", n)
	}
	for range coordinator.MostWatched + 3 {
		look(r.submit(c, sites(1)).ID)
	}
	if n := c.Watched(); n != coordinator.MostWatched {
		t.Errorf("%d are followed, at most %d", n, coordinator.MostWatched)
	}
	c.CloseViews()
	if _, err := c.Grid(t.Context(), a, 0, 0, 1); !errors.Is(err, messages.ErrUnreachable) || c.Watched() != 0 {
		t.Errorf("after the end: %v, %d are followed", err, c.Watched())
	}
}

// waiting is results that are read only when they are let go, and whose first reading ends at once if it is to break.
type waiting struct {
	coordinator.Results
	letGo  chan struct{}
	breaks atomic.Bool
}

func (w *waiting) TrackResults(ctx context.Context, query string, on func(*messages.ResultHeader), bad func(messages.Position, error), caughtUp func()) error {
	if w.breaks.Swap(false) {
		return fmt.Errorf("follow: %w", messages.ErrUnreachable)
	}
	select {
	case <-w.letGo:
		return w.Results.TrackResults(ctx, query, on, bad, caughtUp)
	case <-ctx.Done():
		return nil
	}
}

func TestAnAnswerDoesNotWaitForWhatIsRead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.work(testkit.NewScript(always))
	q := r.finished(r.lead(), 3)
	slow := &waiting{Results: r.bus, letGo: make(chan struct{})}
	slow.breaks.Store(true)
	c := r.with(func(p *coordinator.Ports) { p.Results = slow })
	g, err := c.Grid(t.Context(), q.ID, 0, 0, 1)
	if err != nil || !g.Reading || g.Done[0] != 0 {
		t.Fatalf("%+v, %v", g, err)
	}
	s, err := c.Series(t.Context(), q.ID, 10)
	if err != nil || !s.Reading || len(s.Chunks) != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	list, err := c.Chunks(t.Context(), q.ID, "", "", 10)
	if err != nil || !list.Reading || len(list.Chunks) != 3 {
		t.Errorf("%+v, %v", list, err)
	}
	if d, err := c.Chunk(t.Context(), q.ID, "1"); err != nil || d.State != messages.ChunkDone || d.Rows != 4 {
		t.Errorf("a chunk that is stored: %+v, %v", d, err)
	}
	p, err := c.Preview(t.Context(), q.ID, 10)
	if err != nil || !p.More {
		t.Errorf("%+v, %v", p, err)
	}
	close(slow.letGo)
	zero := []int{0}
	r.shows(c, q.ID, 1, messages.Grid{Done: []int{3}, Empty: zero, Split: zero, Failed: zero, InFlight: zero})
}
