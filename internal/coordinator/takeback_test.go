package coordinator_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

func TestAResumeTakesBackWhatTheOldRunHasQueued(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.coordinator("c1", r.bus, nil)
	q := r.submit(c, sites(3))
	var queued []*messages.Item
	for i := range 3 { // by a leader that did not know that it was none any more
		item := testkit.Item(q.ID, i)
		item.Service, item.Definition, item.Run = q.Service, q.Definition, q.Run
		queued = append(queued, item)
	}
	r.edit(q.ID, func(q *messages.Query) {
		q.State, q.Updated = messages.Interrupted, time.Now()
		q.Stop = &messages.Stop{Kind: messages.StopDrained, Reason: "as the test says", At: q.Updated}
	})
	if _, err := r.bus.PublishItems(t.Context(), queued); err != nil {
		t.Fatal(err)
	}
	if n := testkit.Stored(t, r.js, "ITEMS"); n != 3 {
		t.Fatalf("%d items are queued", n)
	}
	if again := r.resume(c, q.ID); again.Run != q.Run+1 {
		t.Fatalf("run %d", again.Run)
	}
	if n := testkit.Stored(t, r.js, "ITEMS"); n != 0 {
		t.Errorf("%d items of the old run are queued when the new one begins", n)
	}
	r.work(testkit.NewScript(always))
	testkit.Run(t, c.Run)
	r.settles(q.ID, q.Run+1, messages.Complete)
}

// followed is a catalogue that knows how many follow it.
type followed struct {
	coordinator.Catalogue
	by atomic.Int32
}

func (f *followed) WatchQueries(ctx context.Context, on func(string, *messages.Query, uint64, error), caughtUp func()) error {
	f.by.Add(1)
	defer f.by.Add(-1)
	return f.Catalogue.WatchQueries(ctx, on, caughtUp)
}

func TestALeaderThatHasLostItsLeaseWorksOnNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.bus
	catalogue := &followed{Catalogue: b}
	c, err := coordinator.New(coordinator.Config{ID: "c1", LeaseTTL: 2 * time.Second, LeaderTTL: time.Second}, coordinator.Ports{
		Queries: b, Catalogue: catalogue, Items: b, Results: b, Services: b, Definitions: r.definitions, Leader: b.Leader(),
		NewID: func() string { return strings.ToLower(rand.Text()) }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, c.Run)
	testkit.Until(t, "it leads", func() bool { return catalogue.by.Load() > 0 })

	const seat = "coordinator.0"
	have, err := b.Leader().Get(t.Context(), seat)
	if err != nil || len(have.Value) == 0 {
		t.Fatalf("the leader's seat is %+v, %v", have, err)
	}
	var taken uint64
	testkit.Until(t, "another one has the seat", func() bool {
		if have, err = b.Leader().Get(t.Context(), seat); err == nil {
			taken, err = b.Leader().Put(t.Context(), seat, []byte(`{"lease":"x","worker":"c2"}`), have.Revision, time.Minute)
		}
		return err == nil
	})
	testkit.Until(t, "the old leader follows the queries no more", func() bool { return catalogue.by.Load() == 0 })
	q := r.submit(c, sites(2))
	if n := testkit.Stored(t, r.js, "ITEMS"); n != 0 {
		t.Errorf("%d items were queued by who does not lead", n)
	}
	if _, err := b.Leader().Put(t.Context(), seat, nil, taken, 0); err != nil {
		t.Fatal(err)
	}
	r.work(testkit.NewScript(always))
	r.settles(q.ID, 1, messages.Complete)
}
