package service

import (
	"errors"
	"fmt"
	"time"
)

// errRange keeps out what cannot be told from an open end, or written with four digits of year.
var errRange = errors.New("is out of range; the first day is 0001-01-02 and the last 9999-12-31")

const instantLayout = "2006-01-02T15:04:05Z"

// inRange tells whether an instant can be told from the zero time and written with four digits of year.
func inRange(t time.Time) bool { return t.After(time.Time{}) && t.Year() <= 9999 }

// parseDay reads YYYY-MM-DD, also with a time behind it: then the day is the one that is written, whatever the offset.
func parseDay(text string) (time.Time, error) {
	const digits = len(time.DateOnly)
	if len(text) > digits {
		if _, _, ok := parseClock(text[digits:]); !ok {
			return time.Time{}, errors.New("is no day of the calendar")
		}
		text = text[:digits]
	}
	return parseLayout(time.DateOnly, text)
}

func parseLayout(layout, text string) (time.Time, error) {
	if len(text) != len(layout) {
		return time.Time{}, errors.New("has another form")
	}
	t, err := time.Parse(layout, text)
	switch {
	case err != nil:
		return time.Time{}, errors.New("is not in the calendar")
	case !inRange(t):
		return time.Time{}, errRange
	}
	return t, nil
}

// noOffsetError reports a time that may be anywhere.
type noOffsetError struct{ text string }

// Error says how to write the offset, and how to leave it to the query.
func (e *noOffsetError) Error() string {
	clock := ""
	if len(e.text) == len(time.DateOnly) {
		clock = "T00:00:00"
	}
	return fmt.Sprintf("has no offset from UTC; write %.40s%sZ, or with an offset such as -06:00, or give {from: …, to: …, zone: America/Chicago} in the query",
		e.text, clock)
}

// parseInstant reads YYYY-MM-DDThh:mm:ss with an offset, or a space instead of the T, and gives the instant in UTC. A fraction
// of a second is cut off, as it is when the instant is sent.
func parseInstant(text string) (time.Time, error) {
	const digits = len(time.DateOnly)
	if len(text) < digits {
		return time.Time{}, errors.New("has another form")
	}
	day, err := parseLayout(time.DateOnly, text[:digits])
	if err != nil {
		return time.Time{}, err
	}
	seconds, offset, ok := parseClock(text[digits:])
	switch {
	case !ok && len(text) > digits:
		return time.Time{}, errors.New("has another form")
	case !ok || offset == nil:
		return time.Time{}, &noOffsetError{text}
	}
	t := day.Add(time.Duration(seconds-*offset) * time.Second)
	if !inRange(t) {
		return time.Time{}, errRange
	}
	return t, nil
}

// parseClock reads what stands behind a day: T or a space, hh:mm:ss, a fraction, and an offset as Z, +hh:mm or +hhmm. Without an
// offset it is nil.
func parseClock(text string) (seconds int, offset *int, ok bool) {
	if len(text) < len("T00:00:00") || text[0] != 'T' && text[0] != 't' && text[0] != ' ' || text[3] != ':' || text[6] != ':' {
		return 0, nil, false
	}
	hour, hourOK := twoDigits(text[1:], 23)
	minute, minuteOK := twoDigits(text[4:], 59)
	second, secondOK := twoDigits(text[7:], 59)
	if !hourOK || !minuteOK || !secondOK {
		return 0, nil, false
	}
	seconds = hour*3600 + minute*60 + second
	rest := text[9:]
	if rest != "" && rest[0] == '.' {
		end := 1
		for end < len(rest) && '0' <= rest[end] && rest[end] <= '9' {
			end++
		}
		if end == 1 || end > 10 {
			return 0, nil, false
		}
		rest = rest[end:]
	}
	if rest == "" {
		return seconds, nil, true
	}
	offset, ok = parseOffset(rest)
	return seconds, offset, ok
}

func parseOffset(text string) (seconds *int, ok bool) {
	zero := 0
	if text == "Z" {
		return &zero, true
	}
	if len(text) == len("+00:00") && text[3] == ':' {
		text = text[:3] + text[4:]
	}
	if len(text) != len("+0000") || text[0] != '+' && text[0] != '-' {
		return nil, false
	}
	hour, hourOK := twoDigits(text[1:], 23)
	minute, minuteOK := twoDigits(text[3:], 59)
	total := hour*3600 + minute*60
	if text[0] == '-' {
		total = -total
	}
	return &total, hourOK && minuteOK
}

func twoDigits(text string, most int) (n int, ok bool) {
	if text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9' {
		return 0, false
	}
	n = int(text[0]-'0')*10 + int(text[1]-'0')
	return n, n <= most
}
