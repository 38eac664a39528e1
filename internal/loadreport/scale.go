package loadreport

import (
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/timing"
)

const width = 160 // of a bar, in units of the drawing

// scale places latencies on a bar, logarithmically: what the cache answers and what the database answers are often a hundredfold apart. All bars of a
// report have one scale.
type scale struct {
	From, To string
	Ticks    []string // places of the decades between
	low      float64  // decades of a millisecond
	decades  float64
}

// bar is one group: a line from p50 to p99, with a mark at p95.
type bar struct {
	There bool
	Line  string // from p50 to p99
	P50   string
	P95   string
}

func scaleOf(r *load.Report) scale {
	least, most := math.Inf(1), math.Inf(-1)
	see := func(q *load.Quantiles) {
		for _, m := range []*timing.Milliseconds{q.P50, q.P99} {
			if m != nil {
				at := place(m)
				least, most = min(least, at), max(most, at)
			}
		}
	}
	for _, groups := range [][]load.Group{r.ByChart, r.ByBoth, r.ByCache, r.ByRole} {
		for i := range groups {
			see(&groups[i].Upstream)
		}
	}
	if math.IsInf(least, 1) {
		return scale{}
	}
	s := scale{low: math.Floor(least)}
	s.decades = max(1, math.Ceil(most)-s.low)
	s.From, s.To = decade(s.low), decade(s.low+s.decades)
	for d := 1.0; d < s.decades; d++ {
		s.Ticks = append(s.Ticks, number(d/s.decades*width))
	}
	return s
}

// place is the logarithm of the milliseconds; what takes less than a microsecond counts as one.
func place(m *timing.Milliseconds) float64 {
	return math.Log10(max(float64(*m), float64(time.Microsecond)) / float64(time.Millisecond))
}

func decade(exponent float64) string {
	switch v := math.Pow(10, exponent); {
	case v >= 1000:
		return strconv.FormatFloat(v/1000, 'f', -1, 64) + " s"
	case v >= 1:
		return strconv.FormatFloat(v, 'f', 0, 64) + " ms"
	default:
		return strconv.FormatFloat(math.Round(v*1000), 'f', 0, 64) + " µs"
	}
}

func number(v float64) string { return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0") }

func (s scale) bar(q *load.Quantiles) bar {
	if q.P50 == nil || q.P95 == nil || q.P99 == nil || s.decades == 0 {
		return bar{}
	}
	at := func(m *timing.Milliseconds) string {
		return number(min(width, max(0, (place(m)-s.low)/s.decades*width)))
	}
	return bar{There: true, Line: "M" + at(q.P50) + " 6H" + at(q.P99), P50: at(q.P50), P95: at(q.P95)}
}

// Path is the drawing of the line and of the mark at p95.
func (b bar) Path() template.HTMLAttr {
	return template.HTMLAttr(`d="` + b.Line + `M` + b.P95 + ` 2V10"`) //nolint:gosec // numbers of this package alone
}
