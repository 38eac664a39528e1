package bus_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

// A queue without a leader is one that nobody answers for; one that is gone looks the same.
func TestAnAcknowledgementWaitsForTheQueue(t *testing.T) {
	b := testkit.Bus(t)
	q := openQueue(t, b, time.Minute)
	publish(t, b, testkit.Item("q", 0))
	d := take(t, q, 1)[0]
	if err := b.JetStream().DeleteConsumer(t.Context(), "ITEMS", "rivers"); err != nil {
		t.Fatal(err)
	}
	tired, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Done(tired); !errors.Is(err, messages.ErrUnreachable) {
		t.Errorf("without a queue: %v", err)
	}
	made := make(chan error, 1)
	back := time.AfterFunc(200*time.Millisecond, func() {
		_, err := b.Conn().Subscribe("$JS.ACK.ITEMS.>", func(m *nats.Msg) { made <- m.Respond(nil) })
		if err != nil {
			made <- err
		}
	})
	defer back.Stop()
	if err := d.Done(t.Context()); err != nil {
		t.Errorf("when somebody answers: %v", err)
	}
	if err := testkit.Receive(t, "the acknowledgement", made); err != nil {
		t.Error(err)
	}
}

func TestWhoFollowsTakesAnotherConsumerWhenItsOwnIsGone(t *testing.T) {
	b := testkit.Bus(t)
	mustCommit(t, b, "a", testkit.Header("q", 0, 0))
	r := &tracker{}
	testkit.Run(t, func(ctx context.Context) error {
		return b.TrackResults(ctx, "q", func(h *messages.ResultHeader) { r.say("%s", h.Position) },
			func(_ messages.Position, err error) { t.Error(err) }, func() { r.say("caught up") })
	})
	expectSaid(t, r, "0", "caught up")
	for i := 1; i < 4; i++ {
		stream, err := b.JetStream().Stream(t.Context(), "RESULTS")
		if err != nil {
			t.Fatal(err)
		}
		for name := range stream.ConsumerNames(t.Context()).Name() {
			if err := stream.DeleteConsumer(t.Context(), name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
				t.Fatal(err)
			}
		}
		mustCommit(t, b, "a"+string(rune('0'+i)), testkit.Header("q", i, 0))
		said := []string{"0", "caught up"}
		for j := 1; j <= i; j++ {
			said = append(said, string(rune('0'+j)))
		}
		expectSaid(t, r, said...)
	}
}
