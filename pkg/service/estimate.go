package service

import (
	"math"
	"time"

	"github.com/braidhq/braid/pkg/strictyaml"
)

// Estimate says how many rows to expect: the product of the numbers of values, times the interval over the step.
type Estimate struct {
	Per   []string      // parameters whose values count
	Every time.Duration // between two rows of one series; 0: one row
	Probe Probe
}

// Probe is a request that asks the service itself for the number of rows.
type Probe struct {
	Query strictyaml.Map[Template] `yaml:"query"`
	Count Source                   `yaml:"count,required"`
}

type estimateRule struct {
	Rows *struct {
		Per   []string      `yaml:"per"`
		Every time.Duration `yaml:"every"`
	} `yaml:"rows"`
	Probe Probe `yaml:"probe"`
}

// Estimate gives the declared estimate; ok is false when there is none.
func (c *Collection) Estimate() (estimate Estimate, ok bool) { return c.estimate, c.estimated }

// EstimateRows guesses the rows that the values give; an interval without an end ends now. It is a guess for sizing
// and for people: a parameter that is not given counts as one value. ok is false when the definition has no estimate
// or the values leave the time open.
func (c *Collection) EstimateRows(v Values, now time.Time) (rows int64, ok bool) {
	if !c.estimated {
		return 0, false
	}
	guess := 1.0
	for _, name := range c.estimate.Per {
		guess *= float64(max(1, len(v[name])))
	}
	if c.estimate.Every > 0 {
		steps, ok := c.estimatedSteps(v, now)
		if !ok {
			return 0, false
		}
		guess *= steps
	}
	return int64(min(math.Ceil(guess), 1<<53)), true
}

// estimatedSteps measures the first interval that is declared.
func (c *Collection) estimatedSteps(v Values, now time.Time) (steps float64, ok bool) {
	for _, param := range c.params {
		if param.Type != TypeInterval {
			continue
		}
		span, err := ParseInterval(param.Of, v[param.Name])
		if err != nil || span.From.IsZero() {
			return 0, false
		}
		if span.Behind.IsZero() {
			span.Behind = now
		}
		return max(1, span.Behind.Sub(span.From).Seconds()/c.estimate.Every.Seconds()), true
	}
	return 0, false
}

func (c *Collection) setEstimate(rule estimateRule, n strictyaml.Node) {
	if rule.Rows == nil {
		return
	}
	c.estimated = true
	c.estimate = Estimate{Per: rule.Rows.Per, Every: rule.Rows.Every, Probe: rule.Probe}
	for i, name := range rule.Rows.Per {
		if _, ok := c.parameter(name); !ok {
			n.At("rows", "per", i).Fail("the parameter %q is not declared%s", name, strictyaml.DidYouMean(name, c.parameterNames()))
		}
	}
}
