package service

import (
	"fmt"
	"strconv"

	"github.com/braidhq/braid/pkg/strictyaml"
)

// Window says how an interval is divided.
type Window struct {
	Span     Span // longest window; zero: divided only when the service refuses the whole, or when more chunks are asked for
	Align    Align
	Boundary Boundary
}

// Span is a length of time in units of the calendar.
type Span struct{ Years, Months, Days int }

// IsZero tells whether there is no longest window.
func (s Span) IsZero() bool { return s == Span{} }

// String is the span as a definition writes it.
func (s Span) String() string {
	switch {
	case s.Years > 0:
		return strconv.Itoa(s.Years) + "y"
	case s.Months > 0:
		return strconv.Itoa(s.Months) + "mo"
	}
	return strconv.Itoa(s.Days) + "d"
}

// maxSpanYears bounds a span, in whatever unit it is written.
const maxSpanYears = 1000

// UnmarshalText reads a number with its unit: 1y, 6mo or 30d.
func (s *Span) UnmarshalText(text []byte) error {
	number, unit := cutDigits(string(text))
	n, err := strconv.Atoi(number)
	bad := fmt.Errorf("%.40q is no span; write a number with its unit, such as 1y, 6mo or 30d", text)
	if err != nil || n < 1 || number[0] == '0' {
		return bad
	}
	perYear := 1
	switch unit {
	case "y":
		*s = Span{Years: n}
	case "mo":
		*s, perYear = Span{Months: n}, 12
	case "d":
		*s, perYear = Span{Days: n}, 366
	default:
		return bad
	}
	if n > maxSpanYears*perYear {
		return fmt.Errorf("%.40s is out of bounds; the longest span is %dy", text, maxSpanYears)
	}
	return nil
}

// Align tells where windows begin.
type Align string

// The alignments.
const (
	AlignNone         Align = "none" // at the interval's own beginning
	AlignDay          Align = "day"
	AlignMonth        Align = "month"
	AlignCalendarYear Align = "calendar_year"
	AlignWaterYear    Align = "water_year" // October 1
)

// Choices lists the alignments.
func (Align) Choices() []string {
	return []string{"none", "day", "month", "calendar_year", "water_year"}
}

// Boundary tells how two windows meet.
type Boundary string

// The boundaries.
const (
	BoundaryStep   Boundary = "step"   // the next window begins one step of the interval's form behind the one before
	BoundaryShared Boundary = "shared" // both have the instant between them; the key removes the rows that come twice
)

// Choices lists the boundaries.
func (Boundary) Choices() []string { return []string{"step", "shared"} }

// checkWindow fills in what is left out and refuses windows that the interval's forms cannot express.
func (c *Collection) checkWindow(axis *Axis, keyed bool, n strictyaml.Node) {
	w := &axis.Window
	if w.Align == "" {
		w.Align = AlignNone
	}
	if w.Boundary == "" {
		w.Boundary = BoundaryStep
	}
	if w.Boundary == BoundaryShared && !keyed {
		n.At("boundary").Fail("shared windows give rows twice; declare the `key` that removes them, or use step")
	}
	param, ok := c.parameter(axis.Params[0])
	if !ok {
		return
	}
	for _, unit := range param.Of {
		switch {
		case unit == UnitYear && w.Span.Months+w.Span.Days > 0 || unit == UnitMonth && w.Span.Days > 0:
			n.At("span").Fail("%s is no whole number of the %ss that %q takes", w.Span, unit, param.Name)
		case unit == UnitYear && w.Align == AlignWaterYear:
			n.At("align").Fail("a water year begins in October, and %q takes years", param.Name)
		}
	}
}
