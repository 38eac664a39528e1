package load

import "github.com/braidhq/braid/pkg/timing"

// Comparison is how a run's numbers differ from those of an earlier one, its base.
type Comparison struct {
	V           int          `json:"v"`
	Base        string       `json:"base"`
	Run         string       `json:"run"`
	Comparable  bool         `json:"comparable"`
	Reasons     []string     `json:"reasons"`            // why they are not comparable; nothing is compared then
	Notes       []string     `json:"notes"`              // what differs and is to be read beside the numbers
	Noise       Noise        `json:"noise"`              //
	Differences []Difference `json:"differences"`        // by chart and cache state
	Failures    *RateChange  `json:"failures,omitempty"` // of all charts together; nil: not comparable
	Rates       []RateChange `json:"rates"`              // by chart
	Judged      int          `json:"judged"`             // differences with enough samples on both sides
	Slower      int          `json:"slower"`             // of these
	Faster      int          `json:"faster"`             // likewise
	Worse       int          `json:"worse"`              // failure rates, that of all charts together among them
	Better      int          `json:"better"`
	Gate        ReleaseGate  `json:"gate"`
}

// ReleaseGate says whether the comparison shows that the run is no worse than its base. What could not be judged is not shown.
type ReleaseGate struct {
	Passed  bool     `json:"passed"`
	Reasons []string `json:"reasons"` // why not
}

// Noise is the floor below which a difference is none: it counts when it is above both.
type Noise struct {
	Relative string              `json:"relative"` // decimal text, of the base
	Absolute timing.Milliseconds `json:"absolute_ms"`
}

// Change is what a difference comes to.
type Change string

// The changes.
const (
	Same    Change = "same" // within the noise
	Slower  Change = "slower"
	Faster  Change = "faster"
	Worse   Change = "worse"    // a failure rate that is above by more than chance explains
	Better  Change = "better"   // likewise below
	TooFew  Change = "too_few"  // samples, on either side
	OneSide Change = "one_side" // only one run has samples
)

// Difference is one percentile of the upstream latency of a chart and cache state.
type Difference struct {
	Chart       int64                `json:"chart"`
	Name        string               `json:"name,omitempty"`
	Cache       CacheState           `json:"cache_state"`
	Percentile  string               `json:"percentile"` // p50, p90, p95 or p99
	Base        *timing.Milliseconds `json:"base_ms"`
	Run         *timing.Milliseconds `json:"run_ms"`
	BaseSamples int                  `json:"base_sample_count"`
	RunSamples  int                  `json:"run_sample_count"`
	Delta       *timing.Milliseconds `json:"delta_ms"`
	Ratio       string               `json:"ratio,omitempty"` // of the run to the base, with three decimals
	Change      Change               `json:"change"`
	SmallN      bool                 `json:"small_n"` // the percentile is the greatest sample of a side
}

// RateChange is how often a chart failed.
type RateChange struct {
	Chart  int64        `json:"chart"` // 0: all together
	Name   string       `json:"name,omitempty"`
	Base   *timing.Rate `json:"base_failure_rate"` // errors and timeouts of what completed
	Run    *timing.Rate `json:"run_failure_rate"`
	Change Change       `json:"change"`
}
