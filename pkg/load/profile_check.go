package load

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/braidhq/braid/pkg/breaker"
	"github.com/braidhq/braid/pkg/planner/matrix"
)

// Bounds and defaults of profiles.
const (
	DefaultCap      = 500
	DefaultDeadline = 65 * time.Second // just above the server's own default, so that its answer wins
	MaxDrainDefault = 60 * time.Second
	DefaultPatience = 5 * time.Second

	MaxCharts     = 200
	MaxAxesBytes  = 384 << 10 // a profile is one record
	MaxStages     = 50
	MaxThresholds = 200
	MaxLabels     = 20
	minTime       = 10 * time.Millisecond
	maxTime       = 10 * time.Minute
)

// ErrProfile is wrapped by what Validate reports.
var ErrProfile = errors.New("invalid profile")

// problem is what is wrong with one setting of a profile. The path is that of the file's keys.
type problem struct {
	path    []any
	message string
}

func (p problem) Error() string {
	var text strings.Builder
	for i, step := range p.path {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&text, "[%d]", step)
		default:
			if i > 0 {
				text.WriteByte('.')
			}
			fmt.Fprint(&text, step)
		}
	}
	return fmt.Sprintf("%s: %s", text.String(), p.message)
}

func (p problem) Unwrap() error { return ErrProfile }

// Validate fills in the defaults of what is 0 or empty and reports all that is wrong. Each error wraps ErrProfile and names the key.
func (p *Profile) Validate() error {
	p.fill()
	var errs []error
	for _, problem := range p.problems() {
		errs = append(errs, problem)
	}
	return errors.Join(errs...)
}

// fill sets what has no value to its default.
func (p *Profile) fill() {
	set := func(into *int, value int) {
		if *into == 0 {
			*into = value
		}
	}
	text := func(into *string, value string) {
		if *into == "" {
			*into = value
		}
	}
	set(&p.V, 1)
	text(&p.Name, p.ID)
	if len(p.Axes) == 0 || string(p.Axes) == "null" {
		p.Axes = []byte("{}")
	}
	set(&p.Cap, DefaultCap)
	if p.Deadline == 0 {
		p.Deadline = DefaultDeadline
	}
	if p.Drain == 0 {
		p.Drain = min(p.Deadline, MaxDrainDefault)
	}
	if p.Arrival != nil && p.Arrival.Patience == 0 {
		p.Arrival.Patience = DefaultPatience
	}
	set(&p.Breaker.Window, 100)
	set(&p.Breaker.Minimum, min(20, max(p.Breaker.Window, 1)))
	text(&p.Breaker.ErrorRate, "0.25")
	text(&p.Breaker.Multiplier, "3")
	set(&p.Sample.Rows, MaxSampleRows)
	set(&p.Sample.Bytes, MaxSampleBytes)
}

// problems of a profile whose defaults are filled in, in the order of the file's keys.
func (p *Profile) problems() []problem {
	c := &checker{}
	c.identity(p)
	c.what(p)
	c.course(p)
	c.breaker(&p.Breaker)
	for i := range p.Thresholds {
		c.threshold(&p.Thresholds[i], i)
	}
	c.between(int64(len(p.Thresholds)), 0, MaxThresholds, "thresholds")
	c.between(int64(p.Sample.Rows), 1, MaxSampleRows, "sample", "rows")
	c.between(int64(p.Sample.Bytes), 2, MaxSampleBytes, "sample", "bytes")
	c.text(p.Reference, 0, 64, "reference")
	c.between(int64(len(p.Labels)), 0, MaxLabels, "labels")
	for _, label := range labels(p.Labels) {
		c.text(label.Name, 1, 60, "labels")
		c.text(label.Value, 0, 200, "labels", label.Name)
	}
	return c.problems
}

// labels gives them by name.
func labels(all map[string]string) []Label {
	var sorted []Label
	for name, value := range all {
		sorted = append(sorted, Label{Name: name, Value: value})
	}
	slices.SortFunc(sorted, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	return sorted
}

type checker struct{ problems []problem }

func (c *checker) fail(path []any, format string, args ...any) {
	c.problems = append(c.problems, problem{path: path, message: fmt.Sprintf(format, args...)})
}

func (c *checker) between(n, least, most int64, path ...any) {
	if n < least || n > most {
		c.fail(path, "is %d, want %d to %d", n, least, most)
	}
}

func (c *checker) duration(d time.Duration, path ...any) {
	if d < minTime || d > maxTime {
		c.fail(path, "is %s, want %s to %s", d, minTime, maxTime)
	}
}

func (c *checker) text(s string, least, most int, path ...any) {
	switch n := utf8.RuneCountInString(s); {
	case n < least:
		c.fail(path, "is empty; give one")
	case n > most:
		c.fail(path, "has %d characters, want at most %d", n, most)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		c.fail(path, "has a control character or is not UTF-8")
	}
}

func (c *checker) identity(p *Profile) {
	if !profileID.MatchString(p.ID) {
		c.fail([]any{"id"}, "is %.70q, want lower-case letters, digits and hyphens, at most 64; without the key the file's name gives it", p.ID)
	}
	if p.Name != p.ID {
		c.text(p.Name, 1, 200, "name")
	}
	c.text(p.Environment, 1, 64, "environment")
}

func (c *checker) what(p *Profile) {
	c.text(p.Dashboard, 1, 255, "dashboard")
	c.text(p.Tab, 0, 255, "tab")
	c.between(int64(len(p.Charts)), 0, MaxCharts, "charts")
	seen := make(map[int64]bool)
	for i, chart := range p.Charts {
		switch {
		case chart < 1:
			c.fail([]any{"charts", i}, "is %d, want a chart's id, 1 or more", chart)
		case seen[chart]:
			c.fail([]any{"charts", i}, "names the chart %d again; remove it", chart)
		}
		seen[chart] = true
	}
	c.between(int64(p.Cap), 1, matrix.MaxCap, "cap")
	if len(p.Axes) > MaxAxesBytes {
		c.fail([]any{"axes"}, "have %d bytes as JSON, want at most %d; give fewer values", len(p.Axes), MaxAxesBytes)
		return
	}
	var bad *matrix.Error
	if _, err := matrix.Parse(p.Axes); errors.As(err, &bad) {
		at := []any{"axes"}
		if bad.Axis != "" {
			at = append(at, bad.Axis)
		}
		if bad.Value >= 0 {
			at = append(at, bad.Value)
		}
		c.fail(at, "%s", bad.Message)
	}
}

func (c *checker) course(p *Profile) {
	const most = 10_000
	c.between(int64(p.Concurrency), 1, most, "concurrency")
	c.between(int64(len(p.Stages)), 0, MaxStages, "stages")
	for i, s := range p.Stages {
		c.between(int64(s.Concurrency), 1, int64(p.Concurrency), "stages", i, "concurrency")
		switch last := i == len(p.Stages)-1; {
		case s.Executions < 0 || s.Lasts < 0 || s.Lasts > 24*time.Hour:
			c.fail([]any{"stages", i}, "ends after %d executions or %s, want 0 or more, and at most 24h", s.Executions, s.Lasts)
		case s.Executions > 0 && s.Lasts > 0:
			c.fail([]any{"stages", i}, "has both executions and lasts; one of them ends it")
		case !last && s.Executions == 0 && s.Lasts == 0:
			c.fail([]any{"stages", i}, "has no end, and a stage follows it; give it executions or lasts")
		}
	}
	if a := p.Arrival; a != nil {
		if !(a.PerSecond > 0 && a.PerSecond <= 1000) || math.IsNaN(a.PerSecond) {
			c.fail([]any{"arrival", "per_second"}, "is %v, want above 0 to 1000", a.PerSecond)
		}
		c.duration(a.Patience, "arrival", "patience")
	}
	c.between(int64(p.WarmUp), 0, matrix.MaxCap*MaxCharts, "warm_up")
	c.duration(p.Deadline, "deadline")
	c.duration(p.Drain, "drain")
}

func (c *checker) breaker(b *BreakerRules) {
	before := len(c.problems)
	c.between(int64(b.Window), 1, breaker.MaxWindow, "breaker", "window")
	c.between(int64(b.Minimum), 1, int64(max(b.Window, 1)), "breaker", "minimum")
	for _, d := range []struct{ name, text string }{
		{"error_rate", b.ErrorRate}, {"multiplier", b.Multiplier}, {"reference_p99_ms", b.ReferenceP99}, {"absolute_p99_ms", b.AbsoluteP99},
	} {
		if d.text == "" {
			continue
		}
		switch n, err := breaker.ParseDecimal(d.text); {
		case err != nil:
			c.fail([]any{"breaker", d.name}, "%.40q is no decimal number such as 0.25", d.text)
		case n.Sign() == 0 && d.name != "reference_p99_ms":
			c.fail([]any{"breaker", d.name}, "is 0, want more")
		case d.name == "error_rate" && n.Cmp(big.NewRat(1, 1)) > 0:
			c.fail([]any{"breaker", d.name}, "is %s, want at most 1", d.text)
		}
	}
	for i, kind := range b.Excluded {
		if !slices.Contains([]string{Forbidden, BadRequest, NotFound}, kind) {
			c.fail([]any{"breaker", "excluded", i}, "is %.40q; only forbidden, bad_request and not_found may be left out: the others speak of the server", kind)
		}
	}
	if len(c.problems) == before {
		if _, err := b.config(nil); err != nil {
			c.fail([]any{"breaker"}, "%s", err)
		}
	}
}
