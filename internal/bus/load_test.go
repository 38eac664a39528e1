package bus_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// random makes text that does not compress.
func random(n int) string {
	letters := make([]byte, n)
	for i := range letters {
		letters[i] = byte('!' + rand.IntN(90))
	}
	return strings.NewReplacer(`"`, "a", `\`, "b").Replace(string(letters))
}

func TestRecordsOfLoadRunsChangeByCompareAndSetAlone(t *testing.T) {
	b := testkit.Bus(t)
	ctx := t.Context()
	run := sampleRun("run1")
	revision, err := b.SaveRun(ctx, run, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.SaveRun(ctx, run, 0); !errors.Is(err, messages.ErrConflict) {
		t.Errorf("made twice: %v", err)
	}
	if _, err := b.SaveRun(ctx, run, revision+7); !errors.Is(err, messages.ErrConflict) {
		t.Errorf("another revision: %v", err)
	}
	run.State = load.Draining
	if _, err := b.SaveRun(ctx, run, revision); err != nil {
		t.Error(err)
	}
	if have, _, err := b.LoadRun(ctx, "run1"); err != nil || have.State != load.Draining {
		t.Errorf("%+v, %v", have, err)
	}
	if _, err := b.SaveApproval(ctx, &load.Approval{V: 1, ID: "a1", Reason: "release"}, 0); err != nil {
		t.Error(err)
	}
	profile := run.Profile
	revision, err = b.SaveProfile(ctx, &profile, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.PinSnapshot(ctx, "p1", 1, testkit.Digest("s")); err != nil {
		t.Error(err)
	}
	if id, err := b.PinnedSnapshot(ctx, "p1", 1); err != nil || id != testkit.Digest("s") {
		t.Errorf("%s, %v", id, err)
	}
	if err := b.RemoveProfile(ctx, "p1", revision+1); !errors.Is(err, messages.ErrConflict) {
		t.Errorf("another revision: %v", err)
	}
	if err := b.RemoveProfile(ctx, "p1", revision); err != nil {
		t.Error(err)
	}
	for what, err := range map[string]error{
		"profile": second(b.LoadProfile(ctx, "p1")), "run": second(b.LoadRun(ctx, "run2")), "approval": second(b.LoadApproval(ctx, "a2")),
		"progress": first(b.LoadRunProgress(ctx, "run1")), "pin": first(b.PinnedSnapshot(ctx, "p1", 1)), "snapshot": first(b.Snapshot(ctx, testkit.Digest("s"))),
		"selection": first(b.Selection(ctx, "run1")), "execution": first(b.Execution(ctx, "run1", 0)), "queue": first(b.RunQueue(ctx, "run1")),
		"removal": b.RemoveProfile(ctx, "p1", revision),
	} {
		if !errors.Is(err, messages.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := b.SaveProfile(ctx, &profile, 0); err == nil {
		t.Error("a marker stands in the place of a profile that was removed, whose revision is not 0")
	}
	approvals, err := b.ListApprovals(ctx)
	if err != nil || len(approvals) != 1 || approvals[0].Reason != "release" {
		t.Errorf("%v, %v", approvals, err)
	}
	if runs, err := b.ListRuns(ctx); err != nil || len(runs) != 1 {
		t.Errorf("%v, %v", runs, err)
	}
	if profiles, err := b.ListProfiles(ctx); err != nil || len(profiles) != 0 {
		t.Errorf("%v, %v", profiles, err)
	}
}

func first[T any](_ T, err error) error          { return err }
func second[T, U any](_ T, _ U, err error) error { return err }

func TestARunIsWatchedFromItsBeginningToItsRemoval(t *testing.T) {
	b := testkit.Bus(t)
	if _, err := b.SaveRun(t.Context(), sampleRun("run1"), 0); err != nil {
		t.Fatal(err)
	}
	seen, caught := make(chan *load.Run, 8), make(chan bool, 1)
	testkit.Run(t, func(ctx context.Context) error {
		return b.WatchRuns(ctx, func(_ string, r *load.Run, _ uint64) { seen <- r }, func() { caught <- true })
	})
	if r := testkit.Receive(t, "run", seen); r == nil || r.ID != "run1" {
		t.Errorf("%+v", r)
	}
	testkit.Receive(t, "mark that all was seen", caught)
	if err := b.RemoveRun(t.Context(), "run1"); err != nil {
		t.Fatal(err)
	}
	if r := testkit.Receive(t, "removal", seen); r != nil {
		t.Errorf("%+v", r)
	}
	if err := b.RemoveRun(t.Context(), "run1"); err != nil {
		t.Errorf("again: %v", err)
	}
}

func TestFilesOfAnySizeAreStoredOnceAndReadWhole(t *testing.T) {
	b := testkit.Bus(t)
	ctx := t.Context()
	for _, size := range []int{0, 1 << 10, 128 << 10, 3 << 20} {
		s := &load.Snapshot{V: 1, ID: testkit.Digest(fmt.Sprint(size)), Environment: "dashboards", Title: random(size), Taken: time.Now()}
		for range 2 {
			if err := b.PutSnapshot(ctx, s); err != nil {
				t.Fatal(err)
			}
		}
		again := *s
		again.Taken = s.Taken.Add(time.Hour)
		if err := b.PutSnapshot(ctx, &again); err != nil {
			t.Errorf("the same content at another time: %v", err)
		}
		have, err := b.Snapshot(ctx, s.ID)
		if err != nil || have.Title != s.Title || !have.Taken.Equal(s.Taken) {
			t.Errorf("%d bytes: %v", size, err)
		}
		selection := &load.Selection{V: 1, Theoretical: random(size)}
		run := fmt.Sprintf("run%d", size)
		for range 2 {
			if err := b.PutSelection(ctx, run, selection); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.PutSelection(ctx, run, &load.Selection{V: 1, Cap: 7}); !errors.Is(err, messages.ErrConflict) {
			t.Errorf("another selection: %v", err)
		}
		if have, err := b.Selection(ctx, run); err != nil || have.Theoretical != selection.Theoretical {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	if err := b.RemoveRun(ctx, "run1024"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Selection(ctx, "run1024"); !errors.Is(err, messages.ErrNotFound) {
		t.Errorf("of a run that was removed: %v", err)
	}
	// A piece is gone, and the file with it.
	id := testkit.Digest(fmt.Sprint(3 << 20))
	s, err := b.JetStream().Stream(ctx, "LOAD")
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter("braid.load.snapshot."+id+".>"))
	if err != nil {
		t.Fatal(err)
	}
	for subject := range info.State.Subjects {
		if !strings.HasSuffix(subject, ".0") {
			if err := s.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if _, err := b.Snapshot(ctx, id); !errors.Is(err, messages.ErrDamaged) {
		t.Errorf("without one of its pieces: %v", err)
	}
}

func TestARunsItemsAreTakenInOrderAndComeAgainWhenNobodySpeaks(t *testing.T) {
	b := testkit.Bus(t)
	ctx := t.Context()
	if err := b.EnsureRunQueue(ctx, sampleRun("run1"), 500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	items := []*load.Item{{V: 1, Run: "run1", Number: 0}, {V: 1, Run: "run1", Number: 1, WarmUp: true}, {V: 1, Run: "run1", Number: 2}, {V: 1, Run: "run2", Number: 0}}
	for range 2 {
		if err := b.PublishLoadItems(ctx, items); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.JetStream().Publish(ctx, "braid.load.item.run1.77", []byte("nonsense")); err != nil {
		t.Fatal(err)
	}
	q, err := b.RunQueue(ctx, "run1")
	if err != nil {
		t.Fatal(err)
	}
	bad := 0
	take := func(wait time.Duration) *bus.LoadDelivery {
		t.Helper()
		d, err := q.TakeOne(ctx, wait, func(error) { bad++ })
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	var taken []int
	for range 3 {
		d := take(testkit.Patience)
		taken = append(taken, d.Item.Number)
		if d.Attempt != 1 || time.Since(d.Enqueued).Abs() > testkit.Patience || d.Item.WarmUp != (d.Item.Number == 1) {
			t.Errorf("%+v of %+v", d, d.Item)
		}
		if d.Item.Number != 1 {
			if err := d.Done(ctx); err != nil {
				t.Error(err)
			}
		}
	}
	if !slices.Equal(taken, []int{0, 1, 2}) {
		t.Errorf("they came as %v", taken)
	}
	if d := take(100 * time.Millisecond); d != nil || bad != 1 {
		t.Errorf("%+v, %d messages that are no items", d, bad)
	}
	d := take(testkit.Patience)
	if d.Item.Number != 1 || d.Attempt != 2 {
		t.Errorf("attempt %d of %d", d.Attempt, d.Item.Number)
	}
	if err := d.HandBack(); err != nil {
		t.Fatal(err)
	}
	if d = take(testkit.Patience); d.Attempt != 3 {
		t.Errorf("attempt %d", d.Attempt)
	}
	if err := b.PurgeRun(ctx, "run1"); err != nil {
		t.Fatal(err)
	}
	if err := d.Done(ctx); err != nil {
		t.Errorf("of what is purged: %v", err)
	}
	if d := take(time.Second); d != nil {
		t.Errorf("%+v came again", d.Item)
	}
}

func TestLR_6_7_OneRecordForANumberAndAttempt(t *testing.T) {
	b := testkit.Bus(t)
	ctx := t.Context()
	e := execution("run1", 3, 2)
	if err := b.PublishExecution(ctx, e); err != nil {
		t.Fatal(err)
	}
	if err := b.PublishExecution(ctx, execution("run1", 3, 2)); !errors.Is(err, messages.ErrExists) {
		t.Errorf("a second one: %v", err)
	}
	if err := b.PublishExecution(ctx, execution("run1", 3, 1)); err != nil {
		t.Errorf("of another attempt: %v", err)
	}
	if have, err := b.Execution(ctx, "run1", 3); err != nil || have.Attempt != 2 {
		t.Errorf("the first that was stored: %+v, %v", have, err)
	}
	if _, err := b.Execution(ctx, "run1", 33); !errors.Is(err, messages.ErrNotFound) {
		t.Errorf("of another number: %v", err)
	}
	for _, bad := range []*load.Execution{{}, execution("run1.x", 0, 1), execution("run1", -1, 1), execution("run1", 0, 0)} {
		if err := b.PublishExecution(ctx, bad); !errors.Is(err, messages.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if err := b.SealRun(ctx, "run1"); err != nil {
		t.Fatal(err)
	}
	if err := b.PublishExecution(ctx, execution("run1", 9, 1)); !errors.Is(err, load.ErrSealed) {
		t.Errorf("of a sealed run: %v", err)
	}
	if err := b.PublishExecution(ctx, execution("run2", 9, 1)); err != nil {
		t.Errorf("of another run: %v", err)
	}
}

func TestASampleThatAServerCannotCarryIsLeftOut(t *testing.T) {
	sample := json.RawMessage(`["` + random(250<<10) + `"]`)
	for payload, whole := range map[int32]bool{256 << 10: false, 1 << 20: true} {
		b := testkit.Connect(t, bus.Config{URL: small(t, payload)})
		e := execution("run1", 0, 1)
		e.Sample = sample
		if err := b.PublishExecution(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		have, err := b.Execution(t.Context(), "run1", 0)
		if err != nil || whole != bytes.Equal(have.Sample, sample) || have.Truncated == whole || len(e.Sample) != len(sample) {
			t.Errorf("%d: %d bytes of the sample, %v", payload, len(have.Sample), err)
		}
	}
}

func TestARunsRecordsComeInTheOrderInWhichTheyWereStored(t *testing.T) {
	b := testkit.Bus(t)
	ctx := t.Context()
	var want, have []string
	for n := range 20 {
		if err := b.Admit(ctx, admission("run1", n, 1, "w1"), n); err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprint("a", n))
		if n%3 == 0 {
			if err := b.PublishExecution(ctx, execution("run1", n, 1)); err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprint("e", n))
		}
		if err := b.PublishExecution(ctx, execution("run10", n, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.PutSelection(ctx, "run1", &load.Selection{V: 1, Theoretical: random(300 << 10)}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.JetStream().Publish(ctx, "braid.load.execution.run1.99.1", []byte("nonsense")); err != nil {
		t.Fatal(err)
	}
	reading, stop := context.WithCancel(ctx)
	bad, last := 0, uint64(0)
	rising := func(seq uint64) {
		if seq <= last {
			t.Errorf("%d after %d", seq, last)
		}
		last = seq
	}
	err := b.TrackRun(reading, "run1", load.RunTracker{
		Admission: func(a *load.Admission, seq uint64) { rising(seq); have = append(have, fmt.Sprint("a", a.Number)) },
		Execution: func(e *load.Execution, seq uint64, stored time.Time) {
			rising(seq)
			if time.Since(stored).Abs() > testkit.Patience {
				t.Errorf("stored at %v", stored)
			}
			have = append(have, fmt.Sprint("e", e.Number))
		},
		Bad: func(uint64, error) { bad++ }, CaughtUp: stop,
	})
	if err != nil || !slices.Equal(have, want) || bad != 1 {
		t.Errorf("%v, %d bad, %v", have, bad, err)
	}
}

func TestAnErrandOfAWorkerThatDiesGoesToAnother(t *testing.T) {
	server := testkit.Server(t)
	b := testkit.Join(t, server)
	all := func(string) bool { return true }
	taken := make(chan struct{}, 1)
	dying := testkit.Join(t, server)
	testkit.Run(t, func(ctx context.Context) error {
		_ = dying.ServeLookUps(ctx, all, func(ctx context.Context, _ *load.LookUp) (*load.Snapshot, error) {
			taken <- struct{}{}
			go dying.Close() // with the errand in hand
			<-ctx.Done()
			return nil, ctx.Err()
		}) // its connection is gone
		return nil
	})
	told := make(chan error, 1)
	go func() {
		s, err := b.LookUp(t.Context(), &load.LookUp{V: 1, ID: "e1", Environment: "dashboards", Definition: testkit.Digest("d"), Dashboard: "7", Expires: b.Now().Add(time.Minute)})
		if err == nil && len(s.Title) != 1<<20 {
			err = fmt.Errorf("a title of %d bytes", len(s.Title))
		}
		told <- err
	}()
	testkit.Receive(t, "errand", taken)
	other := testkit.Join(t, server)
	testkit.Run(t, func(ctx context.Context) error {
		return other.ServeLookUps(ctx, func(string) bool { return false }, func(context.Context, *load.LookUp) (*load.Snapshot, error) {
			t.Error("an errand of an environment that is not served")
			return nil, nil
		})
	})
	elsewhere := testkit.Join(t, server)
	testkit.Run(t, func(ctx context.Context) error {
		return elsewhere.ServeLookUps(ctx, all, func(context.Context, *load.LookUp) (*load.Snapshot, error) { return nil, load.ErrElsewhere })
	})
	title := random(1 << 20)
	third := testkit.Join(t, server)
	testkit.Run(t, func(ctx context.Context) error {
		return third.ServeLookUps(ctx, all, func(_ context.Context, l *load.LookUp) (*load.Snapshot, error) {
			return &load.Snapshot{V: 1, ID: testkit.Digest("s"), Environment: l.Environment, Title: title}, nil
		})
	})
	if err := testkit.Receive(t, "answer", told); err != nil {
		t.Error(err)
	}
}

func TestAnErrandWhoseAnswerCannotBeStoredIsAnswered(t *testing.T) {
	server := testkit.Server(t)
	b, worker := testkit.Join(t, server), testkit.Join(t, server)
	answers := map[string]*load.Snapshot{
		"of no version": {ID: testkit.Digest("s"), Environment: "dashboards"},
		"too large":     {V: 1, ID: testkit.Digest("s"), Environment: "dashboards", Title: strings.Repeat("x", load.MaxFileBytes)},
		"none":          nil,
	}
	testkit.Run(t, func(ctx context.Context) error {
		return worker.ServeLookUps(ctx, func(string) bool { return true }, func(_ context.Context, l *load.LookUp) (*load.Snapshot, error) {
			return answers[l.Dashboard], nil
		})
	})
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
		_, err := b.LookUp(ctx, &load.LookUp{V: 1, ID: testkit.Digest(name)[:8], Environment: "dashboards", Definition: testkit.Digest("d"), Dashboard: name, Expires: b.Now().Add(time.Hour)})
		cancel()
		if word, ok := errors.AsType[*load.LookUpError](err); !ok || word.Kind != "failed" || !strings.Contains(word.Message, "worker's answer") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASessionIsKeptForItsTimeByCompareAndSet(t *testing.T) {
	s := testkit.Bus(t).Tokens()
	ctx := t.Context()
	value, revision, err := s.Load(ctx, "key")
	if value != nil || revision != 0 || err != nil {
		t.Errorf("%q, %d, %v", value, revision, err)
	}
	revision, err = s.Save(ctx, "key", []byte("one"), 0, 200*time.Millisecond) // rounded up to a second
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Save(ctx, "key", []byte("two"), 0, time.Minute); !errors.Is(err, messages.ErrConflict) {
		t.Errorf("who was late: %v", err)
	}
	if value, have, err := s.Load(ctx, "key"); string(value) != "one" || have != revision || err != nil {
		t.Errorf("%q, %d, %v", value, have, err)
	}
	testkit.Until(t, "the session has expired", func() bool {
		value, _, err := s.Load(ctx, "key")
		return len(value) == 0 && err == nil
	})
	if _, revision, err = s.Load(ctx, "key"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Save(ctx, "key", []byte("three"), revision, time.Minute); err != nil {
		t.Errorf("after it has expired: %v", err)
	}
	for _, bad := range []error{
		first(s.Save(ctx, "a.b", nil, 0, time.Minute)), first(s.Save(ctx, "k", make([]byte, 1<<20), 0, time.Minute)), first(s.Save(ctx, "k", nil, 0, 0)), second(s.Load(ctx, "*")),
	} {
		if bad == nil {
			t.Error("took what it should refuse")
		}
	}
}

func TestTheStreamsClockIsKnownCloselyWhateverTheProcessBelieves(t *testing.T) {
	b := testkit.Bus(t)
	c := b.StreamClock()
	before, clock := c.At(time.Now())
	if time.Since(before).Abs() > time.Second || clock.Source != "stream" {
		t.Errorf("%v, %+v", before, clock)
	}
	b.Mistake(time.Hour)
	if !c.Measure(t.Context()) {
		t.Fatal("no answer")
	}
	now := time.Now()
	at, clock := c.At(now)
	if off := at.Sub(now).Abs(); off > clock.Within+time.Millisecond || clock.Within > time.Second || clock.Within <= 0 {
		t.Errorf("off by %v, %+v", off, clock)
	}
	if _, later := c.At(now.Add(time.Hour)); later.Within < clock.Within+300*time.Millisecond {
		t.Errorf("an hour later it is known within %v", later.Within)
	}
}

func TestAStoreOfAnEarlierVersionGetsTheStreamsOfLoadRunsHoweverFullItIs(t *testing.T) {
	dir := t.TempDir()
	server, err := bus.StartServer(t.Context(), bus.ServerConfig{Dir: dir, MaxStore: 100 << 20, Durability: bus.Fast})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	b, err := bus.Connect(t.Context(), bus.Config{Server: server})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if err := b.Ensure(t.Context(), bus.AssetConfig{Limits: bus.ShareStore(100 << 20)}); err != nil {
		t.Fatal(err)
	}
	for _, stream := range []string{"LOAD", "LOAD_ITEMS"} {
		if err := b.JetStream().DeleteStream(t.Context(), stream); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Present(t.Context()); !errors.Is(err, bus.ErrNoStreams) {
		t.Errorf("got %v", err)
	}
	// More than the server has.
	if err := b.Ensure(t.Context(), bus.AssetConfig{Limits: bus.Limits{Items: 1, Results: 1, Parts: 1, Events: 1, LoadItems: 1 << 60, Load: 1 << 60}}); err != nil {
		t.Fatal(err)
	}
	if have := config(t, b, "LOAD").MaxBytes; have != -1 {
		t.Errorf("LOAD may take %d", have)
	}
	if err := b.Present(t.Context()); err != nil {
		t.Error(err)
	}
}
