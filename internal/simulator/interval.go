package simulator

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// interval is a stretch of time, both ends in it; a zero end is open.
type interval struct {
	from, to time.Time
}

// meets tells whether two intervals share an instant.
func (i interval) meets(other interval) bool {
	return (i.from.IsZero() || other.to.IsZero() || !i.from.After(other.to)) &&
		(i.to.IsZero() || other.from.IsZero() || !other.from.After(i.to))
}

// overlap is what two intervals share; it may be empty.
func (i interval) overlap(other interval) interval {
	if i.from.IsZero() || other.from.After(i.from) {
		i.from = other.from
	}
	if i.to.IsZero() || !other.to.IsZero() && other.to.Before(i.to) {
		i.to = other.to
	}
	return i
}

// parseInterval reads an instant, a date, an interval of these with ".." for an open end, or an ISO 8601 duration, which
// ends now.
func parseInterval(value string, now time.Time) (interval, error) {
	if strings.HasPrefix(value, "P") {
		from, err := durationBefore(value, now)
		return interval{from, now}, err
	}
	from, to, isInterval := strings.Cut(value, "/")
	if !isInterval {
		return parseMoment(value)
	}
	var i interval
	if from != ".." {
		first, err := parseMoment(from)
		if err != nil {
			return interval{}, err
		}
		i.from = first.from
	}
	if to != ".." {
		last, err := parseMoment(to)
		if err != nil {
			return interval{}, err
		}
		i.to = last.to
	}
	if !i.from.IsZero() && !i.to.IsZero() && i.from.After(i.to) {
		return interval{}, fmt.Errorf("%q ends before it begins", clip(value))
	}
	return i, nil
}

// parseMoment reads a date, which is the whole day, or an instant with its offset.
func parseMoment(text string) (interval, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return interval{day, day.Add(24*time.Hour - 1)}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return interval{}, fmt.Errorf("%q is not a date (YYYY-MM-DD) nor an instant with its offset (YYYY-MM-DDThh:mm:ssZ)", clip(text))
	}
	return interval{at.UTC(), at.UTC()}, nil
}

// durationBefore goes back from now by a duration such as P7D, P1Y2M or PT36H.
func durationBefore(text string, now time.Time) (time.Time, error) {
	bad := fmt.Errorf("%q is not a duration such as P7D, P1M or PT36H", clip(text))
	rest, at, inTime, counted := strings.TrimPrefix(text, "P"), now, false, false
	for rest != "" {
		if rest[0] == 'T' && !inTime {
			inTime, rest = true, rest[1:]
			continue
		}
		digits := 0
		for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
			digits++
		}
		n, err := strconv.Atoi(rest[:digits])
		if err != nil || n > 100_000 || digits == len(rest) {
			return time.Time{}, bad
		}
		unit := rest[digits]
		rest, counted = rest[digits+1:], true
		switch {
		case !inTime && unit == 'Y':
			at = at.AddDate(-n, 0, 0)
		case !inTime && unit == 'M':
			at = at.AddDate(0, -n, 0)
		case !inTime && unit == 'W':
			at = at.AddDate(0, 0, -7*n)
		case !inTime && unit == 'D':
			at = at.AddDate(0, 0, -n)
		case inTime && unit == 'H':
			at = at.Add(-time.Duration(n) * time.Hour)
		case inTime && unit == 'M':
			at = at.Add(-time.Duration(n) * time.Minute)
		case inTime && unit == 'S':
			at = at.Add(-time.Duration(n) * time.Second)
		default:
			return time.Time{}, bad
		}
	}
	if !counted {
		return time.Time{}, bad
	}
	return at, nil
}
