package breaker_test

import (
	"errors"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/breaker"
)

// naive is a breaker that remembers everything and goes over all of it each time. It counts in whole numbers: rates are of
// 1,000, latencies and thresholds in nanoseconds.
type naive struct {
	window, minimum, perMille int
	threshold                 time.Duration // 0: none
	seen                      []breaker.Completion
	tripped                   int // completions at the trip; 0: none
}

func (n *naive) add(c breaker.Completion) {
	if c.Outcome == breaker.Cancelled {
		return
	}
	n.seen = append(n.seen, c)
	if n.tripped > 0 {
		return
	}
	last := n.seen[max(0, len(n.seen)-n.window):]
	var latencies []time.Duration
	failures := 0
	for _, c := range last {
		switch {
		case c.Outcome == breaker.Success:
			latencies = append(latencies, c.Latency)
		case c.Kind != "forbidden":
			failures++
		}
	}
	slices.Sort(latencies)
	if len(last) >= n.minimum && failures*1000 >= n.perMille*len(last) ||
		n.threshold > 0 && len(latencies) >= n.minimum && latencies[(99*len(latencies)+99)/100-1] >= n.threshold {
		n.tripped = len(n.seen)
	}
}

func TestABreakerIsAsTheOneThatRemembersEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := &naive{window: rapid.IntRange(1, 30).Draw(t, "window"), perMille: rapid.IntRange(1, 1000).Draw(t, "rate")}
		n.minimum = rapid.IntRange(1, n.window).Draw(t, "minimum")
		cfg := breaker.Config{Window: n.window, Minimum: n.minimum, ErrorRate: big.NewRat(int64(n.perMille), 1000), Excluded: []string{"forbidden"}}
		if rapid.Bool().Draw(t, "latency") {
			n.threshold = time.Duration(rapid.IntRange(1, 50).Draw(t, "threshold"))
			cfg.Absolute = big.NewRat(int64(n.threshold), int64(time.Millisecond))
		}
		b, err := breaker.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		completion := rapid.Custom(func(t *rapid.T) breaker.Completion {
			return breaker.Completion{
				Outcome: rapid.SampledFrom([]breaker.Outcome{0, 0, 0, 0, breaker.Error, breaker.Timeout, breaker.Cancelled}).Draw(t, "outcome"),
				Kind:    rapid.SampledFrom([]string{"", "forbidden"}).Draw(t, "kind"),
				Latency: time.Duration(rapid.IntRange(0, 60).Draw(t, "latency")),
			}
		})
		for i, c := range rapid.SliceOfN(completion, 0, 200).Draw(t, "completions") {
			if c.Outcome != breaker.Error {
				c.Kind = ""
			}
			before := n.tripped
			n.add(c)
			if trips := b.Add(c); trips != (before == 0 && n.tripped > 0) {
				t.Fatalf("completion %d trips: %t; the naive one tripped at %d, and before at %d", i, trips, n.tripped, before)
			}
		}
		s := b.Status()
		at := 0
		if s.Trip != nil {
			at = s.Trip.AtCompleted
			if s.Trip.Completed != s.Trip.Failures+s.Trip.Successes+s.Trip.Excluded || len(s.Trip.Fired) == 0 {
				t.Errorf("the trip is %+v", s.Trip)
			}
		}
		if at != n.tripped || s.Completed != len(n.seen) || at > 0 && s.AfterTrip != len(n.seen)-at || s.IntakeClosed != (at > 0) {
			t.Errorf("%+v; the naive one tripped at %d of %d", s, n.tripped, len(n.seen))
		}
	})
}

func usual(t *testing.T, edit func(*breaker.Config)) *breaker.Breaker {
	t.Helper()
	cfg := breaker.Default()
	if edit != nil {
		edit(&cfg)
	}
	b, err := breaker.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func fail(b *breaker.Breaker, n int, kind string) {
	for range n {
		b.Add(breaker.Completion{Outcome: breaker.Error, Kind: kind})
	}
}

func TestExcludedKindsAreCountedApart(t *testing.T) {
	kinds := []string{"forbidden", "bad_request", "not_found"}
	b := usual(t, func(c *breaker.Config) { c.Excluded = kinds })
	fail(b, 100, "forbidden")
	if s := b.Status(); s.State != breaker.Armed || s.Excluded != 100 || s.Completed != 100 {
		t.Errorf("%+v", s)
	}
	fail(b, 33, "server_error") // 33 of the last 100; the 25th trips
	s := b.Status()
	if s.Trip == nil || s.Trip.AtCompleted != 125 || s.Trip.Excluded != 75 || s.Trip.Failures != 25 {
		t.Errorf("%+v", s.Trip)
	}
	b = usual(t, nil)
	if fail(b, 20, "forbidden"); b.Trip() == nil {
		t.Error("with nothing excluded a forbidden one does not count as a failure")
	}
	b = usual(t, func(c *breaker.Config) { c.Excluded = kinds })
	for range 20 {
		b.Add(breaker.Completion{Outcome: breaker.Timeout, Kind: "forbidden"})
	}
	if b.Trip() == nil {
		t.Error("a timeout was left out, whose kind means nothing")
	}
}

func TestWhatIsGivenOutIsNotTheBreakersOwn(t *testing.T) {
	excluded := []string{"forbidden"}
	b := usual(t, func(c *breaker.Config) { c.Excluded = excluded })
	excluded[0] = "server_error"
	fail(b, 20, "server_error")
	want := b.Status()
	given := b.Trip()
	given.Fired[0].Threshold.SetInt64(9)
	given.Failures = 0
	b.Status().Error.Threshold.SetInt64(9)
	same := cmp.Comparer(func(x, y *big.Rat) bool { return x == y || x != nil && y != nil && x.Cmp(y) == 0 })
	if diff := cmp.Diff(want, b.Status(), same); diff != "" || want.State != breaker.Tripped {
		t.Errorf("%s: %s", want.State, diff)
	}
}

func TestALatencyBelowTheNanosecondIsComparedExactly(t *testing.T) {
	third := big.NewRat(100, 3) // 33.333… ms: three times it is 100 ms to the last digit
	b := usual(t, func(c *breaker.Config) { c.Reference = third })
	for range 30 {
		b.Add(breaker.Completion{Latency: 100*time.Millisecond - 1})
	}
	if b.Trip() != nil {
		t.Error("a nanosecond less than the threshold trips")
	}
	b.Add(breaker.Completion{Latency: 100 * time.Millisecond})
	if b.Trip() == nil {
		t.Error("the threshold itself does not trip")
	}
}

func TestSettingsOutOfBoundsAreRefused(t *testing.T) {
	for name, edit := range map[string]func(*breaker.Config){
		"no window":              func(c *breaker.Config) { c.Window, c.Minimum = 0, 0 },
		"a window without bound": func(c *breaker.Config) { c.Window = breaker.MaxWindow + 1 },
		"no minimum":             func(c *breaker.Config) { c.Minimum = 0 },
		"more than the window":   func(c *breaker.Config) { c.Minimum = c.Window + 1 },
		"no rate":                func(c *breaker.Config) { c.ErrorRate = nil },
		"a rate of nothing":      func(c *breaker.Config) { c.ErrorRate = new(big.Rat) },
		"a rate above all":       func(c *breaker.Config) { c.ErrorRate = big.NewRat(101, 100) },
		"no multiplier":          func(c *breaker.Config) { c.Reference, c.Multiplier = big.NewRat(1, 1), nil },
		"a latency of nothing":   func(c *breaker.Config) { c.Absolute = new(big.Rat) },
	} {
		cfg := breaker.Default()
		edit(&cfg)
		if _, err := breaker.New(cfg); !errors.Is(err, breaker.ErrConfig) {
			t.Errorf("%s gives %v", name, err)
		}
	}
}

func TestADecimalIsReadAsWhatItSays(t *testing.T) {
	for text, want := range map[string]*big.Rat{"0.25": big.NewRat(1, 4), "3": big.NewRat(3, 1), "0.019": big.NewRat(19, 1000)} {
		if got, err := breaker.ParseDecimal(text); err != nil || got.Cmp(want) != 0 {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-1", "1e9", "1/3", "0x1", " 1", "1.", ".5", "1_0", "NaN", "1234567890123456789", "1.1234567890123456789"} {
		if got, err := breaker.ParseDecimal(text); !errors.Is(err, breaker.ErrConfig) {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}
