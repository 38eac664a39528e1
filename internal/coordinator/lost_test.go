package coordinator_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

// between is a bus that does something before progress is noted for the first time after it was armed.
type between struct {
	*bus.Bus
	armed *atomic.Bool
	what  func()
}

func (b between) SaveProgress(ctx context.Context, p *messages.Progress) error {
	if b.armed.CompareAndSwap(true, false) {
		b.what()
	}
	return b.Bus.SaveProgress(ctx, p)
}

// Whoever looks too, while what was lost is told and not yet counted anew, tells nothing, and leaves a query alone that was resumed.
func TestALossIsToldOnceByWhomever(t *testing.T) {
	for name, resumed := range map[string]bool{"looked at again": false, "resumed and looked at again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			other := r.coordinator("c1", r.bus, nil)
			leading := testkit.Run(t, other.Run)
			r.work(testkit.NewScript(always))
			q := r.finished(other, 3)
			_ = leading.Stop(t)
			r.purge("RESULTS", "braid.result.>")
			var armed atomic.Bool
			var told time.Time
			c, err := coordinator.New(coordinator.Config{ID: "c2", LeaseTTL: 2 * time.Second, LeaderTTL: time.Second}, coordinator.Ports{
				Queries: r.bus, Catalogue: between{r.bus, &armed, func() {
					told = r.query(q.ID).Updated
					if resumed {
						told = r.resume(other, q.ID).Updated
					}
					if err := other.FindLost(t.Context()); err != nil {
						t.Error(err)
					}
				}}, Items: r.bus, Results: r.bus, Services: r.bus, Definitions: r.definitions, Leader: r.bus.Leader(),
				NewID: func() string { return strings.ToLower(rand.Text()) }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			armed.Store(true)
			if err := c.FindLost(t.Context()); err != nil {
				t.Fatal(err)
			}
			now := r.query(q.ID)
			if told.IsZero() || !now.Updated.Equal(told) || resumed != (now.State == messages.Running) {
				t.Errorf("it was told at %s, and again: %s since %s", told, now.State, now.Updated)
			}
		})
	}
}
