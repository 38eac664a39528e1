package query

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/service"
)

// Interval is a span of time. An end that is not given is open; the word today is frozen when the query is resolved.
type Interval struct {
	From string `yaml:"from"` // included; left out: open
	To   string `yaml:"to"`   // included; left out: open; today is frozen when the query is submitted
	Zone string `yaml:"zone"` // of times without an offset; empty: the query's

	fromLine, toLine int // in the query file; 0: not given
}

// Instant is one time.
type Instant struct {
	At   string `yaml:"at,required"` // one time
	Zone string `yaml:"zone"`        // of a time without an offset; empty: the query's
}

// clock is what times are resolved by.
type clock struct {
	today time.Time
	zone  *time.Location // nil: none was declared
}

const wordToday = "today"

// values gives the two ends as a service reads them. An error concerns the end that it is given for.
func (i Interval) values(c clock) (ends []string, fromErr, toErr error) {
	from, fromErr := c.end(i.From, i.To)
	to, toErr := c.end(i.To, i.From)
	return []string{from, to}, fromErr, toErr
}

func (c clock) end(end, other string) (string, error) {
	switch end {
	case "":
		return service.OpenEnd, nil
	case wordToday:
		return c.frozen(other)
	}
	return c.explicit(end)
}

// frozen writes the word today in the form of the other end: a year, a month, a time or a day. Today is the day where the
// zone's clocks are, and in a zone it is its first moment, as every day is.
func (c clock) frozen(other string) (string, error) {
	day := c.today.UTC()
	if c.zone != nil {
		day = c.today.In(c.zone)
	}
	switch {
	case len(other) == len("2006"):
		return day.Format("2006"), nil
	case len(other) == len("2006-01"):
		return day.Format("2006-01"), nil
	case c.zone != nil:
		return c.explicit(day.Format(time.DateOnly))
	case isTime(other):
		return day.Format(time.DateOnly) + "T00:00:00Z", nil
	}
	return day.Format(time.DateOnly), nil
}

func isTime(text string) bool { return strings.Contains(text, "T") || localTime.MatchString(text) }

// needsZone tells whether an end means another time in each zone.
func needsZone(end string) bool { return end == wordToday || localTime.MatchString(end) }

// localTime is a day with a time of day and without an offset.
var localTime = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(:\d{2}(?:\.\d{1,9})?)?$`)

// localDay is a day, which begins at another time in each zone.
var localDay = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// explicit gives a time without an offset the one of the zone; a day stands for its first moment there, and for itself
// where a service takes days. All else stays as it is: what is no time is for the service's definition to judge.
func (c clock) explicit(text string) (string, error) {
	if c.zone == nil {
		return text, nil
	}
	wanted, isDay := text, localDay.MatchString(text)
	if isDay {
		wanted += "T00:00:00"
	}
	parts := localTime.FindStringSubmatch(wanted)
	if parts == nil {
		return text, nil
	}
	seconds := parts[3]
	if seconds == "" {
		seconds = ":00"
	}
	wall, err := time.Parse("2006-01-02T15:04:05", parts[1]+"T"+parts[2]+seconds)
	if err != nil {
		return "", fmt.Errorf("%.80q is no time of the calendar; write YYYY-MM-DDThh:mm:ss", text)
	}
	switch meant := instants(wall, c.zone); {
	case len(meant) == 1 || len(meant) > 1 && isDay:
		return meant[0].Format(time.RFC3339Nano), nil
	case isDay:
		if first, ok := firstMoment(wall, c.zone); ok {
			return first.Format(time.RFC3339Nano), nil
		}
		return text, nil // clocks went over the whole day
	case len(meant) == 0:
		return "", fmt.Errorf("%q does not exist in %s, where clocks were put forward over it; write another time, or one with its offset", text, c.zone)
	default:
		return "", fmt.Errorf("%q was twice in %s, where clocks were put back; write %s or %s",
			text, c.zone, meant[0].Format(time.RFC3339Nano), meant[1].Format(time.RFC3339Nano))
	}
}

// firstMoment finds the first moment of a day of which clocks were put forward over the midnight.
func firstMoment(midnight time.Time, zone *time.Location) (first time.Time, ok bool) {
	const farthest = 27 * time.Hour
	for at := midnight.Add(-farthest).In(zone); ; {
		_, end := at.ZoneBounds()
		if end.IsZero() || end.After(midnight.Add(farthest)) {
			return first, false
		}
		if at = end; at.Format(time.DateOnly) == midnight.Format(time.DateOnly) {
			return at, true
		}
	}
}

// instants gives the instants at which the clocks of the zone show wall, the earliest first: none where clocks were put
// forward over it, several where they were put back.
func instants(wall time.Time, zone *time.Location) []time.Time {
	const farthest = 27 * time.Hour // no zone is farther from UTC
	var found []time.Time
	last := wall.Add(farthest)
	for at := wall.Add(-farthest).In(zone); ; {
		_, end := at.ZoneBounds()
		_, offset := at.Zone()
		candidate := wall.Add(-time.Duration(offset) * time.Second).In(zone)
		if _, have := candidate.Zone(); have == offset && (len(found) == 0 || !found[len(found)-1].Equal(candidate)) {
			if !candidate.Before(at) && (end.IsZero() || candidate.Before(end)) {
				found = append(found, candidate)
			}
		}
		if end.IsZero() || end.After(last) {
			return found
		}
		at = end
	}
}
