package retry

import (
	"fmt"
	"time"
)

// hintSpread is the most that is added to a wait the service asked for, as far as Policy.Cap lets it.
const hintSpread = time.Second

// Bounds of a Policy.
const (
	maxAttempts = 100
	maxWait     = 24 * time.Hour
)

// Policy bounds the retries of one request. Its zero value never retries; start from Default.
type Policy struct {
	Attempts      int           // retries after the first attempt, 0 to 100; refusals for quota are counted apart
	Base          time.Duration // largest wait before the first retry; doubles with each, at most 24h
	Cap           time.Duration // largest wait of all that the service did not ask for, at most 24h
	RetryAfterCap time.Duration // a service that asks for a longer wait is not asked again, at most 24h
	Stall         time.Duration // longest silence that is still worth a second retry, at most 24h; 0: any
}

// Default is the policy of a service whose definition says nothing.
func Default() Policy {
	return Policy{Attempts: 4, Base: time.Second, Cap: time.Minute, RetryAfterCap: time.Minute, Stall: time.Minute}
}

// Validate reports the first setting that is out of bounds.
func (p Policy) Validate() error {
	if p.Attempts < 0 || p.Attempts > maxAttempts {
		return fmt.Errorf("attempts is %d; use 0 to %d", p.Attempts, maxAttempts)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"base", p.Base}, {"cap", p.Cap}, {"retry-after cap", p.RetryAfterCap}, {"stall", p.Stall}} {
		if d.value < 0 || d.value > maxWait {
			return fmt.Errorf("%s is %v; use 0 to %v", d.name, d.value, maxWait)
		}
	}
	return nil
}

// Rand is the random source; *rand.Rand of math/rand/v2 is one.
type Rand interface {
	Int64N(n int64) int64 // uniform from 0 to n-1
}

// Range gives the shortest and the longest wait before the given retry, counted from 1. Hint is what the service asked
// for, 0 for nothing; it does not grow with the retry.
func (p Policy) Range(retry int, hint time.Duration) (low, high time.Duration) {
	if hint > 0 {
		low = min(hint, p.RetryAfterCap)
		return low, min(low+min(hintSpread, p.Cap), p.RetryAfterCap)
	}
	high = min(p.Base, p.Cap)
	for range retry - 1 {
		if high == 0 || high > p.Cap/2 {
			return 0, min(2*high, p.Cap)
		}
		high *= 2
	}
	return 0, high
}

// Next decides on the given retry, counted from 1, after silence without data, and draws its wait.
func (p Policy) Next(retry int, hint, silence time.Duration, rnd Rand) (wait time.Duration, ok bool) {
	if !p.allows(retry, hint) {
		return 0, false
	}
	low, high := p.Range(retry, hint)
	wait = low + time.Duration(rnd.Int64N(int64(high-low)+1))
	return wait, p.bears(retry, hint, silence, wait)
}

func (p Policy) allows(retry int, hint time.Duration) bool {
	return retry <= p.Attempts && hint <= p.RetryAfterCap
}

// bears tells whether the silence with the wait to come is still short enough.
func (p Policy) bears(retry int, hint, silence, wait time.Duration) bool {
	if p.Stall == 0 || retry <= 1 {
		return true
	}
	if hint > 0 {
		wait = 0 // the service asked for it: that is no silence
	}
	return silence <= p.Stall-wait
}
