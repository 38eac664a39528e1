package simulator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Fault is one line of the fault script. Only admitted requests are considered; the first line that strikes is the
// fault of the request. Rate and Attempts depend on the URL alone and are reproducible under concurrency; After and
// Times count requests in the order they arrive.
type Fault struct {
	Kind FaultKind
	// Contains limits the line to requests whose path and query, as sent, contain this text. Empty: all.
	Contains string
	// After lets this many matching requests pass first.
	After int
	// Times is how often the line strikes. 0: without end.
	Times int
	// Attempts limits the line to the first so many attempts of each URL, so that a retry ends well. 0: all attempts.
	Attempts int
	// Rate is the chance of a strike, above 0 to 1. 0: always.
	Rate float64
	// Delay is the stall of FaultSlowBody and FaultHang, and the Retry-After of Fault429 and Fault503.
	Delay time.Duration
	// Rows is the largest page under FaultClampedLimit. 0: half of what is asked for.
	Rows int
	// Status is that of FaultKeyEcho, 400 to 599. 0: 400.
	Status int
}

// FaultMix is a script in which a request fails with the given chance, each of the kinds being equally likely, and
// only on the first two attempts of its URL.
func FaultMix(rate float64, kinds ...FaultKind) []Fault {
	if rate <= 0 {
		return nil // a Fault without a rate strikes always
	}
	faults := make([]Fault, 0, len(kinds))
	share := rate / float64(len(kinds))
	passed := 1.0 // the chance that no earlier line struck
	for _, kind := range kinds {
		faults = append(faults, Fault{Kind: kind, Rate: min(1, share/passed), Attempts: 2})
		passed -= share
	}
	return faults
}

func (f Fault) validate() error {
	errs := []error{
		within("after", f.After, 0, maxQuota),
		within("times", f.Times, 0, maxQuota),
		within("attempts", f.Attempts, 0, maxQuota),
		within("delay", f.Delay, 0, maxDelay),
		within("rows", f.Rows, 0, maxLimit),
	}
	if !slices.Contains(FaultKinds(), f.Kind) {
		errs = append(errs, fmt.Errorf("kind is %q, must be one of %q", f.Kind, FaultKinds()))
	}
	if f.Status != 0 && (f.Status < 400 || f.Status > 599) {
		errs = append(errs, fmt.Errorf("status is %d, must be 400 to 599", f.Status))
	}
	if !(f.Rate >= 0 && f.Rate <= 1) {
		errs = append(errs, fmt.Errorf("rate is %v, must be 0 to 1", f.Rate))
	}
	return errors.Join(errs...)
}

// maxAttemptURLs bounds the URLs whose attempts are counted; every further one is always at its first attempt.
const maxAttemptURLs = 1 << 20

// script is a fault script under way. Safe for concurrent use.
type script struct {
	seed uint64

	mu       sync.Mutex // guards all below
	lines    []line
	attempts map[uint64]int
}

type line struct {
	Fault
	matched, struck int
}

// draw is what chance holds for one request.
type draw struct {
	fault   Fault  // Kind is empty: none
	chance  uint64 // a hash of seed, URL and attempt, for further choices
	attempt int    // 1 for the first time this URL is admitted
}

func newScript(seed uint64, faults []Fault) *script {
	s := &script{seed: seed, attempts: map[uint64]int{}}
	for _, f := range faults {
		s.lines = append(s.lines, line{Fault: f})
	}
	return s
}

// next draws for one admitted request. key identifies method and URL.
func (s *script) next(key uint64, url string, n nature) draw {
	s.mu.Lock()
	defer s.mu.Unlock()
	attempt := s.attempts[key] + 1
	if attempt > 1 || len(s.attempts) < maxAttemptURLs {
		s.attempts[key] = attempt
	}
	d := draw{attempt: attempt, chance: mix(s.seed ^ mix(key+uint64(attempt)))}
	for i := range s.lines {
		if s.lines[i].strikes(mix(d.chance+uint64(i)), attempt, url, n) {
			d.fault = s.lines[i].Fault
			break
		}
	}
	return d
}

func (l *line) strikes(chance uint64, attempt int, url string, n nature) bool {
	if !l.Kind.suits(n) || !strings.Contains(url, l.Contains) {
		return false
	}
	l.matched++
	switch {
	case l.matched <= l.After:
	case l.Times > 0 && l.struck >= l.Times:
	case l.Attempts > 0 && attempt > l.Attempts:
	case l.Rate > 0 && unit(chance) >= l.Rate:
	default:
		l.struck++
		return true
	}
	return false
}
