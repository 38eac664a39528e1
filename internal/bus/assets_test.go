package bus_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

func TestTheStreamsThemselvesRefuseASecondMessage(t *testing.T) {
	b := testkit.Bus(t)
	for _, subject := range []string{bus.ItemSubject("rivers", "q", "0"), "braid.result.q.0", "braid.part.q.a.0", "braid.page.q.0.a.0"} {
		if _, err := b.JetStream().Publish(t.Context(), subject, []byte("first")); err != nil {
			t.Fatal(err)
		}
		// Whoever publishes, and with no header of ours.
		if _, err := b.JetStream().Publish(t.Context(), subject, []byte("second")); err == nil {
			t.Errorf("%s took a second message", subject)
		}
	}
}

func TestAStreamOfAnEarlierVersionGetsItsNewSubjectsAndKeepsTheRest(t *testing.T) {
	for name, had := range map[string][]string{
		"earlier": {"braid.part.>"}, "of both": {"braid.part.>", "later.>"}, "as now": {"braid.page.>", "braid.part.>"},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := bus.Connect(t.Context(), bus.Config{Server: testkit.Server(t)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(b.Close)
			_, err = b.JetStream().CreateStream(t.Context(), jetstream.StreamConfig{
				Name: "PARTS", Subjects: had, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgsPerSubject: 1,
				MaxBytes: 1 << 20, AllowDirect: true, AllowAtomicPublish: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.JetStream().Publish(t.Context(), "braid.part.q.a.0", []byte("old")); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := b.Ensure(t.Context(), bus.AssetConfig{Limits: bus.Limits{Parts: 5 << 20}}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := b.JetStream().Publish(t.Context(), "braid.page.q.0.a.0", []byte("new")); err != nil {
				t.Error(err)
			}
			s, err := b.JetStream().Stream(t.Context(), "PARTS")
			if err != nil {
				t.Fatal(err)
			}
			info := s.CachedInfo()
			if info.State.Msgs != 2 || info.Config.MaxBytes != 1<<20 {
				t.Errorf("%d messages are left, within %d bytes", info.State.Msgs, info.Config.MaxBytes)
			}
			for _, subject := range had {
				if !slices.Contains(info.Config.Subjects, subject) {
					t.Errorf("%s is gone of %v", subject, had)
				}
			}
		})
	}
}

// config gives the settings of a stream.
func config(t *testing.T, b *bus.Bus, stream string) jetstream.StreamConfig {
	t.Helper()
	s, err := b.JetStream().Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().Config
}

func TestLimitsOfStreamsThatExistChangeOnlyWhenAsked(t *testing.T) {
	var told strings.Builder
	b, err := bus.Connect(t.Context(), bus.Config{Server: testkit.Server(t), Log: slog.New(slog.NewTextHandler(&told, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	ensure := func(cfg bus.AssetConfig) {
		t.Helper()
		if err := b.Ensure(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	ensure(bus.AssetConfig{Limits: bus.ShareStore(100 << 20)})
	first := bus.ShareStore(100 << 20)
	for _, cfg := range []bus.AssetConfig{{}, {Durability: bus.Safe}, {Limits: bus.ShareStore(50 << 20)}} {
		ensure(cfg)
		if have := config(t, b, "RESULTS").MaxBytes; have != first.Results {
			t.Fatalf("%+v made it %d", cfg, have)
		}
	}
	if _, err := b.JetStream().Publish(t.Context(), "braid.result.q.0", make([]byte, 4<<10)); err != nil {
		t.Fatal(err)
	}
	// Less than there is: nothing goes, and nothing more comes.
	ensure(bus.AssetConfig{Limits: bus.Limits{Items: 1 << 20, Results: 1 << 10, Parts: 1 << 20, Events: 1 << 20}, Resize: true})
	if have := config(t, b, "RESULTS").MaxBytes; have != 1<<10 {
		t.Errorf("it is %d", have)
	}
	if _, err := b.JetStream().Publish(t.Context(), "braid.result.q.1", []byte("x")); err == nil {
		t.Error("a full stream took a message")
	}
	if s, err := b.JetStream().Stream(t.Context(), "RESULTS"); err != nil || s.CachedInfo().State.Msgs != 1 {
		t.Errorf("a lower limit removed what was there: %v", err)
	}
	// Events would go at once.
	if have := config(t, b, "EVENTS").MaxBytes; have != first.Events || !strings.Contains(told.String(), "keeps the limit") {
		t.Errorf("EVENTS has %d; told:\n%s", have, told.String())
	}
	ensure(bus.AssetConfig{Limits: bus.ShareStore(200 << 20), Resize: true})
	if _, err := b.JetStream().Publish(t.Context(), "braid.result.q.1", []byte("x")); err != nil {
		t.Errorf("after the limit was raised: %v", err)
	}
}

func TestThreeReplicasNeedACluster(t *testing.T) {
	b, err := bus.Connect(t.Context(), bus.Config{Server: testkit.Server(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	for range 2 { // of streams that do not exist, and of such that do
		err := b.Ensure(t.Context(), bus.AssetConfig{Durability: bus.Cluster})
		if !errors.Is(err, bus.ErrDurability) || !strings.Contains(err.Error(), "cluster of three") {
			t.Errorf("got %v", err)
		}
		if err := b.Ensure(t.Context(), bus.AssetConfig{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := bus.StartServer(t.Context(), bus.ServerConfig{Dir: t.TempDir(), Durability: bus.Cluster}); !errors.Is(err, bus.ErrDurability) {
		t.Errorf("a server that is alone: %v", err)
	}
}

func TestAWorkerWaitsForStreamsAndMakesNone(t *testing.T) {
	b, err := bus.Connect(t.Context(), bus.Config{Server: testkit.Server(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if err := b.Present(t.Context()); !errors.Is(err, bus.ErrNoStreams) {
		t.Errorf("got %v, want ErrNoStreams", err)
	}
	if err := b.Ensure(t.Context(), bus.AssetConfig{}); err != nil {
		t.Fatal(err)
	}
	if err := b.Present(t.Context()); err != nil {
		t.Error(err)
	}
	if err := b.JetStream().DeleteStream(t.Context(), "KV_braid_quota"); err != nil {
		t.Fatal(err)
	}
	if err := b.Present(t.Context()); !errors.Is(err, bus.ErrNoStreams) || !strings.Contains(err.Error(), "KV_braid_quota") {
		t.Errorf("got %v, want ErrNoStreams of the bucket", err)
	}
}

func TestASmallerStoreThanThereIsIsStillOpened(t *testing.T) {
	dir := t.TempDir()
	for _, most := range []int64{1 << 30, 256 << 20, 100 << 20, 2 << 30} {
		server, err := bus.StartServer(t.Context(), bus.ServerConfig{Dir: dir, MaxStore: most, Durability: bus.Fast})
		if err != nil {
			t.Fatal(err)
		}
		b, err := bus.Connect(t.Context(), bus.Config{Server: server})
		if err == nil {
			err = b.Ensure(t.Context(), bus.AssetConfig{Limits: server.EmbeddedLimits(), Resize: true})
		}
		if err != nil {
			t.Fatalf("with %d: %v", most, err)
		}
		if have := config(t, b, "RESULTS").MaxBytes; have != bus.ShareStore(most).Results {
			t.Errorf("with %d the results may take %d", most, have)
		}
		b.Close()
		if err := server.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAClusterThatHasNotComeTogetherIsWaitedFor(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		tired bool
		err   error
		again bool
	}{
		"nobody answers":              {false, context.DeadlineExceeded, true},
		"no leader":                   {false, &jetstream.APIError{ErrorCode: 10008}, true},
		"too few servers so far":      {false, &jetstream.APIError{ErrorCode: 10005}, true},
		"a server that has no others": {false, &jetstream.APIError{ErrorCode: 10074}, false},
		"the caller is tired":         {true, context.DeadlineExceeded, false},
	} {
		ctx := t.Context()
		if c.tired {
			ctx = over
		}
		if err := bus.Unready(ctx, c.err); errors.Is(err, messages.ErrUnreachable) != c.again || !errors.Is(err, c.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatMeansThatNATSIsAwayIsToldWithAdvice(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"no connection, and no buffer":       {nats.ErrReconnectBufExceeded, "no connection"},
		"closed":                             {nats.ErrConnectionClosed, "no connection"},
		"no answer":                          {context.DeadlineExceeded, "does not answer"},
		"no leader":                          {&jetstream.APIError{ErrorCode: 10008}, "most of its servers"},
		"no leader, by the client's old way": {&nats.APIError{ErrorCode: 10008}, "most of its servers"},
		"nobody for the stream":              {jetstream.ErrNoStreamResponse, "nobody answers"},
		"no responders":                      {nats.ErrNoResponders, "nobody answers"},
		"no answer to many":                  {jetstream.ErrAsyncPublishTimeout, "does not answer"},
	} {
		err := bus.Unready(t.Context(), fmt.Errorf("x: %w", c.err))
		if !errors.Is(err, messages.ErrUnreachable) || !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNoMessageOfAKeyReplacesAllOthersOfItsBucket(t *testing.T) {
	for name, earlier := range map[string]bool{"new": false, "of a version that allowed it": true} {
		t.Run(name, func(t *testing.T) {
			b, err := bus.Connect(t.Context(), bus.Config{Server: testkit.Server(t)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(b.Close)
			buckets := []string{"queries", "services", "gates", "suspects", "quota", "workers"}
			for _, bucket := range buckets {
				if !earlier {
					continue
				}
				_, err := b.JetStream().CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "braid_" + bucket, History: 1, LimitMarkerTTL: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if err := b.Ensure(t.Context(), bus.AssetConfig{}); err != nil {
					t.Fatal(err)
				}
			}
			for _, bucket := range buckets {
				subject := "$KV.braid_" + bucket
				if _, err := b.JetStream().Publish(t.Context(), subject+".kept", []byte("x")); err != nil {
					t.Fatal(err)
				}
				for _, how := range []string{"all", "sub"} {
					msg := nats.NewMsg(subject + ".evil")
					msg.Header.Set("Nats-Rollup", how)
					if _, err := b.JetStream().PublishMsg(t.Context(), msg); err == nil {
						t.Errorf("%s obeys a roll-up of %s", bucket, how)
					}
				}
				kv, err := b.JetStream().KeyValue(t.Context(), "braid_"+bucket)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := kv.Get(t.Context(), "kept"); err != nil {
					t.Errorf("%s: %v", bucket, err)
				}
			}
		})
	}
}

func TestWhatIsRemovedLeavesAMarkerThatGoes(t *testing.T) {
	b := testkit.Bus(t)
	w := &messages.Worker{V: 1, ID: "w", Host: "h", Started: time.Now(), Seen: time.Now()}
	if err := b.SaveWorker(t.Context(), w, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := b.RemoveWorker(t.Context(), "w", ""); err != nil {
		t.Fatal(err)
	}
	s, err := b.JetStream().Stream(t.Context(), "KV_braid_workers")
	if err != nil {
		t.Fatal(err)
	}
	msg, err := s.GetLastMsgForSubject(t.Context(), "$KV.braid_workers.w")
	if err != nil || msg.Header.Get("Nats-TTL") == "" || len(msg.Data) != 0 {
		t.Errorf("in its place stands %+v, %v", msg, err)
	}
	if all, err := b.ListWorkers(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%d workers are there, %v", len(all), err)
	}
}
