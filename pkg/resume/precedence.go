package resume

import (
	"cmp"
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/messages"
)

// precedence lists the kinds of interruptions: quota first, since it alone names a time; then the store, which keeps everything from
// being kept, while the service may be away for one position alone. Others, which only a record tells of, come last, by their names.
func precedence() []string {
	return []string{string(messages.QuotaExhausted), string(messages.StoreFull), string(messages.ServiceInterrupted)}
}

// precedes orders interruptions, by kind and then by position. It is total, so that what speaks never depends on what came first:
// two that differ in anything but the time to go on, which is the latest of all, stand in an order.
func precedes(a, b *messages.Stop) bool { return order(a, b) < 0 }

func order(a, b *messages.Stop) int {
	return cmp.Or(
		cmp.Compare(rank(a.Kind), rank(b.Kind)),
		strings.Compare(a.Kind, b.Kind),
		a.Position.Compare(b.Position),
		cmp.Compare(a.Status, b.Status),
		strings.Compare(a.Class, b.Class),
		strings.Compare(a.Reason, b.Reason),
		strings.Compare(a.Hint, b.Hint),
		a.At.Compare(b.At),
	)
}

func rank(kind string) int {
	kinds := precedence()
	if i := slices.Index(kinds, kind); i >= 0 {
		return i
	}
	return len(kinds)
}
