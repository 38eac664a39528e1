package service

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/braidhq/braid/pkg/strictyaml"
)

// Estimate says how many rows to expect: the product of the numbers of values, times the interval over the step.
type Estimate struct {
	Per    []string              // parameters whose values count
	Absent strictyaml.Map[int64] // of these, those that may be left out: how many values count then
	Every  time.Duration         // between two rows of one series; 0: one row
	Probe  Probe
}

// Probe is a request that asks the service itself for the number of rows.
type Probe struct {
	Query strictyaml.Map[Template] `yaml:"query"`          // parameters of the request
	Count Source                   `yaml:"count,required"` // where the answer says how many
}

type estimateRule struct {
	Rows *struct {
		Per    []string              `yaml:"per"`    // parameters whose numbers of values are multiplied
		Absent strictyaml.Map[int64] `yaml:"absent"` // parameter → how many values count when a query gives none
		Every  time.Duration         `yaml:"every"`  // time between two rows of a series
	} `yaml:"rows"` // the product of the numbers of values, times the interval over the step
	Probe Probe `yaml:"probe"` // read, and nothing is asked
}

// Estimate gives the declared estimate; ok is false when there is none.
func (c *Collection) Estimate() (estimate Estimate, ok bool) { return c.estimate, c.estimated }

// maxAbsent bounds what a definition may take a parameter for that is not given.
const maxAbsent = 1_000_000

// ErrNotEstimated tells that the number of rows cannot be guessed; what is wrapped around it tells why.
var ErrNotEstimated = errors.New("not known")

// EstimateRows guesses the rows that the values give; an interval without an end ends now. It is a guess for sizing and for people.
// The error wraps ErrNotEstimated and says why there is none: the definition has no estimate, a parameter that the rows depend
// on is not given and not in absent, so that any number of its values may answer, or the values leave the time open.
func (c *Collection) EstimateRows(v Values, now time.Time) (int64, error) {
	if !c.estimated {
		return 0, fmt.Errorf("%w: the definition has no estimate", ErrNotEstimated)
	}
	guess := 1.0
	for _, name := range c.estimate.Per {
		param, _ := c.parameter(name)
		values, _ := param.sent(v)
		count := int64(len(param.canonicalList(values)))
		if count == 0 {
			count = c.estimate.absent(name)
		}
		if count == 0 {
			return 0, fmt.Errorf("%w: %s is not given", ErrNotEstimated, name)
		}
		guess *= float64(count)
	}
	if c.estimate.Every > 0 {
		steps, err := c.estimatedSteps(v, now)
		if err != nil {
			return 0, err
		}
		guess *= steps
	}
	return int64(min(math.Ceil(guess), 1<<53)), nil
}

// absent is how many values count of a parameter that is not given; 0: not known.
func (e *Estimate) absent(name string) int64 {
	for parameter, values := range e.Absent.All() {
		if parameter == name {
			return values
		}
	}
	return 0
}

// estimatedSteps measures the first interval that is declared.
func (c *Collection) estimatedSteps(v Values, now time.Time) (float64, error) {
	for i := range c.params {
		param := &c.params[i]
		if param.Type != TypeInterval {
			continue
		}
		values, given := param.sent(v)
		if !given || len(values) == 0 {
			return 0, fmt.Errorf("%w: %s is not given", ErrNotEstimated, param.Name)
		}
		span, err := ParseInterval(param.Of, values)
		switch {
		case err != nil || span.Unit == UnitDuration:
			return 0, fmt.Errorf("%w: the length of %s is the service's to tell", ErrNotEstimated, param.Name)
		case span.From.IsZero():
			return 0, fmt.Errorf("%w: %s has no begin", ErrNotEstimated, param.Name)
		case span.Behind.IsZero():
			span.Behind = now
		}
		return max(1, span.Behind.Sub(span.From).Seconds()/c.estimate.Every.Seconds()), nil
	}
	return 0, fmt.Errorf("%w: the definition has no interval to measure", ErrNotEstimated)
}

func (c *Collection) setEstimate(rule estimateRule, n strictyaml.Node) {
	if rule.Rows == nil {
		return
	}
	c.estimated = true
	c.estimate = Estimate{Per: rule.Rows.Per, Absent: rule.Rows.Absent, Every: rule.Rows.Every, Probe: rule.Probe}
	for i, name := range rule.Rows.Per {
		if _, ok := c.parameter(name); !ok {
			n.At("rows", "per", i).Fail("the parameter %q is not declared%s", name, strictyaml.DidYouMean(name, c.parameterNames()))
		}
	}
	for name, values := range rule.Rows.Absent.All() {
		at := n.At("rows", "absent", name)
		if !slices.Contains(rule.Rows.Per, name) {
			at.Fail("%q is not one of per%s", name, strictyaml.DidYouMean(name, rule.Rows.Per))
		}
		checkRange(at, values, 1, maxAbsent)
	}
}
