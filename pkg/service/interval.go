package service

import (
	"errors"
	"fmt"
	"slices"
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
	UnitTimestamp Unit = "timestamp" // RFC 3339 with an offset; sent in UTC to the second
	UnitDuration  Unit = "duration"  // what only the service reads: P7D, and intervals in forms that `of` does not list
)

// Choices lists the units.
func (Unit) Choices() []string { return []string{"date", "month", "year", "timestamp", "duration"} }

// OpenEnd stands for an end that is not bounded.
const OpenEnd = ".."

func (u Unit) layout() string {
	switch u {
	case UnitMonth:
		return "2006-01"
	case UnitYear:
		return "2006"
	case UnitTimestamp:
		return instantLayout
	case UnitDate, UnitDuration:
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
	case UnitDuration:
		return "P7D"
	case UnitDate:
	}
	return "YYYY-MM-DD"
}

func (u Unit) parse(text string) (time.Time, error) {
	switch u {
	case UnitDate:
		return parseDay(text)
	case UnitTimestamp:
		return parseInstant(text)
	case UnitMonth, UnitYear:
		return parseLayout(u.layout(), text)
	case UnitDuration:
	}
	return time.Time{}, errors.New("has another form")
}

// Write gives the text of an instant, of the day, month or year that begins with it.
func (u Unit) Write(t time.Time) string { return t.UTC().Format(u.layout()) }

// End is the first instant behind what t stands for in this form.
func (u Unit) End(t time.Time) time.Time {
	switch u {
	case UnitMonth:
		return t.AddDate(0, 1, 0)
	case UnitYear:
		return t.AddDate(1, 0, 0)
	case UnitDate:
		return t.AddDate(0, 0, 1)
	case UnitTimestamp, UnitDuration:
	}
	return t
}

// last is the begin of the last day, month or year before behind, or for timestamps behind itself.
func (u Unit) last(behind time.Time) time.Time {
	switch u {
	case UnitMonth:
		return behind.AddDate(0, -1, 0)
	case UnitYear:
		return behind.AddDate(-1, 0, 0)
	case UnitDate:
		return behind.AddDate(0, 0, -1)
	case UnitTimestamp, UnitDuration:
	}
	return behind
}

// Interval is a checked interval: from its first instant to the first behind it; for timestamps to the last in it. A zero time is
// an open end.
type Interval struct {
	Unit         Unit // the form of its ends
	From, Behind time.Time
	Single       bool   // one instant, day, month or year, asked for as such and not as a pair: it is not divided
	text         string // with UnitDuration: as it is sent
}

// Values writes the interval back as values that ParseInterval reads to the same.
func (i Interval) Values() []string {
	switch {
	case i.Unit == UnitDuration:
		return []string{i.text}
	case i.Single:
		return []string{i.Unit.Write(i.From)}
	}
	from, to := i.ends()
	return []string{from, to}
}

// ends gives both ends as they are sent.
func (i Interval) ends() (from, to string) {
	if i.Unit == UnitDuration {
		return i.text, i.text
	}
	from, to = OpenEnd, OpenEnd
	if !i.From.IsZero() {
		from = i.Unit.Write(i.From)
	}
	if !i.Behind.IsZero() {
		to = i.Unit.Write(i.Unit.last(i.Behind))
	}
	return from, to
}

// ParseInterval reads an interval whose ends are in one of the units: two texts from and to, of which one may be .. or blank for
// an open end; one text a/b that means the same; or one instant, day, month or year. When the units have UnitDuration,
// one text may also be a duration, or an interval a/b with ends in other forms of ISO 8601, which only the service reads.
// The error names everything that is wrong.
func ParseInterval(units []Unit, values []string) (Interval, error) {
	switch len(values) {
	case 1:
		return parseOne(units, values[0])
	case 2:
		return parsePair(units, values[0], values[1])
	}
	return Interval{}, fmt.Errorf("an interval is two values, from and to, or one, not %d; write {from: A, to: B}", len(values))
}

var errBothOpen = errors.New("both ends are open; leave the parameter out to ask for all times")

func isOpen(text string) bool { return text == OpenEnd || strings.TrimSpace(text) == "" }

func parseOne(units []Unit, text string) (Interval, error) {
	from, to, pair := strings.Cut(text, "/")
	switch {
	case isOpen(text):
		return Interval{}, errBothOpen
	case !pair && slices.Contains(units, UnitDuration) && isDuration(text):
		return Interval{Unit: UnitDuration, text: text}, nil
	case !pair:
		unit, t, err := parseEnd(units, text)
		if err != nil {
			return Interval{}, err
		}
		return Interval{Unit: unit, From: t, Behind: unit.End(t), Single: true}, nil
	case strings.Contains(to, "/"):
		return Interval{}, fmt.Errorf("%.80q has more than one slash; an interval is from/to", text)
	}
	interval, err := parsePair(units, from, to)
	if err != nil && slices.Contains(units, UnitDuration) && isForeign(from, to) {
		return Interval{Unit: UnitDuration, text: text}, nil
	}
	return interval, err
}

// isForeign tells whether from/to is an interval of ISO 8601 that is not in the units of a parameter: its ends are days, instants
// with their offset, open or, one of them, a duration.
func isForeign(from, to string) bool {
	begin, fromOK := foreignEnd(from)
	end, toOK := foreignEnd(to)
	switch {
	case !fromOK || !toOK || isOpen(from) && isOpen(to):
		return false
	case begin.IsZero() || end.IsZero():
		return !isDuration(from) || !isDuration(to)
	}
	return !end.Before(begin)
}

// foreignEnd reads an end; what has no place in time by itself is a zero time.
func foreignEnd(text string) (t time.Time, ok bool) {
	if isOpen(text) || isDuration(text) {
		return t, true
	}
	if t, err := parseInstant(text); err == nil {
		return t, true
	}
	t, err := parseLayout(time.DateOnly, text)
	return t, err == nil
}

func parsePair(units []Unit, from, to string) (interval Interval, err error) {
	if isOpen(from) && isOpen(to) {
		return interval, errBothOpen
	}
	var first, last time.Time
	var fromUnit, toUnit Unit
	var fromErr, toErr error
	if !isOpen(from) {
		fromUnit, first, fromErr = parseEnd(units, from)
	}
	if !isOpen(to) {
		toUnit, last, toErr = parseEnd(units, to)
	}
	switch {
	case fromErr != nil || toErr != nil:
		return interval, errors.Join(fromErr, toErr)
	case fromUnit == "":
		return Interval{Unit: toUnit, Behind: toUnit.End(last)}, nil
	case toUnit == "":
		return Interval{Unit: fromUnit, From: first}, nil
	case fromUnit != toUnit:
		return interval, fmt.Errorf("%q is a %s and %q a %s; give both ends in one form", from, fromUnit, to, toUnit)
	case last.Before(first):
		return interval, fmt.Errorf("from %s is after to %s; exchange them", from, to)
	}
	return Interval{Unit: fromUnit, From: first, Behind: toUnit.End(last)}, nil
}

// parseEnd reads an end in the first unit that fits. A time is a timestamp where these are taken, and else its day.
func parseEnd(units []Unit, text string) (Unit, time.Time, error) {
	timestamps := slices.Contains(units, UnitTimestamp) && len(text) > len(time.DateOnly)
	var problem error
	var offset *noOffsetError
	var names, forms []string
	for _, unit := range units {
		if unit == UnitDuration || timestamps && unit != UnitTimestamp {
			continue
		}
		t, err := unit.parse(text)
		if err == nil {
			return unit, t, nil
		}
		if errors.Is(err, errRange) || errors.As(err, &offset) {
			problem = err
		}
		names, forms = append(names, string(unit)), append(forms, unit.form())
	}
	if problem != nil {
		return "", time.Time{}, fmt.Errorf("%.80q %w", text, problem)
	}
	return "", time.Time{}, fmt.Errorf("%.80q is no %s of the calendar; write %s, or .. for an open end", text, strings.Join(names, " or "), strings.Join(forms, " or "))
}
