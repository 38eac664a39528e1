package bus_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/lease/leasetest"
	"github.com/braidhq/braid/pkg/messages"
)

func create(t *testing.T, b *bus.Bus, id string, spec []byte) *messages.Query {
	t.Helper()
	q := testkit.Query(id, 3)
	q.Spec = testkit.Digest(string(spec))
	if err := b.CreateQuery(t.Context(), q, spec); err != nil {
		t.Fatal(err)
	}
	return q
}

func TestARecordChangesOnlyFromItsLastRevision(t *testing.T) {
	b := testkit.Bus(t)
	create(t, b, "q", []byte("spec"))
	if err := b.CreateQuery(t.Context(), testkit.Query("q", 9), []byte("spec")); !errors.Is(err, messages.ErrConflict) {
		t.Fatalf("a taken id gave %v, want ErrConflict", err)
	}
	q, revision, err := b.LoadQuery(t.Context(), "q")
	if err != nil || q.Chunks != 3 {
		t.Fatalf("loaded %+v, %v", q, err)
	}
	q.State = messages.Stopping
	next, err := b.SaveQuery(t.Context(), q, revision)
	if err != nil {
		t.Fatal(err)
	}
	q.State = messages.Cancelled
	if _, err := b.SaveQuery(t.Context(), q, revision); !errors.Is(err, messages.ErrConflict) {
		t.Fatalf("a save over an old revision gave %v, want ErrConflict", err)
	}
	if now, have, err := b.LoadQuery(t.Context(), "q"); err != nil || now.State != messages.Stopping || have != next {
		t.Fatalf("the record is %+v at %d, %v; want the winner's at %d", now, have, err, next)
	}
}

func TestAnUnknownQueryIsNotFound(t *testing.T) {
	b := testkit.Bus(t)
	if _, _, err := b.LoadQuery(t.Context(), "none"); !errors.Is(err, messages.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	if _, _, err := b.LoadQuery(t.Context(), "a.b>"); !errors.Is(err, messages.ErrName) {
		t.Errorf("an id with other characters gave %v, want ErrName", err)
	}
	if _, err := b.LoadProgress(t.Context(), "none"); !errors.Is(err, messages.ErrNotFound) {
		t.Errorf("progress: got %v, want ErrNotFound", err)
	}
}

func TestLargeSpecsComeBackWhole(t *testing.T) {
	b := testkit.Bus(t)
	for name, spec := range map[string][]byte{
		"empty": {}, "small": []byte("spec"), "one piece exactly": noise(128<<10 - 20), "several pieces": noise(1 << 20),
		"compressible": bytes.Repeat([]byte("site "), 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			q := create(t, b, strings.ReplaceAll(name, " ", "-"), spec)
			again, err := b.LoadSpec(t.Context(), q)
			if err != nil || !bytes.Equal(again, spec) {
				t.Errorf("%d bytes of %d came back, %v", len(again), len(spec), err)
			}
		})
	}
}

func TestADamagedSpecIsNotRead(t *testing.T) {
	b := testkit.Bus(t)
	kv, err := b.JetStream().KeyValue(t.Context(), "braid_queries")
	if err != nil {
		t.Fatal(err)
	}
	edit := func(t *testing.T, key string, change func([]byte) []byte) {
		entry, err := kv.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kv.Put(t.Context(), key, change(bytes.Clone(entry.Value()))); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		damage func(t *testing.T, prefix string)
		want   error
	}{
		"a changed piece": {func(t *testing.T, prefix string) {
			edit(t, prefix+".1", func(v []byte) []byte { v[1000] ^= 1; return v })
		}, messages.ErrDamaged},
		"a missing piece": {func(t *testing.T, prefix string) {
			if err := kv.Delete(t.Context(), prefix+".1"); err != nil {
				t.Fatal(err)
			}
		}, messages.ErrNotFound},
		"an end too early": {func(t *testing.T, prefix string) {
			edit(t, prefix+".0", func(v []byte) []byte { v[0] = 0; return v })
		}, messages.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			q := create(t, b, strings.ReplaceAll(name, " ", "-"), noise(1<<20))
			c.damage(t, "spec."+q.Spec)
			if data, err := b.LoadSpec(t.Context(), q); !errors.Is(err, c.want) || data != nil {
				t.Errorf("got %d bytes, %v; want %v", len(data), err, c.want)
			}
		})
	}
}

func TestListTellsAllQueriesAndNothingElse(t *testing.T) {
	b := testkit.Bus(t)
	if all, err := b.ListQueries(t.Context()); err != nil || len(all) != 0 {
		t.Fatalf("an empty store lists %v, %v", all, err)
	}
	made := map[string]*messages.Query{}
	for _, id := range []string{"a", "b", "c"} {
		made[id] = create(t, b, id, []byte(id))
	}
	if err := b.SaveProgress(t.Context(), &messages.Progress{V: 1, Query: "a", Run: 1}); err != nil {
		t.Fatal(err)
	}
	changed := *made["b"]
	changed.Run++
	if err := b.RemoveQuery(t.Context(), &changed); !errors.Is(err, messages.ErrConflict) {
		t.Fatalf("a record that is another one by now: %v", err)
	}
	if err := b.RemoveQuery(t.Context(), made["b"]); err != nil {
		t.Fatal(err)
	}
	all, err := b.ListQueries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, q := range all {
		ids = append(ids, q.ID)
	}
	slices.Sort(ids)
	if !slices.Equal(ids, []string{"a", "c"}) {
		t.Errorf("listed %v, want a and c", ids)
	}
}

func TestARecordThatCannotBeReadDoesNotHideTheOthers(t *testing.T) {
	b := testkit.Bus(t)
	create(t, b, "good", []byte("spec"))
	if _, err := b.JetStream().Publish(t.Context(), "$KV.braid_queries.query.bad", []byte("{")); err != nil {
		t.Fatal(err)
	}
	all, err := b.ListQueries(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != "good" {
		t.Errorf("listed %v, %v; want the good one", all, err)
	}
	if _, _, err := b.LoadQuery(t.Context(), "bad"); !errors.Is(err, messages.ErrInvalid) || !strings.Contains(err.Error(), "bad") {
		t.Errorf("got %v, want ErrInvalid and the query's name", err)
	}
}

func TestAListThatWasCutOffIsNoList(t *testing.T) {
	b := testkit.Bus(t)
	create(t, b, "a", []byte("spec"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if all, err := b.ListQueries(ctx); err == nil {
		t.Errorf("listed %v without an error after its context had ended", all)
	}
}

func TestTheWatchOfQueriesTellsWhatStandsThenEachChange(t *testing.T) {
	b := testkit.Bus(t)
	create(t, b, "a", []byte("spec"))
	r := &tracker{}
	testkit.Run(t, func(ctx context.Context) error {
		return b.WatchQueries(ctx, func(id string, q *messages.Query, revision uint64, err error) {
			switch {
			case err != nil:
				r.say("%s unreadable", id)
			case q == nil:
				r.say("%s removed", id)
			default:
				r.say("%s %s", id, q.State)
			}
			if revision == 0 {
				t.Errorf("%s without a revision", id)
			}
		}, func() { r.say("caught up") })
	})
	expectSaid(t, r, "a running", "caught up")
	create(t, b, "b", []byte("spec"))
	q, revision, err := b.LoadQuery(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	q.State = messages.Cancelled
	if _, err := b.SaveQuery(t.Context(), q, revision); err != nil {
		t.Fatal(err)
	}
	expectSaid(t, r, "a running", "caught up", "b running", "a cancelled")
	if err := b.RemoveQuery(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if _, err := b.JetStream().Publish(t.Context(), "$KV.braid_queries.query.bad", []byte("{")); err != nil {
		t.Fatal(err)
	}
	expectSaid(t, r, "a running", "caught up", "b running", "a cancelled", "a removed", "bad unreadable")
}

func TestARemovedQueryLeavesNothingInTheStreams(t *testing.T) {
	b := testkit.Bus(t)
	q := create(t, b, "q", []byte("spec"))
	create(t, b, "stays", []byte("another"))
	for _, id := range []string{"q", "stays"} {
		publish(t, b, testkit.Item(id, 1))
		mustCommit(t, b, "attempt-"+id, testkit.Header(id, 0, 1), noise(1<<20))
		err := b.PublishInterruption(t.Context(), &messages.Interruption{
			V: 1, Query: id, Run: 1, Position: "1", Service: "rivers", Kind: messages.HandedBack, Worker: "w1",
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.SaveProgress(t.Context(), &messages.Progress{V: 1, Query: id, Run: 1}); err != nil {
			t.Fatal(err)
		}
	}
	before := map[string]uint64{}
	for _, stream := range []string{"ITEMS", "RESULTS", "PARTS", "EVENTS"} {
		before[stream] = stored(t, b, stream)
	}
	if err := b.RemoveQuery(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	for stream, n := range before {
		if now := stored(t, b, stream); now != n/2 {
			t.Errorf("%s holds %d messages of %d, want the other query's half", stream, now, n)
		}
	}
	if _, err := b.LoadProgress(t.Context(), "q"); !errors.Is(err, messages.ErrNotFound) {
		t.Errorf("progress: %v, want ErrNotFound", err)
	}
	if _, _, err := b.Result(t.Context(), "stays", "0"); err != nil {
		t.Errorf("the other query's result: %v", err)
	}
}

func TestDefinitionsAreStoredOnceUnderTheirDigest(t *testing.T) {
	b := testkit.Bus(t)
	text := noise(600 << 10)
	digest := testkit.Digest(string(text))
	for range 2 {
		if err := b.PutDefinition(t.Context(), digest, text); err != nil {
			t.Fatal(err)
		}
	}
	if again, err := b.Definition(t.Context(), digest); err != nil || !bytes.Equal(again, text) {
		t.Errorf("%d bytes came back of %d, %v", len(again), len(text), err)
	}
	if _, err := b.Definition(t.Context(), testkit.Digest("another")); !errors.Is(err, messages.ErrNotFound) {
		t.Errorf("an unknown digest gave %v, want ErrNotFound", err)
	}
}

func TestAServicesRecordIsChangedByOneAtATime(t *testing.T) {
	b := testkit.Bus(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			err := b.UpdateService(t.Context(), "rivers", func(have *messages.Service) *messages.Service {
				next := messages.Service{V: 1, Name: "rivers", Slots: 1, LeaseTTL: time.Second}
				if have != nil {
					next.Slots = have.Slots + 1
				}
				return &next
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	seen := make(chan int, 100)
	testkit.Run(t, func(ctx context.Context) error {
		return b.WatchServices(ctx, func(s *messages.Service, err error) {
			if err != nil {
				t.Error(err)
				return
			}
			seen <- s.Slots
		})
	})
	if slots := testkit.Receive(t, "the service's record", seen); slots != 8 {
		t.Errorf("8 changes made %d slots of it", slots)
	}
	err := b.UpdateService(t.Context(), "rivers", func(*messages.Service) *messages.Service { return nil })
	if err != nil {
		t.Error(err)
	}
}

func TestAGateKeepsItsLatestTime(t *testing.T) {
	b := testkit.Bus(t)
	if g, err := b.Gate(t.Context(), "rivers"); g != nil || err != nil {
		t.Fatalf("a gate that was never closed is %+v, %v", g, err)
	}
	now := time.Now().UTC()
	for _, after := range []time.Duration{time.Minute, time.Hour, time.Second} {
		err := b.CloseGate(t.Context(), &messages.Gate{V: 1, Service: "rivers", Until: now.Add(after), Reason: after.String(), Worker: "w1", At: now})
		if err != nil {
			t.Fatal(err)
		}
	}
	g, err := b.Gate(t.Context(), "rivers")
	if err != nil || !g.Until.Equal(now.Add(time.Hour)) || g.Reason != "1h0m0s" {
		t.Errorf("the gate is %+v, %v; want it closed for an hour", g, err)
	}
	seen := make(chan time.Time, 10)
	testkit.Run(t, func(ctx context.Context) error {
		return b.WatchGates(ctx, func(g *messages.Gate, err error) {
			if err != nil {
				t.Error(err)
				return
			}
			seen <- g.Until
		})
	})
	if until := testkit.Receive(t, "the gate", seen); !until.Equal(now.Add(time.Hour)) {
		t.Errorf("the watch tells %v", until)
	}
}

func TestAWorkerThatFallsSilentIsGone(t *testing.T) {
	t.Parallel()
	b := testkit.Bus(t)
	me := &messages.Worker{V: 1, ID: "w1", Host: "here", Version: "1", Concurrency: 2}
	other := &messages.Worker{V: 1, ID: "w2", Host: "there", Version: "1", Concurrency: 2}
	for _, w := range []*messages.Worker{me, other} {
		if err := b.SaveWorker(t.Context(), w, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.SaveWorker(t.Context(), me, time.Second); err != nil {
		t.Fatal(err)
	}
	count := func() int {
		all, err := b.ListWorkers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	if n := count(); n != 2 {
		t.Fatalf("%d workers are there, want 2", n)
	}
	testkit.Until(t, "the silent worker is gone", func() bool { return count() == 1 })
	if err := b.RemoveWorker(t.Context(), "w2", ""); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 0 {
		t.Errorf("%d workers are there after the last has left", n)
	}
}

func TestTheStoreOfSlotsKeepsTheContractOfLeases(t *testing.T) {
	t.Parallel()
	// The subtests run in parallel, each with a bucket of its own: keys are few and the same in all.
	leasetest.Run(t, func(t *testing.T) lease.Store { return testkit.Bus(t).Leases() })
}

func TestLeaderAndSlotsDoNotShareKeys(t *testing.T) {
	b := testkit.Bus(t)
	if _, err := b.Leader().Put(t.Context(), "coordinator.0", []byte("me"), 0, 0); err != nil {
		t.Fatal(err)
	}
	if e, err := b.Leases().Get(t.Context(), "coordinator.0"); err != nil || e.Revision != 0 {
		t.Errorf("the slots' store says %+v, %v", e, err)
	}
}

func TestASpecOfMoreThanItsBoundIsRefused(t *testing.T) {
	b := testkit.Bus(t)
	if err := b.CreateQuery(t.Context(), testkit.Query("q", 1), make([]byte, 65<<20)); err == nil {
		t.Error("a spec of 65 MB was stored")
	}
	if _, _, err := b.LoadQuery(t.Context(), "q"); !errors.Is(err, messages.ErrNotFound) {
		t.Errorf("the query exists: %v", err)
	}
}

func TestALostBucketOfSlotsGrantsNothingForOneTTL(t *testing.T) {
	b := testkit.Bus(t)
	store := b.Leases()
	open := func() {
		t.Helper()
		if _, err := store.Watch(t.Context(), "svc."); err != nil {
			t.Fatal(err)
		}
	}
	open() // the first look refuses nothing, however young the bucket is
	if _, err := store.Put(t.Context(), "svc.0", []byte("x"), 0, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := b.JetStream().DeleteStream(t.Context(), "KV_braid_leases"); err != nil {
		t.Fatal(err)
	}
	if err := b.Ensure(t.Context(), bus.AssetConfig{}); err != nil {
		t.Fatal(err)
	}
	open()
	open() // however often it is looked at
	if _, err := store.Put(t.Context(), "svc.0", []byte("y"), 0, time.Minute); !errors.Is(err, messages.ErrUnreachable) {
		t.Errorf("a slot whose lease may still be trusted was granted: %v", err)
	}
	testkit.Until(t, "the lost leases have ended", func() bool {
		_, err := store.Put(t.Context(), "svc.0", []byte("y"), 0, time.Second)
		return err == nil
	})
}

func TestWithoutAConnectionEachCallSaysSoAtOnce(t *testing.T) {
	server, err := bus.StartServer(t.Context(), bus.ServerConfig{Dir: t.TempDir(), Durability: bus.Fast})
	if err != nil {
		t.Fatal(err)
	}
	b, err := bus.Connect(t.Context(), bus.Config{Server: server})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if err := b.Ensure(t.Context(), bus.AssetConfig{}); err != nil {
		t.Fatal(err)
	}
	q := create(t, b, "q", []byte("spec"))
	if err := b.Ready(t.Context()); err != nil {
		t.Errorf("ready: %v", err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	testkit.Until(t, "the connection is lost", func() bool { return !b.Connected() })
	testkit.Until(t, "readiness to follow", func() bool { return b.Ready(t.Context()) != nil })
	for name, call := range map[string]func() error{
		"load":   func() error { _, _, err := b.LoadQuery(t.Context(), "q"); return err },
		"list":   func() error { _, err := b.ListQueries(t.Context()); return err },
		"save":   func() error { _, err := b.SaveQuery(t.Context(), q, 1); return err },
		"create": func() error { return b.CreateQuery(t.Context(), q, []byte("spec")) },
		"remove": func() error { return b.RemoveWorker(t.Context(), "w", "") },
		"quotas": func() error { _, err := b.ListQuotas(t.Context()); return err },
		"store":  func() error { _, _, err := b.ResultStore(t.Context()); return err },
		"result": func() error { _, _, err := b.Result(t.Context(), "q", "0"); return err },
		"purge":  func() error { return b.PurgeItems(t.Context(), "s", "q") },
		"queue":  func() error { _, err := b.Queue(t.Context(), "s"); return err },
		"ready":  func() error { return b.Ready(t.Context()) },
		"publish": func() error {
			_, err := b.PublishItems(t.Context(), []*messages.Item{testkit.Item("q", 0)})
			return err
		},
		"ready again": func() error { return b.Ready(t.Context()) },
	} {
		began := time.Now()
		err := call()
		if !errors.Is(err, messages.ErrUnreachable) || !strings.Contains(err.Error(), "no connection") {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}
