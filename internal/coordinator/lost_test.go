package coordinator_test

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	t.Parallel()
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

func TestALostResultIsFetchedAgainAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(r *rig, subject string){
		"gone": func(r *rig, subject string) { r.purge("RESULTS", subject) },
		"changed": func(r *rig, subject string) {
			s, err := r.js.Stream(r.t.Context(), "RESULTS")
			if err != nil {
				r.t.Fatal(err)
			}
			msg, err := s.GetLastMsgForSubject(r.t.Context(), subject)
			if err != nil {
				r.t.Fatal(err)
			}
			r.purge("RESULTS", subject)
			r.put(subject, msg.Header, []byte("something else"))
		},
		"unreadable": func(r *rig, subject string) {
			r.purge("RESULTS", subject)
			r.put(subject, nil, []byte("something else"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			c := r.lead()
			script := testkit.NewScript(always)
			r.work(script)
			q := r.submit(c, sites(10))
			r.settles(q.ID, 1, messages.Complete)
			want := r.tables(c, q.ID)

			damage(r, "braid.result."+q.ID+".4")
			if _, err := c.Export(t.Context(), q.ID, false); !errors.Is(err, messages.ErrDamaged) {
				t.Fatalf("export gave %v, want ErrDamaged", err)
			}
			reopened := r.query(q.ID)
			if reopened.State != messages.Interrupted || reopened.Stop.Kind != messages.StopDamaged || reopened.Stop.Position != "4" {
				t.Errorf("the query is %s because of %+v", reopened.State, reopened.Stop)
			}
			before := len(script.Calls())
			r.resume(c, q.ID)
			r.settles(q.ID, 2, messages.Complete)
			again := script.Calls()[before:]
			// The first page is stored by itself and was not lost.
			if len(again) != 1 || siteOf(again[0]) != "s04" || again[0].Pages != 1 {
				t.Errorf("the resume asked for %v, want the last page of s04", again)
			}
			if diff := cmp.Diff(want, r.tables(c, q.ID)); diff != "" {
				t.Errorf("the table differs from the one before the loss: %s", diff)
			}
		})
	}
}
