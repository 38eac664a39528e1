package bus_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/load"
)

// roles starts a server with the users of deploy/nats, and gives who connects as a role.
func roles(t *testing.T) func(role string) *bus.Bus {
	t.Helper()
	dir := t.TempDir()
	users, err := filepath.Abs("../../deploy/nats/users.conf")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(users)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "server.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, "listen: \"127.0.0.1:-1\"\njetstream { store_dir: %q }\n%s", dir, text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"coordinator", "worker", "monitor", "admin", "sys"} {
		user, err := nkeys.CreateUser()
		if err != nil {
			t.Fatal(err)
		}
		public, err := user.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		seed, err := user.Seed()
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("BRAID_"+strings.ToUpper(role)+"_NKEY", public)
		if err := os.WriteFile(filepath.Join(dir, role+".nk"), seed, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opts, err := server.ProcessConfigFile(config)
	if err != nil {
		t.Fatal(err)
	}
	opts.NoSigs, opts.NoLog = true, true
	s, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start() // ends with the shutdown below
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(testkit.Patience) {
		t.Fatal("the server does not start")
	}
	return func(role string) *bus.Bus {
		b, err := bus.Connect(t.Context(), bus.Config{URL: s.ClientURL(), NKey: filepath.Join(dir, role+".nk"), Inbox: "_INBOX_" + role})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return b
	}
}

func sampleRun(id string) *load.Run {
	return &load.Run{V: 1, ID: id, Environment: "dashboards", State: load.Running, Slots: 2, Total: 3, Profile: load.Profile{V: 1, ID: "p1", Revision: 1, Environment: "dashboards"}}
}

func TestRolesDoWhatLoadRunsNeedAndNoMore(t *testing.T) {
	as := roles(t)
	lead, work := as("coordinator"), as("worker")
	ctx := t.Context()
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	must("make the streams", lead.Ensure(ctx, bus.AssetConfig{}))
	must("find the streams", work.Present(ctx))
	run := sampleRun("run1")
	_, err := lead.SaveProfile(ctx, &run.Profile, 0)
	must("profile", err)
	must("snapshot", lead.PutSnapshot(ctx, &load.Snapshot{V: 1, ID: testkit.Digest("s"), Environment: "dashboards"}))
	must("selection", lead.PutSelection(ctx, "run1", &load.Selection{V: 1}))
	must("queue", lead.EnsureRunQueue(ctx, run, time.Minute))
	must("items", lead.PublishLoadItems(ctx, []*load.Item{{V: 1, Run: "run1"}, {V: 1, Run: "run1", Number: 1}}))
	_, err = lead.SaveRun(ctx, run, 0)
	must("run", err)

	seen := make(chan string, 8)
	testkit.Run(t, func(ctx context.Context) error {
		return work.WatchRuns(ctx, func(id string, _ *load.Run, _ uint64) { seen <- id }, func() {})
	})
	if id := testkit.Receive(t, "word of the run", seen); id != "run1" {
		t.Errorf("got %s", id)
	}
	_, err = work.Snapshot(ctx, testkit.Digest("s"))
	must("read the snapshot", err)
	_, err = work.Selection(ctx, "run1")
	must("read the selection", err)
	queue, err := work.RunQueue(ctx, "run1")
	must("open the queue", err)
	d, err := queue.TakeOne(ctx, 10*time.Second, func(err error) { t.Error(err) })
	must("take", err)
	must("admit", work.Admit(ctx, admission("run1", d.Item.Number, d.Attempt, "w1"), 0))
	must("record", work.PublishExecution(ctx, execution("run1", d.Item.Number, d.Attempt)))
	must("acknowledge", d.Done(ctx))
	_, err = work.Execution(ctx, "run1", 0)
	must("read the record", err)
	_, err = work.Tokens().Save(ctx, "key", []byte("ciphertext"), 0, time.Minute)
	must("keep a session", err)
	clock := work.StreamClock()
	if !clock.Measure(ctx) {
		t.Error("the stream's clock cannot be read")
	}

	testkit.Run(t, func(ctx context.Context) error {
		return work.ServeLookUps(ctx, func(string) bool { return true }, func(_ context.Context, l *load.LookUp) (*load.Snapshot, error) {
			return &load.Snapshot{V: 1, ID: testkit.Digest("s"), Environment: l.Environment, Title: "found"}, nil
		})
	})
	s, err := lead.LookUp(ctx, &load.LookUp{V: 1, ID: "e1", Environment: "dashboards", Definition: testkit.Digest("d"), Dashboard: "7", Expires: lead.Now().Add(time.Minute)})
	must("look up", err)
	if s.Title != "found" {
		t.Errorf("%+v", s)
	}

	must("close", lead.CloseIntake(ctx, "run1"))
	if err := work.Admit(ctx, admission("run1", 1, 1, "w1"), 0); !errors.Is(err, load.ErrIntakeClosed) {
		t.Errorf("after the close: %v", err)
	}
	must("purge", lead.PurgeRun(ctx, "run1"))
	must("seal", lead.SealRun(ctx, "run1"))
	if err := work.PublishExecution(ctx, execution("run1", 1, 1)); !errors.Is(err, load.ErrSealed) {
		t.Errorf("after the seal: %v", err)
	}
	records := 0
	reading, stop := context.WithCancel(ctx)
	must("track", lead.TrackRun(reading, "run1", load.RunTracker{
		Admission: func(*load.Admission, uint64) { records++ }, Execution: func(*load.Execution, uint64, time.Time) { records++ },
		Bad: func(_ uint64, err error) { t.Error(err) }, CaughtUp: stop,
	}))
	if records != 2 {
		t.Errorf("%d records", records)
	}
	must("remove", lead.RemoveRun(ctx, "run1"))

	brief, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	if err := work.CloseIntake(brief, "run2"); err == nil {
		t.Error("a worker closed an intake")
	}
	if _, err := work.SaveRun(brief, sampleRun("run2"), 0); err == nil {
		t.Error("a worker wrote a run")
	}
	if err := lead.Admit(brief, admission("run2", 0, 1, "w1"), 0); err == nil {
		t.Error("a coordinator admitted an execution")
	}
	if _, _, err := lead.Tokens().Load(brief, "key"); err == nil {
		t.Error("a coordinator read a session")
	}
}

// execution is a record as short as one can be.
func execution(run string, number, attempt int) *load.Execution {
	return &load.Execution{V: 1, Run: run, Number: number, Attempt: attempt, Outcome: load.Success, Worker: "w1", Taken: time.Now(), Finished: time.Now()}
}
