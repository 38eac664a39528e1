package bus_test

import (
	"testing"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
)

func TestTheStreamsThemselvesRefuseASecondMessage(t *testing.T) {
	b := testkit.Bus(t)
	for _, subject := range []string{bus.ItemSubject("rivers", "q", "0"), "braid.result.q.0", "braid.part.q.a.0"} {
		if _, err := b.JetStream().Publish(t.Context(), subject, []byte("first")); err != nil {
			t.Fatal(err)
		}
		// Whoever publishes, and with no header of ours.
		if _, err := b.JetStream().Publish(t.Context(), subject, []byte("second")); err == nil {
			t.Errorf("%s took a second message", subject)
		}
	}
}
