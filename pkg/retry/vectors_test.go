package retry

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// vector is one recorded case of an existing client of the same kind of service.
type vector struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	In   struct {
		Policy         vectorPolicy    `json:"policy"`
		Attempt        int             `json:"attempt"`
		RetryAfter     *float64        `json:"retry_after"`
		Delay          float64         `json:"delay"`
		Silence        *float64        `json:"silence"`
		Header         string          `json:"header"`
		Now            time.Time       `json:"now"`
		JitterFraction fraction        `json:"jitter_fraction"`
		Script         []vectorAttempt `json:"attempts_script"`
		RetryStatuses  string          `json:"retry_statuses"`
	} `json:"in"`
	Expect struct {
		Range    [2]float64 `json:"range"`
		Retry    bool       `json:"retry"`
		Allowed  bool       `json:"allowed"`
		Seconds  *float64   `json:"seconds"`
		Attempts int        `json:"attempts"`
		Waits    []float64  `json:"waits"`
		Result   string     `json:"result"`
		Elapsed  float64    `json:"elapsed"`
	} `json:"expect"`
}

type vectorPolicy struct {
	MaxRetries    int     `json:"max_retries"`
	Base          float64 `json:"base"`
	Max           float64 `json:"max"`
	RetryAfterCap float64 `json:"retry_after_cap"`
	StallTimeout  float64 `json:"stall_timeout"`
}

type vectorAttempt struct {
	Outcome    string   `json:"outcome"`
	Status     int      `json:"status"`
	Takes      float64  `json:"takes"`
	RetryAfter *float64 `json:"retry_after"`
	Page       bool     `json:"page"`
}

// oddNumber is what Python takes for a number and HTTP does not.
var oddNumber = regexp.MustCompile(`[^\x00-\x7F]|\d_\d|\d[eE][+-]?\d`)

// different tells why Braid may decide otherwise, "" where it must agree.
func (v vector) different() string {
	zero := func(hint *float64) bool { return hint != nil && *hint == 0 }
	switch {
	case v.Kind == "backoff_bounds" && zero(v.In.RetryAfter),
		v.Kind == "scenario" && slices.ContainsFunc(v.In.Script, func(a vectorAttempt) bool { return zero(a.RetryAfter) }):
		return "the client follows a literal zero as \"now, with jitter\"; for Braid zero is no hint, and the wait is drawn as without one"
	case v.Kind == "parse_retry_after" && v.Expect.Seconds != nil && oddNumber.MatchString(v.In.Header):
		return "the client reads digits of any script, with underscores between them and with exponents; no service means that"
	}
	return ""
}

// fraction is a random source that always draws the same part of its range.
type fraction float64

func (f fraction) Int64N(n int64) int64 { return int64(math.Round(float64(f) * float64(n-1))) }

func seconds(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }

func optional(s *float64) time.Duration {
	if s == nil {
		return 0
	}
	return seconds(*s)
}

func (p vectorPolicy) policy() Policy {
	return Policy{
		Attempts: p.MaxRetries, Base: seconds(p.Base), Cap: seconds(p.Max),
		RetryAfterCap: seconds(p.RetryAfterCap), Stall: seconds(p.StallTimeout),
	}
}

func TestDecisionsAgreeWithTheRecordedClient(t *testing.T) {
	data, err := os.ReadFile("testdata/retry.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []vector `json:"cases"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 200 {
		t.Fatalf("only %d cases", len(file.Cases))
	}
	differ := 0
	for _, v := range file.Cases {
		t.Run(v.ID, func(t *testing.T) {
			disagreement := v.disagreement(t)
			switch reason := v.different(); {
			case disagreement != "" && reason == "":
				t.Errorf("%s: %s", v.Kind, disagreement)
			case reason != "":
				v.checkOwn(t)
				differ++
			}
		})
	}
	if differ == 0 {
		t.Error("no case has a stated difference: is it gone?")
	}
}

// checkOwn says what Braid does where it decides otherwise: a zero is as no hint at all, and what is malformed is none.
func (v vector) checkOwn(t *testing.T) {
	t.Helper()
	if v.Kind == "parse_retry_after" {
		if got, ok := ParseRetryAfter(v.In.Header, v.In.Now); ok {
			t.Errorf("%q is read as %s", v.In.Header, got)
		}
		return
	}
	policy := v.In.Policy.policy()
	for attempt := 1; attempt <= policy.Attempts; attempt++ {
		low, high := policy.Range(attempt, 0)
		if most := min(policy.Cap, policy.Base<<(attempt-1)); low != 0 || high != most {
			t.Errorf("attempt %d waits %s to %s, want at most %s", attempt, low, high, most)
		}
	}
}

func (v vector) disagreement(t *testing.T) string {
	t.Helper()
	policy, hint := v.In.Policy.policy(), optional(v.In.RetryAfter)
	switch v.Kind {
	case "backoff_bounds":
		low, high := policy.Range(v.In.Attempt, hint)
		return unlessEqual([2]time.Duration{low, high}, [2]time.Duration{seconds(v.Expect.Range[0]), seconds(v.Expect.Range[1])})
	case "should_retry":
		return unlessEqual(policy.allows(v.In.Attempt, hint), v.Expect.Retry)
	case "allows_wait":
		return unlessEqual(policy.bears(v.In.Attempt, hint, optional(v.In.Silence), seconds(v.In.Delay)), v.Expect.Allowed)
	case "parse_retry_after":
		got, ok := ParseRetryAfter(v.In.Header, v.In.Now)
		if v.Expect.Seconds == nil {
			return unlessEqual(ok, false)
		}
		return unlessEqual(got, seconds(*v.Expect.Seconds))
	case "scenario":
		return v.play()
	}
	t.Fatalf("no such kind: %s", v.Kind)
	return ""
}

func unlessEqual[T comparable](got, want T) string {
	if got == want {
		return ""
	}
	return fmt.Sprintf("got %v, want %v", got, want)
}

// play runs a scenario with a clock of its own.
func (v vector) play() string {
	began := time.Date(2026, 8, 17, 12, 0, 0, 0, time.UTC)
	now := began
	budget := NewBudget(v.In.Policy.policy(), Repeatable, now, v.In.JitterFraction)
	attempts, ok := 0, false
	var waits []time.Duration
	for !ok {
		a := v.In.Script[min(attempts, len(v.In.Script)-1)]
		attempts++
		now = now.Add(seconds(a.Takes))
		if a.Page {
			budget.Heard(now)
		}
		if ok = a.Outcome == "ok"; ok {
			continue
		}
		d := budget.After(v.evidence(a), now)
		if !d.Retry {
			break
		}
		waits = append(waits, d.Wait)
		now = now.Add(d.Wait)
	}
	var want []time.Duration
	for _, w := range v.Expect.Waits {
		want = append(want, seconds(w))
	}
	if attempts != v.Expect.Attempts || ok != (v.Expect.Result == "ok") || !slices.Equal(waits, want) || now.Sub(began) != seconds(v.Expect.Elapsed) {
		return fmt.Sprintf("%d attempts, waits %v, ok %v, %v; want %+v", attempts, waits, ok, now.Sub(began), v.Expect)
	}
	return ""
}

// evidence classifies an attempt as a service definition that lists v's statuses would.
func (v vector) evidence(a vectorAttempt) Evidence {
	e := Evidence{Hint: optional(a.RetryAfter)}
	switch a.Outcome {
	case "timeout", "connect", "pool":
		e.Kind = Transient
	case "status":
		all := strings.HasSuffix(v.In.RetryStatuses, "500-599")
		switch {
		case a.Status == 429:
			e.Kind = Quota
		case all && a.Status >= 500, !all && slices.Contains([]int{502, 503, 504}, a.Status):
			e.Kind = Transient
		}
	}
	return e
}
