package breaker

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
)

// ErrConfig reports settings that are no breaker's.
var ErrConfig = errors.New("invalid breaker")

// Config of a breaker. Default gives the usual one.
type Config struct {
	Disabled  bool     // it never trips, and only counts
	Window    int      // completions that are looked at, the last ones; at most MaxWindow
	Minimum   int      // fewer completions, or fewer successes for the latency, trip nothing
	ErrorRate *big.Rat // share of failures that trips: above 0, at most 1

	// The latency trips when the 99th percentile of the successes in the window reaches the lower of two thresholds:
	// Multiplier × Reference, and Absolute. Without either, the latency trips nothing.
	Multiplier *big.Rat // above 0
	Reference  *big.Rat // milliseconds of an earlier run's 99th percentile; nil, 0 or less: there is none
	Absolute   *big.Rat // milliseconds, above 0; nil: none

	Excluded []string // kinds of failures that are counted apart: they complete, and are neither failures nor successes
}

// MaxWindow bounds the window, and so the memory.
const MaxWindow = 10_000

// Default is a window of 100, of which at least 20 must have completed, and that trips at a quarter of failures. Its latency
// has a multiplier, and no reference.
func Default() Config {
	return Config{Window: 100, Minimum: 20, ErrorRate: big.NewRat(1, 4), Multiplier: big.NewRat(3, 1)}
}

// validate reports all that is out of bounds. The error wraps ErrConfig.
func (c *Config) validate() error {
	var errs []error
	problem := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
	}
	if c.Window < 1 || c.Window > MaxWindow {
		problem("window is %d, want 1 to %d", c.Window, MaxWindow)
	}
	if c.Minimum < 1 || c.Minimum > c.Window {
		problem("minimum is %d, want 1 to the window's %d: else nothing could trip", c.Minimum, c.Window)
	}
	if c.ErrorRate == nil || c.ErrorRate.Sign() <= 0 || c.ErrorRate.Cmp(big.NewRat(1, 1)) > 0 {
		problem("error rate is %v, want above 0 to 1", c.ErrorRate)
	}
	if hasReference(c) && (c.Multiplier == nil || c.Multiplier.Sign() <= 0) {
		problem("latency multiplier is %v, want above 0", c.Multiplier)
	}
	if c.Absolute != nil && c.Absolute.Sign() <= 0 {
		problem("absolute latency is %s ms, want above 0", c.Absolute.RatString())
	}
	return errors.Join(errs...)
}

func hasReference(c *Config) bool { return c.Reference != nil && c.Reference.Sign() > 0 }

// threshold is the latency in milliseconds that trips; nil when none does.
func (c *Config) threshold() (*big.Rat, Basis) {
	var relative *big.Rat
	if hasReference(c) {
		relative = new(big.Rat).Mul(c.Multiplier, c.Reference)
	}
	switch {
	case c.Absolute != nil && (relative == nil || c.Absolute.Cmp(relative) <= 0):
		return new(big.Rat).Set(c.Absolute), ByAbsolute
	case relative != nil:
		return relative, ByReference
	}
	return nil, ""
}

var decimal = regexp.MustCompile(`^[0-9]{1,18}(?:\.[0-9]{1,18})?$`)

// ParseDecimal reads a decimal number such as 0.25 as exactly what it says, for a Config. It takes no sign and no exponent, and
// at most 18 digits on each side of the point. The error wraps ErrConfig.
func ParseDecimal(text string) (*big.Rat, error) {
	if decimal.MatchString(text) {
		if r, ok := new(big.Rat).SetString(text); ok {
			return r, nil
		}
	}
	return nil, fmt.Errorf("%w: %.40q is no decimal number such as 0.25", ErrConfig, text)
}
