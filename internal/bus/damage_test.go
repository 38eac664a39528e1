package bus_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

// places are bits of a stored message whose loss differs: with its length, all behind it is lost too.
var places = map[string]int{"its length": testkit.Record, "its sequence": testkit.Record + 4, "its body": 60}

// damaged fills a store, damages what is under a subject while the server is away, and starts it again.
func damaged(t *testing.T, stream, subject string, offset int, fill func(*bus.Bus)) *bus.Bus {
	t.Helper()
	dir := t.TempDir()
	server, err := bus.StartServer(t.Context(), bus.ServerConfig{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	b, err := bus.Connect(t.Context(), bus.Config{Server: server})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Ensure(t.Context(), bus.AssetConfig{}); err != nil {
		t.Fatal(err)
	}
	fill(b)
	b.Close()
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	testkit.Damage(t, dir, stream, subject, offset)
	return testkit.Join(t, testkit.ServerOn(t, bus.ServerConfig{Dir: dir}))
}

func TestTrackingCatchesUpOverDamageAndGoesOn(t *testing.T) {
	t.Parallel()
	for place, offset := range places {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			b := damaged(t, "RESULTS", "braid.result.q.4", offset, func(b *bus.Bus) {
				for i := range 8 {
					mustCommit(t, b, fmt.Sprintf("a%d", i), testkit.Header("q", i, 1), noise(100))
				}
			})
			r := track(t, b, "q")
			testkit.Until(t, "the tracker has caught up", func() bool {
				said := r.all()
				return len(said) > 0 && said[len(said)-1] == "caught up"
			})
			told := len(r.all()) - 1
			if told < 4 || told > 7 {
				t.Fatalf("%d results of 8 were told, of which one is damaged: %q", told, r.all())
			}
			var lost []messages.Position
			for i := range 8 {
				p := messages.PositionAt(i)
				have, err := b.HasResult(t.Context(), "q", p)
				if err != nil {
					t.Fatal(err)
				}
				if !have {
					lost = append(lost, p)
				}
			}
			if len(lost) != 8-told {
				t.Errorf("lost is %v, but %d were told", lost, told)
			}
			for _, p := range lost {
				if err := b.RemoveDamaged(t.Context(), "q", p); err != nil {
					t.Fatal(err)
				}
				mustCommit(t, b, "again-"+string(p), testkit.Header("q", p.Index(), 1), noise(100))
				if _, _, err := b.Result(t.Context(), "q", p); err != nil {
					t.Errorf("fetched again: %v", err)
				}
				if err := commit(t, b, "late", testkit.Header("q", p.Index(), 1), noise(100)); !errors.Is(err, messages.ErrExists) {
					t.Errorf("a second one gave %v, want ErrExists", err)
				}
			}
			testkit.Until(t, "what was fetched again is told", func() bool { return len(r.all()) == told+1+len(lost) })
		})
	}
}

func TestADamagedItemIsNoBarToANewOne(t *testing.T) {
	t.Parallel()
	for place, offset := range places {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			items := []*messages.Item{testkit.Item("q", 0), testkit.Item("q", 1), testkit.Item("q", 2)}
			b := damaged(t, "ITEMS", "braid.item.rivers.q.1", offset, func(b *bus.Bus) { publish(t, b, items...) })
			if err := b.PurgeItems(t.Context(), "rivers", "q"); err != nil {
				t.Fatal(err)
			}
			publish(t, b, items...)
			q := openQueue(t, b, 30*time.Second)
			if taken := take(t, q, 3); len(taken) != 3 {
				t.Errorf("%d items came, want 3", len(taken))
			}
		})
	}
}

func TestADamagedRecordDoesNotHoldUpAList(t *testing.T) {
	t.Parallel()
	for place, offset := range places {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			b := damaged(t, "KV_braid_queries", "$KV.braid_queries.query.b", offset, func(b *bus.Bus) {
				for _, id := range []string{"a", "b", "c"} {
					create(t, b, id, []byte(id))
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
			defer cancel()
			all, err := b.ListQueries(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range all {
				if q.ID == "b" {
					t.Error("the damaged record was read")
				}
			}
			if len(all) == 0 || len(all) > 2 {
				t.Errorf("%d records are left of three with a damaged one", len(all))
			}
			r := &tracker{}
			testkit.Run(t, func(ctx context.Context) error {
				return b.WatchQueries(ctx, func(id string, _ *messages.Query, _ uint64, _ error) { r.say("%s", id) }, func() { r.say("caught up") })
			})
			testkit.Until(t, "the watch has caught up", func() bool {
				said := r.all()
				return len(said) > 0 && said[len(said)-1] == "caught up"
			})
			create(t, b, "d", []byte("d"))
			testkit.Until(t, "the watch tells of a new query", func() bool {
				said := r.all()
				return said[len(said)-1] == "d"
			})
		})
	}
}
