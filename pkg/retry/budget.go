package retry

import "time"

// Safety tells what a second execution of a request would do.
type Safety int

// The kinds of safety; the zero value is the careful one.
const (
	OnceOnly   Safety = iota // a second execution would do harm: never resent while it may have been executed
	Repeatable               // executing it twice is like executing it once
)

// Kind tells whether a failure passes with time.
type Kind int

// The kinds of failure; the zero value is the careful one.
const (
	Permanent Kind = iota // would fail the same way again
	Transient             // the service or the way to it is in trouble
	Quota                 // the service refused for quota
)

// Execution is the evidence of whether the service has executed the request.
type Execution int

// The kinds of evidence; the zero value is the careful one.
const (
	MaybeExecuted Execution = iota // sent, and no answer that rules it out
	NotExecuted                    // never sent in full, or the service said that it refused to begin
)

// Evidence is what is known of an attempt that failed.
type Evidence struct {
	Kind      Kind
	Execution Execution
	Hint      time.Duration // wait that the service asked for, see ParseRetryAfter; 0: none
}

// Reason says why a Decision was made.
type Reason string

// The reasons of a Decision; all but WillRetry refuse.
const (
	WillRetry     Reason = "retry"
	IsPermanent   Reason = "permanent"       // asking again would fail the same way
	NotRepeatable Reason = "may_be_executed" // it may have been executed, and must not be twice
	OutOfAttempts Reason = "out_of_attempts"
	HintTooLong   Reason = "hint_too_long" // the service asked for a longer wait than one request is worth
	Silent        Reason = "silent"        // nothing has arrived for too long
)

// Decision tells what to do after a failed attempt.
type Decision struct {
	Retry  bool
	Wait   time.Duration // before the retry
	Reason Reason
}

// Budget counts the retries of one request, such as that of one page, and the service's silence. It is not safe for
// concurrent use.
type Budget struct {
	policy Policy
	safety Safety
	rnd    Rand

	since     time.Time // silent since; ahead of the clock while a wait is credited
	transient int       // retries after transient failures
	quota     int       // retries after refusals for quota
}

// NewBudget makes the budget of a request whose first attempt begins now.
func NewBudget(policy Policy, safety Safety, now time.Time, rnd Rand) *Budget {
	return &Budget{policy: policy, safety: safety, rnd: rnd, since: now}
}

// Heard takes note that data arrived now.
func (b *Budget) Heard(now time.Time) { b.since = now }

// Queued takes note that d until now was spent waiting for the right to send, which is not the service's silence.
func (b *Budget) Queued(d time.Duration, now time.Time) {
	b.since = b.since.Add(d)
	b.clamp(now)
}

// After decides what to do after an attempt that failed now. A decision to retry is counted.
func (b *Budget) After(e Evidence, now time.Time) Decision {
	b.clamp(now)
	count := &b.transient
	switch {
	case e.Kind != Transient && e.Kind != Quota:
		return Decision{Reason: IsPermanent}
	case b.safety != Repeatable && e.Execution != NotExecuted:
		return Decision{Reason: NotRepeatable}
	case e.Kind == Quota:
		count = &b.quota
	}
	hint := max(e.Hint, 0)
	retry := *count + 1
	switch {
	case hint > b.policy.RetryAfterCap:
		return Decision{Reason: HintTooLong}
	case !b.policy.allows(retry, hint):
		return Decision{Reason: OutOfAttempts}
	}
	wait, ok := b.policy.Next(retry, hint, now.Sub(b.since), b.rnd)
	if !ok {
		return Decision{Reason: Silent}
	}
	*count = retry
	if hint > 0 {
		b.since = b.since.Add(wait)
	}
	return Decision{Retry: true, Wait: wait, Reason: WillRetry}
}

// clamp ends credit at the present: a wait that was cut short does not excuse silence to come.
func (b *Budget) clamp(now time.Time) {
	if b.since.After(now) {
		b.since = now
	}
}
