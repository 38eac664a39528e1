//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/messages"
)

// observer looks at NATS past the proxies, with no eyes of ours.
type observer struct {
	nc *nats.Conn
	js jetstream.JetStream
}

func newObserver(t *testing.T, urls []string) *observer {
	t.Helper()
	closed := make(chan struct{})
	nc, err := nats.Connect(strings.Join(urls, ","), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond),
		nats.ReconnectJitter(0, 0), nats.RetryOnFailedConnect(true), nats.PingInterval(500*time.Millisecond),
		nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		nc.Close()
		<-closed
	})
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return &observer{nc, js}
}

// held gives the leases of a bucket that stand, by key, as far as they can be read.
func (o *observer) held(bucket, name string, n int) (map[string]lease.Holding, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	stream, err := o.js.Stream(ctx, "KV_"+bucket)
	if err != nil {
		return nil, err
	}
	all := map[string]lease.Holding{}
	for i := range n {
		key := fmt.Sprintf("%s.%d", name, i)
		msg, err := stream.GetLastMsgForSubject(ctx, "$KV."+bucket+"."+key)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if h, err := lease.DecodeHolding(msg.Data); err == nil {
			all[key] = h
		}
	}
	return all, nil
}

// slotsOf gives the leases that a worker holds.
func (o *observer) slotsOf(worker string) (map[string]bool, error) {
	all, err := o.held("braid_leases", service, slots)
	ids := map[string]bool{}
	for _, h := range all {
		if h.Worker == worker {
			ids[h.Lease] = true
		}
	}
	return ids, err
}

// leader gives the lease of the coordinator that leads.
func (o *observer) leader() (lease.Holding, error) {
	all, err := o.held("braid_leader", "coordinator", 1)
	return all["coordinator.0"], err
}

// until asks again and again until ok, and gives how long that took; limit when it was not.
func until(limit time.Duration, ok func() bool) time.Duration {
	start := time.Now()
	for !ok() && time.Since(start) < limit {
		<-time.After(25 * time.Millisecond)
	}
	return min(limit, time.Since(start))
}

// commit is a result as it stands in the stream.
type commit struct {
	header *messages.ResultHeader
	at     time.Time
	seq    uint64
}

// commits reads all messages of the results' stream. doubled names the positions that have more than one.
func (o *observer) commits(t *testing.T, query string) (all map[messages.Position]commit, doubled []string) {
	t.Helper()
	all = map[messages.Position]commit{}
	stream, err := o.js.Stream(t.Context(), "RESULTS")
	if err != nil {
		t.Fatal(err)
	}
	state := stream.CachedInfo().State
	for seq := state.FirstSeq; seq <= state.LastSeq; seq++ {
		msg, err := stream.GetMsg(t.Context(), seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			t.Fatalf("read the results: %v", err)
		}
		if !strings.HasPrefix(msg.Subject, "braid.result."+query+".") {
			continue
		}
		h, err := messages.DecodeResultHeader([]byte(msg.Header.Get("Braid-Result")))
		if err != nil {
			t.Errorf("a result that cannot be read: %v", err)
			continue
		}
		if _, twice := all[h.Position]; twice {
			doubled = append(doubled, string(h.Position))
		}
		all[h.Position] = commit{h, msg.Time, seq}
	}
	return all, doubled
}

// items reads what is in the queue.
func (o *observer) items() ([]*messages.Item, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	stream, err := o.js.Stream(ctx, "ITEMS")
	if err != nil {
		return nil, err
	}
	var all []*messages.Item
	state := stream.CachedInfo().State
	for seq := state.FirstSeq; seq <= state.LastSeq; seq++ {
		msg, err := stream.GetMsg(ctx, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		item, err := messages.DecodeItem(msg.Data)
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

// publish queues items once more as a coordinator does that has heard nothing of them, and gives how many were taken.
func (o *observer) publish(items []*messages.Item) int {
	taken := 0
	for _, item := range items {
		item.Recheck = true
		data, err := item.Encode()
		if err != nil {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		if _, err := o.js.Publish(ctx, fmt.Sprintf("braid.item.%s.%s.%s", item.Service, item.Query, item.Position), data); err == nil {
			taken++
		}
		cancel()
	}
	return taken
}

// handBack listens for a while to which items are given to workers, and hands them back in their name.
func (o *observer) handBack(listen time.Duration) (int, error) {
	var mu sync.Mutex
	var acks []string
	sub, err := o.nc.Subscribe("_INBOX.>", func(msg *nats.Msg) {
		if strings.HasPrefix(msg.Reply, "$JS.ACK.ITEMS.") {
			mu.Lock()
			defer mu.Unlock()
			acks = append(acks, msg.Reply)
		}
	})
	if err != nil {
		return 0, err
	}
	<-time.After(listen)
	err = sub.Unsubscribe()
	mu.Lock()
	defer mu.Unlock()
	for _, ack := range acks {
		err = errors.Join(err, o.nc.Publish(ack, []byte("-NAK")))
	}
	return len(acks), errors.Join(err, o.nc.Flush())
}
