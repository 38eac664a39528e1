package bus_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

func openQueue(t *testing.T, b *bus.Bus, ackWait time.Duration) *bus.Queue {
	t.Helper()
	if err := b.EnsureQueue(t.Context(), "rivers", 100, ackWait); err != nil {
		t.Fatal(err)
	}
	q, err := b.Queue(t.Context(), "rivers")
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func publish(t *testing.T, b *bus.Bus, items ...*messages.Item) {
	t.Helper()
	if _, err := b.PublishItems(t.Context(), items); err != nil {
		t.Fatal(err)
	}
}

func take(t *testing.T, q *bus.Queue, n int) []*bus.Delivery {
	t.Helper()
	taken, err := takeUpTo(t, q, n, 5*time.Second, func(err error) { t.Errorf("not an item: %v", err) })
	if err != nil {
		t.Fatal(err)
	}
	return taken
}

func takeUpTo(t *testing.T, q *bus.Queue, n int, wait time.Duration, bad func(error)) ([]*bus.Delivery, error) {
	t.Helper()
	var taken []*bus.Delivery
	_, err := q.Take(t.Context(), n, wait, func(d *bus.Delivery) { taken = append(taken, d) }, bad)
	return taken, err
}

func TestAnItemThatIsQueuedIsNotQueuedTwice(t *testing.T) {
	b := testkit.Bus(t)
	publish(t, b, testkit.Item("q", 0), testkit.Item("q", 1))
	publish(t, b, testkit.Item("q", 1), testkit.Item("q", 2))
	if n := stored(t, b, "ITEMS"); n != 3 {
		t.Errorf("%d items are queued, want 3", n)
	}
}

func TestAnItemCanBeQueuedAgainOnceItIsGone(t *testing.T) {
	b := testkit.Bus(t)
	q := openQueue(t, b, 30*time.Second)
	publish(t, b, testkit.Item("q", 0), testkit.Item("other", 0))
	if err := b.PurgeItems(t.Context(), "rivers", "q"); err != nil {
		t.Fatal(err)
	}
	if n := stored(t, b, "ITEMS"); n != 1 {
		t.Fatalf("%d items are queued, want the other query's one", n)
	}
	publish(t, b, testkit.Item("q", 0))
	if n := stored(t, b, "ITEMS"); n != 2 {
		t.Fatalf("%d items are queued after a purge and a publish, want 2", n)
	}
	for range 2 {
		for _, d := range take(t, q, 1) {
			if err := d.Done(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	publish(t, b, testkit.Item("q", 0))
	if again := take(t, q, 1); len(again) != 1 || again[0].Delivered != 1 {
		t.Fatalf("after an acknowledgement and a publish: %+v", again)
	}
}

func TestAHandedBackItemComesAgainAtOnce(t *testing.T) {
	b := testkit.Bus(t)
	q := openQueue(t, b, 30*time.Second)
	publish(t, b, testkit.Item("q", 0))
	if err := take(t, q, 1)[0].HandBack(); err != nil {
		t.Fatal(err)
	}
	again := take(t, q, 1)
	if len(again) != 1 || again[0].Delivered != 2 || again[0].Item.Position != "0" {
		t.Fatalf("after it was handed back: %+v", again)
	}
}

func TestAnItemThatNobodySpeaksOfComesAgain(t *testing.T) {
	t.Parallel()
	b := testkit.Bus(t)
	q := openQueue(t, b, time.Second)
	publish(t, b, testkit.Item("q", 0))
	if len(take(t, q, 1)) != 1 {
		t.Fatal("not delivered")
	}
	if again := take(t, q, 1); len(again) != 1 || again[0].Delivered != 2 {
		t.Fatalf("after the queue's patience: %+v", again)
	}
}

func TestTakeReturnsWhatIsThereWhenTheWaitIsOver(t *testing.T) {
	t.Parallel()
	b := testkit.Bus(t)
	q := openQueue(t, b, 30*time.Second)
	publish(t, b, testkit.Item("q", 0), testkit.Item("q", 1))
	taken, err := takeUpTo(t, q, 10, time.Second, func(err error) { t.Error(err) })
	if err != nil || len(taken) != 2 {
		t.Fatalf("took %d, %v; want 2", len(taken), err)
	}
	none, err := takeUpTo(t, q, 10, time.Second, func(err error) { t.Error(err) })
	if err != nil || len(none) != 0 {
		t.Fatalf("took %d, %v; want none", len(none), err)
	}
}

func TestTakeGivesEachItemAsItComes(t *testing.T) {
	b := testkit.Bus(t)
	q := openQueue(t, b, 30*time.Second)
	came := make(chan messages.Position, 10)
	taking := testkit.Run(t, func(ctx context.Context) error {
		n, err := q.Take(ctx, 10, time.Minute, func(d *bus.Delivery) { came <- d.Item.Position }, func(err error) { t.Error(err) })
		if n != 2 {
			t.Errorf("took %d, want 2", n)
		}
		return err
	})
	for i := range 2 {
		publish(t, b, testkit.Item("q", i))
		if p := testkit.Receive(t, "item", came); p != messages.PositionAt(i) {
			t.Errorf("position %s came, want %d", p, i)
		}
	}
	if err := taking.Stop(t); err != nil {
		t.Error(err)
	}
}

// The server may have sent one when who asked has had enough.
func TestAnItemThatComesAsATakeEndsIsInSomebodysHands(t *testing.T) {
	const items = 400
	for name, take := range map[string]func(context.Context, *bus.Queue, func(*bus.Delivery), func(error)) (int, error){
		"its time is over": func(ctx context.Context, q *bus.Queue, on func(*bus.Delivery), bad func(error)) (int, error) {
			return q.Take(ctx, 3, time.Duration(2000+rand.IntN(2000))*time.Microsecond, on, bad)
		},
		"it is told to end": func(ctx context.Context, q *bus.Queue, on func(*bus.Delivery), bad func(error)) (int, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Duration(2000+rand.IntN(2000))*time.Microsecond)
			defer cancel()
			return q.Take(ctx, 3, time.Minute, on, bad)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := testkit.Bus(t)
			q := openQueue(t, b, time.Minute) // longer than the test: an item that is lost stays away
			publishing := testkit.Run(t, func(ctx context.Context) error {
				for i := range items {
					if _, err := b.PublishItems(ctx, []*messages.Item{testkit.Item("q", i)}); err != nil {
						return err
					}
				}
				return nil
			})
			seen, bad := map[messages.Position]bool{}, func(err error) { t.Error(err) }
			for deadline := time.Now().Add(30 * time.Second); len(seen) < items && time.Now().Before(deadline); {
				_, err := take(t.Context(), q, func(d *bus.Delivery) {
					if seen[d.Item.Position] {
						t.Errorf("position %s came twice", d.Item.Position)
					}
					seen[d.Item.Position] = true
					if err := d.Done(t.Context()); err != nil {
						t.Error(err)
					}
				}, bad)
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := publishing.Stop(t); err != nil {
				t.Error(err)
			}
			if len(seen) != items {
				t.Errorf("%d of %d items came; the others are in nobody's hands", len(seen), items)
			}
		})
	}
}

func TestWhatIsNoItemIsReportedAndRemoved(t *testing.T) {
	b := testkit.Bus(t)
	q := openQueue(t, b, 30*time.Second)
	strange, err := testkit.Item("q", 7).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for subject, body := range map[string][]byte{
		bus.ItemSubject("rivers", "q", "0"): []byte("{"),
		bus.ItemSubject("rivers", "q", "1"): strange, // an item of position 7
	} {
		if _, err := b.JetStream().Publish(t.Context(), subject, body); err != nil {
			t.Fatal(err)
		}
	}
	publish(t, b, testkit.Item("q", 2))
	var bad []error
	var good []*bus.Delivery
	testkit.Until(t, "three messages were taken", func() bool {
		taken, err := takeUpTo(t, q, 3, time.Second, func(err error) { bad = append(bad, err) })
		if err != nil {
			t.Fatal(err)
		}
		good = append(good, taken...)
		return len(good)+len(bad) == 3
	})
	if len(good) != 1 || good[0].Item.Position != "2" {
		t.Errorf("items: %+v", good)
	}
	for _, err := range bad {
		if !errors.Is(err, messages.ErrInvalid) {
			t.Errorf("reported as %v", err)
		}
	}
	testkit.Until(t, "what is no item has left the queue", func() bool { return stored(t, b, "ITEMS") == 1 })
}

func TestAnItemOfANewerVersionStays(t *testing.T) {
	b := testkit.Bus(t)
	q := openQueue(t, b, 30*time.Second)
	if _, err := b.JetStream().Publish(t.Context(), bus.ItemSubject("rivers", "q", "0"), []byte(`{"v":99,"new":"field"}`)); err != nil {
		t.Fatal(err)
	}
	var bad []error
	if _, err := takeUpTo(t, q, 1, 5*time.Second, func(err error) { bad = append(bad, err) }); err != nil {
		t.Fatal(err)
	}
	if len(bad) != 1 || !errors.Is(bad[0], messages.ErrVersion) {
		t.Fatalf("reported %v, want ErrVersion", bad)
	}
	if n := stored(t, b, "ITEMS"); n != 1 {
		t.Errorf("%d items are left, want it to stay for a newer worker", n)
	}
}

func TestEnsureRestoresTheSettingsThatInvariantsRestOn(t *testing.T) {
	b := testkit.Bus(t)
	for _, name := range []string{"ITEMS", "RESULTS", "PARTS"} {
		s, err := b.JetStream().Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		cfg := s.CachedInfo().Config
		cfg.DiscardNewPerSubject, cfg.Discard, cfg.MaxMsgsPerSubject = false, jetstream.DiscardOld, -1
		if _, err := b.JetStream().UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Ensure(t.Context(), bus.AssetConfig{}); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, b, "first", testkit.Header("q", 0, 1), []byte("{}"))
	if err := commit(t, b, "second", testkit.Header("q", 0, 1), []byte("{}")); !errors.Is(err, messages.ErrExists) {
		t.Errorf("the second commit gave %v, want ErrExists", err)
	}
}

func TestAnItemOlderThanTheConnectionIsInDoubt(t *testing.T) {
	b := testkit.Bus(t)
	if err := b.EnsureQueue(t.Context(), "rivers", 10, time.Minute); err != nil {
		t.Fatal(err)
	}
	queue, err := b.Queue(t.Context(), "rivers")
	if err != nil {
		t.Fatal(err)
	}
	old, fresh := testkit.Item("q", 0), testkit.Item("q", 1)
	old.Dispatched = time.Now().Add(-time.Hour)
	if _, err := b.PublishItems(t.Context(), []*messages.Item{old, fresh}); err != nil {
		t.Fatal(err)
	}
	var taken []*bus.Delivery
	if _, err := queue.Take(t.Context(), 2, 10*time.Second, func(d *bus.Delivery) { taken = append(taken, d) }, func(err error) { t.Error(err) }); err != nil || len(taken) != 2 {
		t.Fatalf("%d items, %v", len(taken), err)
	}
	if !taken[0].InDoubt() || taken[1].InDoubt() {
		t.Errorf("the old item is in doubt: %v, the fresh one: %v", taken[0].InDoubt(), taken[1].InDoubt())
	}
	if err := b.Conn().ForceReconnect(); err != nil {
		t.Fatal(err)
	}
	testkit.Until(t, "the fresh item is in doubt when the connection was lost with it in hand", taken[1].InDoubt)
}

// Items tell when they were dispatched by the server's time, whatever this process takes it for.
func TestAnItemIsInDoubtByTheServersTime(t *testing.T) {
	b := testkit.Bus(t)
	q := openQueue(t, b, time.Minute)
	for i, wrong := range []time.Duration{time.Hour, -time.Hour} {
		b.Mistake(wrong) // as when this process's own clock was wrong by the opposite
		old, fresh := testkit.Item("q", 2*i), testkit.Item("q", 2*i+1)
		old.Dispatched, fresh.Dispatched = b.Now().Add(-time.Minute), b.Now()
		publish(t, b, old, fresh)
		if taken := take(t, q, 2); !taken[0].InDoubt() || taken[1].InDoubt() {
			t.Errorf("time is off by %v; the old item is in doubt: %v, the fresh one: %v", wrong, taken[0].InDoubt(), taken[1].InDoubt())
		}
	}
}

func TestAnItemInWhosePlaceAnotherOneIsQueuedIsRefused(t *testing.T) {
	b := testkit.Bus(t)
	q := openQueue(t, b, 30*time.Second)
	first := testkit.Item("q", 0)
	first.Allowance = 7
	second := testkit.Item("q", 0)
	second.Dispatched = first.Dispatched.Add(time.Second)
	behind := testkit.Item("q", 1)
	publish(t, b, first)
	for range 2 { // whether it lies there or is in somebody's hands
		refused, err := b.PublishItems(t.Context(), []*messages.Item{second, behind})
		if err != nil || len(refused) != 1 || refused[0].Item != second || refused[0].Queued == nil || refused[0].Queued.Allowance != 7 {
			t.Fatalf("%+v, %v", refused, err)
		}
		if refused, err = b.PublishItems(t.Context(), []*messages.Item{first}); err != nil || len(refused) != 0 {
			t.Fatalf("the item that is queued is refused: %+v, %v", refused, err)
		}
	}
	for _, d := range take(t, q, 2) {
		if err := d.Done(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if refused, err := b.PublishItems(t.Context(), []*messages.Item{second}); err != nil || len(refused) != 0 {
		t.Fatalf("%+v, %v", refused, err)
	}
}

// Whoever does not hear that an event is stored stores it again.
func TestAnEventThatIsSentTwiceIsStoredOnce(t *testing.T) {
	b := testkit.Bus(t)
	m := &messages.Interruption{
		V: messages.Version, Query: "q", Run: 1, Position: "0", Service: "rivers", Kind: messages.AllowanceSpent, Reason: "spent", Sent: 3, Worker: "w1",
		At: time.Now(), Dispatched: time.Now().Add(-time.Minute),
	}
	for range 2 {
		if err := b.PublishInterruption(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	other := *m
	other.At = m.At.Add(time.Nanosecond)
	if err := b.PublishInterruption(t.Context(), &other); err != nil {
		t.Fatal(err)
	}
	if n := stored(t, b, "EVENTS"); n != 2 {
		t.Errorf("%d events are stored, want 2", n)
	}
}

func TestAServiceWithoutAQueueIsToldFromTrouble(t *testing.T) {
	b := testkit.Bus(t)
	if _, err := b.Queue(t.Context(), "rivers"); !errors.Is(err, messages.ErrNotFound) {
		t.Errorf("the queue that nobody made: %v", err)
	}
}
