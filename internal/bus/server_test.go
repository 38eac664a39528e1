package bus_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

// freePort is an address on loopback that nobody listens on now.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func TestADataDirectoryServesOneServerAtATime(t *testing.T) {
	dir := t.TempDir()
	first, err := bus.StartServer(t.Context(), bus.ServerConfig{Dir: dir, Durability: bus.Fast})
	if err != nil {
		t.Fatal(err)
	}
	_, err = bus.StartServer(t.Context(), bus.ServerConfig{Dir: dir, Durability: bus.Fast})
	if holder := fmt.Sprintf("(process %d)", os.Getpid()); !errors.Is(err, bus.ErrDirInUse) || !strings.Contains(err.Error(), holder) {
		t.Errorf("a second server gave %v, want ErrDirInUse with %s", err, holder)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	testkit.ServerOn(t, bus.ServerConfig{Dir: dir})
}

func TestADirectoryIsReleasedWhenTheServerDoesNotStart(t *testing.T) {
	dir := t.TempDir()
	if _, err := bus.StartServer(t.Context(), bus.ServerConfig{Dir: dir, Listen: "nonsense"}); !errors.Is(err, bus.ErrListen) {
		t.Fatalf("got %v, want ErrListen", err)
	}
	testkit.ServerOn(t, bus.ServerConfig{Dir: dir})
}

func TestWhatCannotBeADataDirectoryIsSaidSo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("not a directory"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"a file": file, "below a file": filepath.Join(file, "data")} {
		t.Run(name, func(t *testing.T) {
			_, err := bus.StartServer(t.Context(), bus.ServerConfig{Dir: dir})
			if !errors.Is(err, bus.ErrDir) || !strings.Contains(err.Error(), "--data-dir") {
				t.Errorf("got %v, want ErrDir with a way out", err)
			}
		})
	}
}

func TestAnAddressThatCannotBeListenedOnIsSaidSo(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for name, address := range map[string]string{
		"in use": taken.Addr().String(), "no port": "127.0.0.1", "no number": "127.0.0.1:nats", "too large": "127.0.0.1:70000",
		"not ours": "192.0.2.1:4222",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := bus.StartServer(t.Context(), bus.ServerConfig{Dir: t.TempDir(), Listen: address}); !errors.Is(err, bus.ErrListen) {
				t.Errorf("got %v, want ErrListen", err)
			}
		})
	}
}

func TestWithoutAnAddressNoPortIsOpen(t *testing.T) {
	if url := testkit.Server(t).ClientURL(); url != "" {
		t.Errorf("the server listens on %s", url)
	}
	listening := testkit.ServerOn(t, bus.ServerConfig{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	testkit.Connect(t, bus.Config{URL: listening.ClientURL()})
}

func TestAServerThatIsNotThereIsUnreachable(t *testing.T) {
	for name, url := range map[string]string{
		"nobody listens": "nats://me:s3cret@" + freePort(t),
		"several":        "nats://me:s3cret@" + freePort(t) + ",nats://me:s3cret@" + freePort(t),
		"not a URL":      "nats://me:s3cret@127.0.0.1:port",
		"control byte":   "nats://me:s3cret@127.0.0.1:4222/\x7f",
		"a token":        "nats://s3cret@" + freePort(t),
		"no scheme":      "me:s3cret@" + freePort(t),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := bus.Connect(t.Context(), bus.Config{URL: url, Timeout: time.Second})
			if !errors.Is(err, messages.ErrUnreachable) {
				t.Fatalf("got %v, want ErrUnreachable", err)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}

// fill commits results until the store refuses one.
func fill(t *testing.T, b *bus.Bus, size int) error {
	t.Helper()
	for i := range 10_000 {
		w := b.NewResult("q", fmt.Sprintf("attempt-%d", i))
		if err := w.Write(t.Context(), noise(size)); err != nil {
			return err
		}
		if err := w.Commit(t.Context(), testkit.Header("q", i, 1)); err != nil {
			return err
		}
	}
	t.Fatal("the store is never full")
	return nil
}

func TestAFullStoreIsToldWithAWayOut(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"inline": 400 << 10, "in parts": 2 << 20} {
		t.Run(name, func(t *testing.T) {
			server := testkit.Server(t)
			b, err := bus.Connect(t.Context(), bus.Config{Server: server})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(b.Close)
			if err := b.Ensure(t.Context(), bus.AssetConfig{Limits: bus.Limits{Results: 4 << 20, Parts: 8 << 20}}); err != nil {
				t.Fatal(err)
			}
			err = fill(t, b, size)
			if !errors.Is(err, messages.ErrStoreFull) || errors.Is(err, messages.ErrExists) || !strings.Contains(err.Error(), "free some space") {
				t.Fatalf("got %v, want ErrStoreFull with a way out", err)
			}
			if err := b.RemoveAttempt(t.Context(), "q", "0", "attempt-0"); err != nil {
				t.Fatalf("nothing can be removed from the full store: %v", err)
			}
			if err := commit(t, b, "after", testkit.Header("q", 0, 1), noise(size)); err != nil {
				t.Errorf("after space was made: %v", err)
			}
		})
	}
}

func TestAFullServerIsAFullStore(t *testing.T) {
	server := testkit.ServerOn(t, bus.ServerConfig{Dir: t.TempDir(), MaxStore: 4 << 20})
	b, err := bus.Connect(t.Context(), bus.Config{Server: server})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if err := b.Ensure(t.Context(), bus.AssetConfig{Limits: server.EmbeddedLimits()}); err != nil {
		t.Fatal(err)
	}
	if err := fill(t, b, 400<<10); !errors.Is(err, messages.ErrStoreFull) {
		t.Errorf("got %v, want ErrStoreFull", err)
	}
	// It is no disk that is full.
	err = server.Watch(t.Context())
	if !errors.Is(err, messages.ErrStoreFull) || strings.Contains(err.Error(), "free some space") {
		t.Errorf("the server ends with %v", err)
	}
	for _, want := range []string{"the stream RESULTS holds 1.", " of the 1.55 MB that it may", "--max-store 4.19 MB", "raise --max-store", "braid gc", "braid rm"} {
		if err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
}

func TestFullResultsDoNotChokeTheRest(t *testing.T) {
	server := testkit.ServerOn(t, bus.ServerConfig{Dir: t.TempDir(), MaxStore: 20 << 20})
	b, err := bus.Connect(t.Context(), bus.Config{Server: server})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if err := b.Ensure(t.Context(), bus.AssetConfig{Limits: server.EmbeddedLimits()}); err != nil {
		t.Fatal(err)
	}
	create(t, b, "q", []byte("spec"))
	if err := fill(t, b, 400<<10); !errors.Is(err, messages.ErrStoreFull) {
		t.Fatalf("got %v, want ErrStoreFull", err)
	}
	err = b.PublishInterruption(t.Context(), &messages.Interruption{
		V: 1, Query: "q", Run: 1, Position: "1", Service: "rivers", Kind: messages.ServiceInterrupted, Worker: "w1",
	})
	if err != nil {
		t.Errorf("publish an interruption: %v", err)
	}
	q, revision, err := b.LoadQuery(t.Context(), "q")
	if err != nil {
		t.Fatal(err)
	}
	q.State = messages.Interrupted
	if _, err := b.SaveQuery(t.Context(), q, revision); err != nil {
		t.Errorf("save the record: %v", err)
	}
}

func TestWhatIsStoredOutlivesTheServerEvenWithLessSpace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rows := noise(2 << 20)
	keep := func(maxStore int64, use func(*bus.Bus)) {
		server, err := bus.StartServer(t.Context(), bus.ServerConfig{Dir: dir, MaxStore: maxStore, Durability: bus.Fast})
		if err != nil {
			t.Fatal(err)
		}
		b, err := bus.Connect(t.Context(), bus.Config{Server: server})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Ensure(t.Context(), bus.AssetConfig{Limits: server.EmbeddedLimits()}); err != nil {
			t.Fatal(err)
		}
		use(b)
		b.Close()
		if err := server.Close(); err != nil {
			t.Fatal(err)
		}
	}
	keep(200<<20, func(b *bus.Bus) {
		create(t, b, "q", []byte("spec"))
		mustCommit(t, b, "first", testkit.Header("q", 0, 1), rows)
	})
	keep(50<<20, func(b *bus.Bus) {
		if _, again, err := b.Result(t.Context(), "q", "0"); err != nil || len(again) != len(rows) {
			t.Fatalf("%d bytes came back of %d, %v", len(again), len(rows), err)
		}
		if _, _, err := b.LoadQuery(t.Context(), "q"); err != nil {
			t.Error(err)
		}
		mustCommit(t, b, "second", testkit.Header("q", 1, 1), rows)
	})
}

func TestARestartOfTheServerIsSurvived(t *testing.T) {
	t.Parallel()
	dir, address := t.TempDir(), freePort(t)
	start := func() *bus.Server {
		server, err := bus.StartServer(t.Context(), bus.ServerConfig{Dir: dir, Listen: address, Durability: bus.Fast})
		if err != nil {
			t.Fatal(err)
		}
		return server
	}
	server := start()
	b := testkit.Connect(t, bus.Config{URL: server.ClientURL()})
	mustCommit(t, b, "before", testkit.Header("q", 0, 1), []byte("{}"))
	results := track(t, b, "q")
	expectSaid(t, results, "result 0", "caught up")
	queries := &tracker{}
	testkit.Run(t, func(ctx context.Context) error {
		for ctx.Err() == nil { // as its callers do: a watch that is lost is begun again
			_ = b.WatchQueries(ctx, func(id string, _ *messages.Query, _ uint64, _ error) { queries.say("%s", id) }, func() { queries.say("caught up") })
		}
		return nil
	})
	expectSaid(t, queries, "caught up")

	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	testkit.Until(t, "the loss is noticed", func() bool { return !b.Connected() })
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := b.PublishInterruption(short, &messages.Interruption{
		V: 1, Query: "q", Run: 1, Position: "0", Service: "rivers", Kind: messages.HandedBack, Worker: "w1",
	}); err == nil {
		t.Error("an event was stored without a server")
	}
	committed := make(chan error, 1)
	go func() {
		w := b.NewResult("q", "during")
		committed <- errors.Join(w.Write(t.Context(), noise(1<<20)), w.Commit(t.Context(), testkit.Header("q", 1, 1)))
	}()

	server = start()
	t.Cleanup(func() { _ = server.Close() })
	if err := testkit.Receive(t, "end of the commit", committed); err != nil {
		t.Fatalf("commit over a restart: %v", err)
	}
	expectSaid(t, results, "result 0", "caught up", "result 1")
	create(t, b, "q", []byte("spec"))
	testkit.Until(t, "the watch of queries tells of the new one", func() bool {
		said := queries.all()
		return said[len(said)-1] == "q" || len(said) > 1 && said[len(said)-2] == "q"
	})
	if _, _, err := b.Result(t.Context(), "q", "1"); err != nil {
		t.Error(err)
	}
	if err := b.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}
