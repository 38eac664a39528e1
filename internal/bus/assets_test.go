package bus_test

import (
	"context"
	"errors"
	"slices"
	"testing"

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
