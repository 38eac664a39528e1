package coordinator_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

func TestAResultOfANewerVersionStopsTheQueryAndIsLeftAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.coordinator("c1", r.bus, nil)
	q := r.submit(c, sites(3))
	head, err := json.Marshal(map[string]any{"v": messages.Version + 1, "query": q.ID, "position": "1", "shape": "new"})
	if err != nil {
		t.Fatal(err)
	}
	r.put("braid.result."+q.ID+".1", nats.Header{"Braid-Result": {string(head)}}, []byte("rows of another shape"))
	r.work(testkit.NewScript(always))
	testkit.Run(t, c.Run)
	stop := r.settles(q.ID, 1, messages.Failed).Stop
	if stop.Position != "1" || !strings.Contains(stop.Reason, "newer Braid") || !strings.Contains(stop.Reason, "upgrade") {
		t.Errorf("stopped because of %+v", stop)
	}
	if _, err := c.Survey(t.Context(), q); !errors.Is(err, messages.ErrVersion) {
		t.Errorf("the survey gave %v, want ErrVersion", err)
	}
	for _, partial := range []bool{false, true} {
		if _, err := c.Export(t.Context(), q.ID, partial); !errors.Is(err, messages.ErrVersion) || !strings.Contains(err.Error(), "upgrade") {
			t.Errorf("the export gave %v, want ErrVersion and what to do", err)
		}
	}
	if have, err := r.bus.HasResult(t.Context(), q.ID, "1"); !have || err != nil {
		t.Errorf("the result is there: %v, %v", have, err)
	}
}

func TestPartsOfKilledAttemptsGoOnceTheQueryIsComplete(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.coordinator("c1", r.bus, nil)
	q := r.submit(c, sites(3))
	rows := make([]byte, 2<<20)
	_, _ = rand.Read(rows) // never fails
	if err := r.bus.NewResult(q.ID, "killed").Write(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	kept := r.bus.NewResult(q.ID, "kept")
	if err := kept.Write(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	if err := kept.Commit(t.Context(), testkit.Header(q.ID, 2, 1)); err != nil {
		t.Fatal(err)
	}
	before := testkit.Stored(t, r.js, "PARTS")
	r.work(testkit.NewScript(always))
	testkit.Run(t, c.Run)
	r.settles(q.ID, 1, messages.Complete)
	if left := testkit.Stored(t, r.js, "PARTS"); left == 0 || left >= before {
		t.Errorf("%d parts are left of %d", left, before)
	}
	if _, _, err := r.bus.Result(t.Context(), q.ID, "2"); err != nil {
		t.Errorf("the result whose parts are kept: %v", err)
	}
}

// deaf is Results whose first reading tells of nothing, as from a stream whose server has lost its place.
type deaf struct {
	coordinator.Results
	readings atomic.Int32
}

func (d *deaf) TrackResults(ctx context.Context, id string, on func(*messages.ResultHeader), bad func(messages.Position, error), caughtUp func()) error {
	if d.readings.Add(1) == 1 {
		on = func(*messages.ResultHeader) {}
	}
	return d.Results.TrackResults(ctx, id, on, bad, caughtUp)
}

func TestWhatIsCompleteIsReadAnewWhenNoNewsComes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.bus
	results := &deaf{Results: b}
	c, err := coordinator.New(coordinator.Config{ID: "c1", LeaseTTL: 2 * time.Second, LeaderTTL: time.Second, StallAfter: time.Second}, coordinator.Ports{
		Queries: b, Catalogue: b, Items: b, Results: results, Services: b, Definitions: r.definitions, Leader: b.Leader(),
		NewID: func() string { return strings.ToLower(rand.Text()) }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, c.Run)
	script := testkit.NewScript(always)
	r.work(script)
	q := r.submit(c, sites(3))
	r.settles(q.ID, 1, messages.Complete)
	if n := len(script.Calls()); n != 6 {
		t.Errorf("%d requests for 3 chunks of two pages", n)
	}
}

// silent is Results that never tell anything.
type silent struct{ coordinator.Results }

func (silent) TrackResults(ctx context.Context, _ string, _ func(*messages.ResultHeader), _ func(messages.Position, error), _ func()) error {
	<-ctx.Done()
	return nil
}

func TestASurveyEndsWhenNothingComesWhateverItsContextAllows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := coordinator.New(coordinator.Config{ID: "c1"}, coordinator.Ports{
			Results: silent{}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = c.Survey(context.WithoutCancel(t.Context()), testkit.Query("q", 3))
		if !errors.Is(err, messages.ErrUnreachable) {
			t.Errorf("got %v, want ErrUnreachable", err)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}
