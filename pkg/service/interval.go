package service

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Unit is the form of an interval's ends.
type Unit string

// The units.
const (
	UnitDate      Unit = "date"      // YYYY-MM-DD
	UnitMonth     Unit = "month"     // YYYY-MM
	UnitYear      Unit = "year"      // YYYY
	UnitTimestamp Unit = "timestamp" // RFC 3339 with an offset
)

// Choices lists the units.
func (Unit) Choices() []string { return []string{"date", "month", "year", "timestamp"} }

// OpenEnd stands for an end that is not bounded.
const OpenEnd = ".."

func (u Unit) layout() string {
	switch u {
	case UnitMonth:
		return "2006-01"
	case UnitYear:
		return "2006"
	case UnitTimestamp:
		return time.RFC3339
	case UnitDate:
	}
	return time.DateOnly
}

func (u Unit) form() string {
	switch u {
	case UnitMonth:
		return "YYYY-MM"
	case UnitYear:
		return "YYYY"
	case UnitTimestamp:
		return "YYYY-MM-DDThh:mm:ssZ"
	case UnitDate:
	}
	return "YYYY-MM-DD"
}

func (u Unit) parse(text string) (time.Time, error) { return time.Parse(u.layout(), text) }

// End is the first instant behind what t stands for in this form.
func (u Unit) End(t time.Time) time.Time {
	switch u {
	case UnitMonth:
		return t.AddDate(0, 1, 0)
	case UnitYear:
		return t.AddDate(1, 0, 0)
	case UnitDate:
		return t.AddDate(0, 0, 1)
	case UnitTimestamp:
	}
	return t
}

// Interval is a checked interval: from its first instant to the first behind it. A zero time is an open end.
type Interval struct {
	Unit         Unit // the form of its ends
	From, Behind time.Time
}

// ParseInterval reads the ends of an interval, which are given in one of the units.
func ParseInterval(units []Unit, values []string) (Interval, error) {
	var span Interval
	if len(values) != 2 {
		return span, fmt.Errorf("an interval is two values, from and to, not %d; write {from: A, to: B}", len(values))
	}
	if values[0] == OpenEnd && values[1] == OpenEnd {
		return span, errors.New("both ends are open; leave the parameter out to ask for all times")
	}
	var first time.Time
	used := Unit("")
	for i, text := range values {
		if text == OpenEnd {
			continue
		}
		unit, t, err := parseEnd(units, text)
		switch {
		case err != nil:
			return span, err
		case used != "" && used != unit:
			return span, fmt.Errorf("%q is a %s and %q a %s; give both ends in one form", values[0], used, text, unit)
		case i == 1 && used != "" && t.Before(first):
			return span, fmt.Errorf("from %s is after to %s; exchange them", values[0], text)
		case i == 1:
			span.Behind = unit.End(t)
		default:
			first, span.From = t, t
		}
		used, span.Unit = unit, unit
	}
	return span, nil
}

func parseEnd(units []Unit, text string) (Unit, time.Time, error) {
	forms := make([]string, 0, len(units))
	for _, unit := range units {
		if t, err := unit.parse(text); err == nil {
			return unit, t, nil
		}
		forms = append(forms, unit.form())
	}
	return "", time.Time{}, fmt.Errorf("%.80q is no %s of the calendar; write %s, or .. for an open end", text, units[0], strings.Join(forms, " or "))
}
