package bus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/load"
)

// startCluster starts three servers, and gives their addresses once they have a leader.
func startCluster(t *testing.T) (urls []string) {
	t.Helper()
	var routes []*url.URL
	var ports []int
	for range 3 { // each is to know the others before it starts
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := listener.Addr().(*net.TCPAddr)
		routes, ports = append(routes, &url.URL{Scheme: "nats", Host: address.String()}), append(ports, address.Port)
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var servers []*server.Server
	for i, port := range ports {
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprintf("n%d", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
			Cluster: server.ClusterOpts{Name: "braid", Host: "127.0.0.1", Port: port}, Routes: routes,
		})
		if err != nil {
			t.Fatal(err)
		}
		go s.Start() // ends with the shutdown below
		t.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
		servers = append(servers, s)
	}
	for _, s := range servers {
		if !s.ReadyForConnections(testkit.Patience) {
			t.Fatal("a server does not start")
		}
		urls = append(urls, s.ClientURL())
	}
	return urls
}

// The stream's leader changes and connections are made anew, whose answers are lost, while at each place of a run somebody admits and
// somebody else closes them.
func TestLR_7_6_InAClusterNothingIsAdmittedOnceIntakeIsClosed(t *testing.T) {
	if testing.Short() {
		t.Skip("three servers")
	}
	urls := startCluster(t)
	var buses []*bus.Bus
	for i := range 3 {
		buses = append(buses, connected(t, urls[i]))
	}
	testkit.Until(t, "three copies of the streams are made", func() bool {
		return buses[0].Ensure(t.Context(), bus.AssetConfig{Durability: bus.Cluster}) == nil
	})
	closer := connected(t, urls[0])
	begun := time.Now()
	for round := 0; round < 6 && (round == 0 || time.Since(begun) < 5*time.Second); round++ { // elections take long where there is little to elect with
		c := &crowd{run: fmt.Sprintf("run-%d", round)}
		ctx, calm := context.WithCancel(t.Context())
		upset := make(chan struct{})
		go func() {
			defer close(upset)
			for ctx.Err() == nil {
				_, _ = closer.Conn().Request("$JS.API.STREAM.LEADER.STEPDOWN.LOAD", nil, time.Second) // the next one leads
				if err := buses[rand.IntN(3)].Conn().ForceReconnect(); err != nil {
					t.Error(err)
				}
				select {
				case <-ctx.Done():
				case <-time.After(time.Duration(rand.Int64N(int64(400 * time.Millisecond)))):
				}
			}
		}()
		before := rand.Int64N(100)
		c.begin(t, buses)
		testkit.Until(t, "so many are admitted", func() bool { return c.admitted.Load() >= before })
		if err := closer.CloseIntake(t.Context(), c.run); err != nil {
			t.Fatal(err)
		}
		calm()
		<-upset
		c.turnedAway(t)
		admitted, closed := ledBy(t, closer, c.run)
		c.judge(t, admitted, closed)
		if err := closer.Admit(t.Context(), admission(c.run, 1<<20, 1, "p0"), 0); !errors.Is(err, load.ErrIntakeClosed) {
			t.Errorf("who comes late: %v", err)
		}
	}
}

// ledBy reads what the stream's leader has of a run. A consumer may live with a server that is behind, and a leader that was elected just now may have
// yet to apply what is stored: once it has stored one thing more, it has applied all before.
func ledBy(t *testing.T, b *bus.Bus, run string) (admitted map[int][]uint64, closed map[int]uint64) {
	t.Helper()
	if err := b.Admit(t.Context(), admission("behind-"+run, 0, 1, "p0"), 0); err != nil {
		t.Fatal(err)
	}
	admitted, closed = map[int][]uint64{}, map[int]uint64{}
	for next, more := uint64(1), true; more; {
		testkit.Until(t, "the leader answers", func() bool {
			question := fmt.Appendf(nil, `{"seq": %d, "next_by_subj": "braid.load.*.%s.>"}`, next, run)
			answer, err := b.Conn().Request("$JS.API.STREAM.MSG.GET.LOAD", question, time.Second)
			var said struct {
				Error   *struct{ Code int }
				Message struct {
					Subject string
					Seq     uint64
					Data    []byte
				}
			}
			if err != nil || json.Unmarshal(answer.Data, &said) != nil || said.Error != nil && said.Error.Code != 404 {
				return false // it is being elected
			}
			if more = said.Error == nil; more {
				next = said.Message.Seq + 1
				if err := note(said.Message.Subject, said.Message.Data, said.Message.Seq, admitted, closed); err != nil {
					t.Fatal(err)
				}
			}
			return true
		})
	}
	return admitted, closed
}

// connected waits for a cluster's JetStream to have come together.
func connected(t *testing.T, url string) (b *bus.Bus) {
	t.Helper()
	testkit.Until(t, "JetStream answers", func() (ok bool) {
		var err error
		b, err = bus.Connect(t.Context(), bus.Config{URL: url})
		return err == nil
	})
	t.Cleanup(b.Close)
	return b
}
