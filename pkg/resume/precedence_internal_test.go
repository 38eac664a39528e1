package resume

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/messages"
)

func aStop() *rapid.Generator[*messages.Stop] {
	return rapid.Custom(func(t *rapid.T) *messages.Stop {
		return &messages.Stop{
			Kind: rapid.SampledFrom([]string{
				string(messages.QuotaExhausted), string(messages.StoreFull), string(messages.ServiceInterrupted),
				messages.StopBudget, messages.StopDamaged, messages.StopDrained,
			}).Draw(t, "kind"),
			Position: rapid.SampledFrom([]messages.Position{"", "0", "2", "10", "1.0"}).Draw(t, "position"),
			Status:   rapid.IntRange(0, 1).Draw(t, "status"), Reason: rapid.SampledFrom([]string{"", "a"}).Draw(t, "reason"),
			At: time.Unix(int64(rapid.IntRange(0, 1).Draw(t, "at")), 0),
		}
	})
}

func TestPrecedenceIsAStrictTotalOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := aStop().Draw(t, "a"), aStop().Draw(t, "b"), aStop().Draw(t, "c")
		switch {
		case precedes(a, a):
			t.Fatal("one precedes itself")
		case *a != *b && precedes(a, b) == precedes(b, a):
			t.Fatalf("%+v and %+v stand in no order", a, b)
		case precedes(a, b) && precedes(b, c) && !precedes(a, c):
			t.Fatalf("%+v, %+v, %+v go round", a, b, c)
		}
	})
}
