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
	r := newRig(t)
	c := r.onlooker()
	q := r.submit(c, sites(10))
	g, err := c.Grid(t.Context(), q.ID, 3, 10, 3)
	if err != nil || g.From != 3 || g.To != 10 || g.Width != 3 || len(g.Done) != 3 || g.Chunks != 10 {
		t.Fatalf("%+v, %v", g, err)
	}
}

func TestWhatIsOutOfBoundsIsRefusedByName(t *testing.T) {
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

func TestAChunkTellsItsPagesAttemptsAndInterruptions(t *testing.T) {
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

func cells(p *messages.Preview) [][]string {
	var rows [][]string
	for _, row := range p.Rows {
		var texts []string
		for _, cell := range row {
			if cell == nil {
				texts = append(texts, "NULL")
			} else {
				texts = append(texts, *cell)
			}
		}
		rows = append(rows, texts)
	}
	return rows
}

func TestAPreviewIsTheFirstRowsInPositionOrder(t *testing.T) {
	r := newRig(t)
	r.work(testkit.NewScript(always))
	q := r.finished(r.lead(), 3)
	c := r.onlooker()
	for limit, want := range map[int]struct {
		rows int
		more bool
	}{1: {1, true}, 5: {5, true}, 11: {11, true}, 12: {12, false}, 1000: {12, false}} {
		p, err := c.Preview(t.Context(), q.ID, limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Rows) != want.rows || p.More != want.more {
			t.Errorf("limit %d: %d rows, more %v", limit, len(p.Rows), p.More)
		}
	}
	p, err := c.Preview(t.Context(), q.ID, 5)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]messages.PreviewColumn{{Name: "site", Type: "text"}, {Name: "n", Type: "int64"}}, p.Columns); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]string{{"s00", "0"}, {"s00", "1"}, {"s00", "2"}, {"s00", "3"}, {"s01", "0"}}, cells(p)); diff != "" {
		t.Error(diff)
	}
	r.spoil(q.ID, "0", "flipped")
	p, err = c.Preview(t.Context(), q.ID, 1000)
	if err != nil || len(p.Rows) != 8 || !p.More || *p.Rows[0][0] != "s01" {
		t.Errorf("with a damaged result: %v, more %v, %v", cells(p), p.More, err)
	}
	if now := r.query(q.ID); now.State != messages.Complete {
		t.Errorf("a look made the query %s", now.State)
	}
}

func TestAPreviewHasTheColumnsOfTheTable(t *testing.T) {
	r := newRig(t)
	r.definitions.change(rivers + "    finalize: [{rename: {n: number}}, {add: {source: gauge}}, {sort: [number]}, {limit: 2}]\n")
	r.work(testkit.NewScript(always))
	q := r.finished(r.lead(), 3)
	p, err := r.onlooker().Preview(t.Context(), q.ID, 5)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, column := range p.Columns {
		names = append(names, column.Name)
	}
	if !slices.Equal(names, []string{"site", "number", "source"}) || len(p.Rows) != 5 || *p.Rows[1][1] != "1" {
		t.Errorf("%v: %v", names, cells(p))
	}
}

func TestAChunkWithoutAResultTellsTheRequestsThatItTook(t *testing.T) {
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

func TestAPreviewOfNothingHasTheDeclaredColumns(t *testing.T) {
	r := newRig(t)
	c := r.onlooker()
	q := r.submit(c, sites(3))
	p, err := c.Preview(t.Context(), q.ID, 10)
	if err != nil || len(p.Columns) != 2 || len(p.Rows) != 0 || !p.More {
		t.Errorf("%+v, %v", p, err)
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

func TestAServiceTellsItsSlotsGateAndQueries(t *testing.T) {
	r := newRig(t)
	h := hold("s00")
	r.work(h.adapter)
	q := r.submit(r.lead(), sites(1))
	testkit.Receive(t, "call", h.came)
	closed := &messages.Gate{V: 1, Service: "rivers", Until: time.Now().Add(time.Hour), Status: 429, Reason: "over", Worker: "w1", At: time.Now()}
	if err := r.bus.CloseGate(t.Context(), closed); err != nil {
		t.Fatal(err)
	}
	ledger := &messages.QuotaLedger{V: 1, Pool: "gateway", Owner: "key", Counts: "requests", Model: "rolling", Window: time.Hour, Limit: 10, Latest: time.Now().UnixNano()}
	if err := r.bus.UpdateQuota(t.Context(), "gateway", "key", func(*messages.QuotaLedger) *messages.QuotaLedger { return ledger }); err != nil {
		t.Fatal(err)
	}
	c := r.onlooker()
	r.definitions.change(strings.Replace(rivers, "limits:", "quotas: {gateway: {counts: requests, limit: 10, window: 1h}}\nlimits:", 1))
	v, err := c.Service(t.Context(), "rivers")
	if err != nil {
		t.Fatal(err)
	}
	if v.Slots != 4 || v.LeaseTTL != 2*time.Second || v.URL != "https://rivers.example" || !slices.Equal(v.Collections, []string{"daily"}) || v.Unknown {
		t.Errorf("the service is %+v", v)
	}
	if len(v.Holders) != 1 || v.Holders[0].Worker != "w1" || v.Holders[0].Since.IsZero() {
		t.Errorf("holders are %+v", v.Holders)
	}
	if v.Gate == nil || v.Gate.Reason != "over" {
		t.Errorf("the gate is %+v", v.Gate)
	}
	if len(v.Queries) != 1 || v.Queries[0].ID != q.ID || v.Queries[0].State != messages.Running {
		t.Errorf("queries are %+v", v.Queries)
	}
	if len(v.Pools) != 1 || v.Pools[0].Pool != "gateway" || v.Pools[0].Limit != 10 {
		t.Errorf("pools are %+v", v.Pools)
	}
	close(h.letGo)
}

func TestAGateThatIsOpenAgainIsNotShown(t *testing.T) {
	r := newRig(t)
	now := time.Now()
	was := &messages.Gate{V: 1, Service: "rivers", Until: now.Add(-time.Second), Status: 429, Reason: "over", Worker: "w1", At: now.Add(-time.Minute)}
	if err := r.bus.CloseGate(t.Context(), was); err != nil {
		t.Fatal(err)
	}
	if stored, err := r.bus.Gate(t.Context(), "rivers"); err != nil || stored == nil {
		t.Fatalf("it is not stored: %v", err)
	}
	c := r.onlooker()
	if v, err := c.Service(t.Context(), "rivers"); err != nil || v.Gate != nil {
		t.Errorf("the service has the gate %+v, %v", v.Gate, err)
	}
	if list, err := c.Services(t.Context()); err != nil || len(list.Services) != 1 || list.Services[0].Gate != nil {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestServicesAreThoseDefinedAndThoseUsed(t *testing.T) {
	r := newRig(t)
	err := r.bus.UpdateService(t.Context(), "lakes", func(*messages.Service) *messages.Service {
		return &messages.Service{V: 1, Name: "lakes", Slots: 2, LeaseTTL: time.Second}
	})
	if err != nil {
		t.Fatal(err)
	}
	list, err := r.onlooker().Services(t.Context())
	if err != nil || len(list.Services) != 2 || list.Services[0].Name != "lakes" || !list.Services[0].Unknown || list.Services[1].Unknown || list.Services[1].Slots != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestABreakersQueryIsShownWithItsService(t *testing.T) {
	r := newRig(t)
	c := r.onlooker()
	tripped := r.submit(c, sites(1))
	ended := r.submit(c, sites(1))
	r.edit(tripped.ID, func(q *messages.Query) {
		q.State = messages.Interrupted
		q.Stop = &messages.Stop{Kind: messages.StopBreaker, Reason: "too many failed", At: time.Now(), Tripped: &messages.Tripped{Window: 100, Minimum: 20, Threshold: "0.25", Ended: 40, Failed: 12, Alike: 10}}
	})
	r.edit(ended.ID, func(q *messages.Query) {
		q.State = messages.Failed
		q.Stop = &messages.Stop{Kind: messages.StopFailure, Reason: "no", At: time.Now()}
	})
	v, err := c.Service(t.Context(), "rivers")
	if err != nil || len(v.Queries) != 1 || v.Queries[0].ID != tripped.ID || v.Queries[0].Tripped == nil {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestWorkersAreListedByName(t *testing.T) {
	r := newRig(t)
	c := r.onlooker()
	list, err := c.Workers(t.Context())
	if err != nil || list.Workers == nil || len(list.Workers) != 0 || list.Now.IsZero() {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, w := range []string{"w2 b", "w1 b", "w1 a"} {
		id, instance, _ := strings.Cut(w, " ")
		if err := r.bus.SaveWorker(t.Context(), &messages.Worker{V: 1, ID: id, Host: "h", Version: "v", Concurrency: 1, Seen: time.Now(), Instance: instance}, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	list, err = c.Workers(t.Context())
	var names []string
	for _, w := range list.Workers {
		names = append(names, w.ID+" "+w.Instance)
	}
	if err != nil || !slices.Equal(names, []string{"w1 a", "w1 b", "w2 b"}) {
		t.Errorf("%v, %v", names, err)
	}
}
