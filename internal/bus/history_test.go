package bus_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/lease/leasetest"
	"github.com/braidhq/braid/pkg/messages"
)

func TestHistoriesOfSlotsInTheRealStoreAreThoseOfSlots(t *testing.T) {
	t.Parallel()
	const slots, members, callers, ttl = 2, 3, 2, time.Second
	b := testkit.Bus(t)
	ctx, cancel := context.WithTimeout(t.Context(), 8*ttl)
	defer cancel()
	var history leasetest.History
	var all sync.WaitGroup
	var ways []*leasetest.Faulty
	for p := range members {
		way := leasetest.NewFaulty(b.Leases(), func(leasetest.Call, string) leasetest.Fault {
			switch some := time.Duration(rand.Int64N(int64(ttl))); rand.IntN(12) {
			case 0:
				return leasetest.Fault{Lose: true}
			case 1:
				return leasetest.Fault{Late: some}
			case 2:
				return leasetest.Fault{Slow: some}
			default:
				return leasetest.Fault{}
			}
		})
		ways = append(ways, way)
		s := leasetest.Start(t, way, "svc", lease.Config{Slots: slots, Holder: fmt.Sprint("p", p), TTL: ttl})
		for c := range callers {
			all.Go(func() {
				history.Work(ctx, p*callers+c, s, func() time.Duration { return time.Duration(rand.Int64N(int64(ttl) * 3 / 2)) })
			})
		}
	}
	all.Wait()
	for _, way := range ways {
		way.Wait()
	}
	if n := history.Check(t, slots); n < 5 {
		t.Errorf("slots were taken %d times only", n)
	}
}

// What is done to a position that is written once.
type (
	commits struct{ attempt string }
	reads   struct{}
)

// The answers to a commit beside nil.
const (
	was     = "there was one"
	unknown = "unknown"
)

// writtenOnce is a register that takes one value, ever.
func writtenOnce() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{""} },
		Step: func(state, input, output any) []any {
			c, writes := input.(commits)
			switch {
			case !writes && output == state:
				return []any{state}
			case writes && output == unknown && state == "":
				return []any{"", c.attempt}
			case writes && output == unknown:
				return []any{state}
			case writes && output == was && state != "" && state != c.attempt:
				return []any{state}
			case writes && output == "" && state == "":
				return []any{c.attempt}
			}
			return nil
		},
	}
	return m.ToModel()
}

func TestHistoriesOfAPositionAreThoseOfARegisterThatIsWrittenOnce(t *testing.T) {
	t.Parallel()
	const positions, writers = 12, 4
	server := testkit.ServerOn(t, bus.ServerConfig{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	testkit.Join(t, server)
	cuts := &cutting{target: strings.TrimPrefix(server.ClientURL(), "nats://"), links: map[net.Conn]struct{}{}}
	address := cuts.serve(t)
	var all []*bus.Bus
	for range writers {
		all = append(all, testkit.Connect(t, bus.Config{URL: "nats://" + address}))
	}
	over := make(chan struct{})
	var cutter sync.WaitGroup
	cutter.Go(func() { cuts.often(over) })
	histories := make([][]porcupine.Operation, positions)
	var contests sync.WaitGroup
	for p := range positions {
		contests.Go(func() { histories[p] = contend(t, all, messages.PositionAt(p), cuts) })
	}
	contests.Wait()
	outcomes := map[string]int{}
	for p, ops := range histories {
		for _, op := range ops {
			if text, ok := op.Output.(string); ok && (text == was || text == unknown || text == "") {
				outcomes[text]++
			}
		}
		if !porcupine.CheckOperations(writtenOnce(), ops) {
			t.Errorf("position %d was not written once: %+v", p, ops)
		}
	}
	close(over)
	cutter.Wait()
	if outcomes[was] == 0 || cuts.made == 0 {
		t.Errorf("nobody lost a race (%v), or nothing was cut (%d): the test shows nothing", outcomes, cuts.made)
	}
	t.Logf("%v, %d connections cut", outcomes, cuts.made)
}

// contend lets all write one position and read it, and gives what they did.
func contend(t *testing.T, all []*bus.Bus, p messages.Position, cuts *cutting) []porcupine.Operation {
	t.Helper()
	var mu sync.Mutex
	var ops []porcupine.Operation
	start := time.Now()
	var working sync.WaitGroup
	for i, b := range all {
		working.Go(func() {
			attempt := fmt.Sprintf("a%d", i)
			// An answer that was cut off is waited for for five seconds: some have the time to ask again, others end unsure.
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(500+rand.IntN(10_000))*time.Millisecond)
			defer cancel()
			call := time.Since(start).Nanoseconds()
			w := b.NewResult("q", attempt)
			err := w.Write(ctx, []byte("{\"n\":1}\n"))
			if err == nil {
				h := testkit.Header("q", p.Index(), 1)
				if rand.IntN(8) == 0 {
					cuts.soon()
				}
				err = w.Commit(ctx, h)
			}
			op := porcupine.Operation{ClientId: i, Input: commits{attempt}, Output: "", Call: call, Return: time.Since(start).Nanoseconds()}
			switch {
			case errors.Is(err, messages.ErrExists):
				op.Output = was
			case err != nil:
				op.Output, op.Return = unknown, int64(time.Hour) // it may land yet
			}
			read := porcupine.Operation{ClientId: i, Input: reads{}, Call: time.Since(start).Nanoseconds()}
			found, _, err := b.Result(t.Context(), "q", p)
			read.Return = time.Since(start).Nanoseconds()
			mu.Lock()
			defer mu.Unlock()
			ops = append(ops, op)
			switch {
			case err == nil:
				read.Output = found.Attempt
				ops = append(ops, read)
			case errors.Is(err, messages.ErrNotFound):
				read.Output = ""
				ops = append(ops, read)
			default: // it could not be read just now, which says nothing
			}
		})
	}
	working.Wait()
	return ops
}

// cutting is a way to a server whose connections are cut, so that answers are lost.
type cutting struct {
	target string

	mu    sync.Mutex // guards all below
	links map[net.Conn]struct{}
	made  int

	mute atomic.Bool // what the server says is swallowed
}

func (c *cutting) serve(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := new(net.Dialer).DialContext(context.Background(), "tcp", c.target)
			if err != nil {
				_ = near.Close()
				continue
			}
			c.mu.Lock()
			c.links[near], c.links[far] = struct{}{}, struct{}{}
			c.mu.Unlock()
			pass := func(to io.Writer, from io.Reader) {
				_, _ = io.Copy(to, from) // ends when either side is cut
				_, _ = near.Close(), far.Close()
			}
			all.Go(func() { pass(audible{near, &c.mute}, far) })
			all.Go(func() { pass(far, near) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		c.cut()
		all.Wait()
	})
	return listener.Addr().String()
}

// audible passes on what is written to it, unless it is mute.
type audible struct {
	to   io.Writer
	mute *atomic.Bool
}

// Write is io.Writer's.
func (a audible) Write(p []byte) (int, error) {
	if a.mute.Load() {
		return len(p), nil
	}
	return a.to.Write(p)
}

// As when the server that was to answer dies, and the one that the connection is to does not.
func TestAReadThatIsNeverAnsweredEnds(t *testing.T) {
	t.Parallel()
	server := testkit.ServerOn(t, bus.ServerConfig{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	testkit.Join(t, server)
	way := &cutting{target: strings.TrimPrefix(server.ClientURL(), "nats://"), links: map[net.Conn]struct{}{}}
	b := testkit.Connect(t, bus.Config{URL: "nats://" + way.serve(t)})
	way.mute.Store(true)
	ended := make(chan error, 1)
	go func() {
		_, err := b.Leases().Get(context.WithoutCancel(t.Context()), "svc.0")
		ended <- err
	}()
	if err := testkit.Receive(t, "end of the read", ended); !errors.Is(err, messages.ErrUnreachable) {
		t.Errorf("the read gave %v", err)
	}
	way.cut() // and so the connection is made anew
	way.mute.Store(false)
}

func (c *cutting) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.links {
		_ = conn.Close()
		delete(c.links, conn)
		c.made++
	}
}

// soon cuts in a moment in which an answer may be on its way.
func (c *cutting) soon() {
	time.AfterFunc(time.Duration(rand.IntN(800))*time.Microsecond, c.cut)
}

func (c *cutting) often(over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(1000+rand.IntN(2000)) * time.Millisecond):
			c.cut()
		}
	}
}
