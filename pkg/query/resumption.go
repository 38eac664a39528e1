package query

import (
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// Resumption is what changes for a query that is resumed. Nil members leave what there was.
type Resumption struct {
	WaitUpTo    *time.Duration // the longest pause that the coordinator waits out by itself
	MaxRequests *int64         // the budget of requests; nil: a new one of the old size
	InFlight    *messages.InFlight
	Priority    *int
	Weight      *int
}
