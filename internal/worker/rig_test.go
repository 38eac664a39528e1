package worker_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// rig is a real bus with one service and one running query, for workers to be put on.
type rig struct {
	t   *testing.T
	bus *bus.Bus
	js  jetstream.JetStream

	mu            sync.Mutex // guards interruptions
	interruptions []*messages.Interruption
}

func newRig(t *testing.T, slots int, ttl time.Duration) *rig {
	t.Helper()
	server := testkit.ServerOn(t, bus.ServerConfig{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	r := &rig{t: t, bus: testkit.Join(t, server), js: testkit.JetStream(t, server)}
	svc := &messages.Service{V: 1, Name: "rivers", Slots: slots, LeaseTTL: ttl}
	if err := r.bus.UpdateService(t.Context(), "rivers", func(*messages.Service) *messages.Service { return svc }); err != nil {
		t.Fatal(err)
	}
	if err := r.bus.EnsureQueue(t.Context(), "rivers", 100, svc.AckWait()); err != nil {
		t.Fatal(err)
	}
	q := testkit.Query("q", 100)
	q.Spec = testkit.Digest("spec")
	if err := r.bus.CreateQuery(t.Context(), q, []byte("spec")); err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, func(ctx context.Context) error {
		return r.bus.TrackInterruptions(ctx, "q", func(m *messages.Interruption) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.interruptions = append(r.interruptions, m)
		}, func(err error) { t.Error(err) }, func() {})
	})
	return r
}

// setup is how a worker is made; a test changes what it is about.
type setup struct {
	worker.Config
	testkit.Upstreams
	ports func(*worker.Ports)
}

// work starts a worker.
func (r *rig) work(id string, adapter service.Adapter, edit func(*setup)) *testkit.Running {
	r.t.Helper()
	s := &setup{
		Config:    worker.Config{ID: id, Grace: 10 * time.Second, ShortWait: 2 * time.Second},
		Upstreams: testkit.Upstreams{Adapter: adapter, QuotaWait: time.Hour},
	}
	if edit != nil {
		edit(s)
	}
	return testkit.Run(r.t, testkit.Worker(r.t, r.bus, s.Config, &s.Upstreams, s.ports).Run)
}

func (r *rig) publish(items ...*messages.Item) {
	r.t.Helper()
	if _, err := r.bus.PublishItems(r.t.Context(), items); err != nil {
		r.t.Fatal(err)
	}
}

func items(n int) []*messages.Item {
	all := make([]*messages.Item, n)
	for i := range all {
		all[i] = testkit.Item("q", i)
	}
	return all
}

func (r *rig) hasResult(position int) bool {
	r.t.Helper()
	have, err := r.bus.HasResult(r.t.Context(), "q", messages.PositionAt(position))
	if err != nil {
		r.t.Fatal(err)
	}
	return have
}

// result waits for a position's result.
func (r *rig) result(position int) (*messages.ResultHeader, string) {
	r.t.Helper()
	testkit.Until(r.t, "position "+strconv.Itoa(position)+" has a result", func() bool { return r.hasResult(position) })
	h, rows, err := r.bus.Result(r.t.Context(), "q", messages.PositionAt(position))
	if err != nil {
		r.t.Fatal(err)
	}
	return h, string(rows)
}

func (r *rig) told() []*messages.Interruption {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*messages.Interruption(nil), r.interruptions...)
}

// interrupted waits for n interruptions.
func (r *rig) interrupted(n int) []*messages.Interruption {
	r.t.Helper()
	testkit.Until(r.t, strconv.Itoa(n)+" interruptions were published", func() bool { return len(r.told()) >= n })
	return r.told()
}

// queueIsEmpty waits until every item has been acknowledged: none is waiting, and none is in anybody's hands.
func (r *rig) queueIsEmpty() {
	r.t.Helper()
	testkit.Until(r.t, "the queue is empty", func() bool { return r.queued() == 0 })
}

func (r *rig) queued() int { return testkit.Stored(r.t, r.js, "ITEMS") }

// heldSlots counts the slots of the service that somebody holds.
func (r *rig) heldSlots(slots int) int {
	r.t.Helper()
	held := 0
	for i := range slots {
		e, err := r.bus.Leases().Get(r.t.Context(), "rivers."+strconv.Itoa(i))
		if err != nil && r.t.Context().Err() == nil {
			r.t.Error(err)
		}
		if len(e.Value) > 0 {
			held++
		}
	}
	return held
}

func refuse(class service.Class, status int, message string) error {
	return &service.ResponseError{Class: class, Status: status, Message: message}
}

// rowsOf answers every task with one page of one row, whose site is the task.
func rowsOf(_ context.Context, c testkit.Call) (service.Page, error) {
	return testkit.Rows(c.Task, 0, 1, ""), nil
}

func (r *rig) setState(state messages.QueryState) {
	r.t.Helper()
	q, revision, err := r.bus.LoadQuery(r.t.Context(), "q")
	if err != nil {
		r.t.Fatal(err)
	}
	q.State = state
	if _, err := r.bus.SaveQuery(r.t.Context(), q, revision); err != nil {
		r.t.Fatal(err)
	}
}

func contains(t *testing.T, text, want string) {
	t.Helper()
	if !strings.Contains(text, want) {
		t.Errorf("%q does not contain %q", text, want)
	}
}

var errUnreadable = errors.New("the answer cannot be read")
