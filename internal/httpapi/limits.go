package httpapi

import (
	"context"
	"time"

	"github.com/braidhq/braid/internal/httpapi/contract"
)

const (
	// maxHeavy is how many requests may plan, read results or build tables at the same time.
	maxHeavy = 16
	// heavyWait is how long one waits for its turn before it is refused.
	heavyWait = 10 * time.Second
)

// begin waits for the turn of a request that costs much: one that plans, or reads what is stored of a whole query. done gives the turn to
// the next one. An error is a problem.
func (a *api) begin(ctx context.Context) (done func(), err error) {
	select {
	case a.heavy <- struct{}{}:
		return func() { <-a.heavy }, nil
	default:
	}
	timer := time.NewTimer(heavyWait)
	defer timer.Stop()
	select {
	case a.heavy <- struct{}{}:
		return func() { <-a.heavy }, nil
	case <-timer.C:
		return nil, problem(contract.Busy, "%d requests that cost much are under way, and none of them ended within %s", maxHeavy, heavyWait)
	case <-ctx.Done():
		return nil, a.failure("wait for its turn", context.Cause(ctx))
	}
}
