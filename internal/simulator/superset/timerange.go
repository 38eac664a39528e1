package superset

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// interval is a time range with its dates; a zero time is an open end.
type interval struct{ from, to time.Time }

// resolve reads the text of a time range at a moment: a phrase, or since : until.
func resolve(text string, now time.Time) (interval, error) {
	text = strings.TrimSpace(text)
	today := now.UTC().Truncate(24 * time.Hour)
	if text == "" || strings.EqualFold(text, "No filter") {
		return interval{}, nil
	}
	if since, until, ok := strings.Cut(" "+text+" ", " : "); ok {
		from, err := moment(since, now, today)
		if err != nil {
			return interval{}, err
		}
		to, err := moment(until, now, today)
		if err == nil && !from.IsZero() && !to.IsZero() && from.After(to) {
			err = fmt.Errorf("From date cannot be larger than to date") //nolint:staticcheck // the real server's words
		}
		return interval{from, to}, err
	}
	words := strings.Fields(strings.ToLower(text))
	switch {
	case len(words) == 2 && words[0] == "last":
		from, ok := back(today, 1, words[1])
		return interval{from, today}, unless(ok, text)
	case len(words) == 3 && words[0] == "last":
		n, err := strconv.Atoi(words[1])
		from, ok := back(today, n, words[2])
		return interval{from, today}, unless(ok && err == nil && n > 0 && n <= 10_000, text)
	case len(words) == 3 && words[0] == "previous" && words[1] == "calendar":
		to, ok := begin(today, words[2])
		from, _ := back(to, 1, words[2])
		return interval{from, to}, unless(ok, text)
	case len(words) == 2 && words[0] == "current":
		from, ok := begin(today, words[1])
		to, _ := back(from, -1, words[1])
		return interval{from, to}, unless(ok, text)
	}
	return interval{}, unless(false, text)
}

func unless(ok bool, text string) error {
	if ok {
		return nil
	}
	return fmt.Errorf("Cannot parse time string [%s]", text) //nolint:staticcheck // the real server's words
}

// back goes n units back from a day.
func back(day time.Time, n int, unit string) (time.Time, bool) {
	switch strings.TrimSuffix(unit, "s") {
	case "day":
		return day.AddDate(0, 0, -n), true
	case "week":
		return day.AddDate(0, 0, -7*n), true
	case "month":
		return day.AddDate(0, -n, 0), true
	case "quarter":
		return day.AddDate(0, -3*n, 0), true
	case "year":
		return day.AddDate(-n, 0, 0), true
	}
	return day, false
}

// begin is the first day of the unit that a day lies in.
func begin(day time.Time, unit string) (time.Time, bool) {
	year, month, _ := day.Date()
	switch unit {
	case "day":
		return day, true
	case "week":
		return day.AddDate(0, 0, -(int(day.Weekday())+6)%7), true
	case "month":
		return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC), true
	case "quarter":
		return time.Date(year, (month-1)/3*3+1, 1, 0, 0, 0, 0, time.UTC), true
	case "year":
		return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC), true
	}
	return day, false
}

// moment reads one end of a range.
func moment(text string, now, today time.Time) (time.Time, error) {
	switch text = strings.TrimSpace(text); strings.ToLower(text) {
	case "":
		return time.Time{}, nil
	case "now":
		return now.UTC(), nil
	case "today":
		return today, nil
	}
	for _, layout := range []string{"2006-01-02", "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	words := strings.Fields(strings.ToLower(text))
	if len(words) == 3 && words[2] == "ago" {
		if n, err := strconv.Atoi(words[0]); err == nil && n >= 0 && n <= 10_000 {
			if at, ok := back(today, n, words[1]); ok {
				return at, nil
			}
		}
	}
	return time.Time{}, unless(false, text)
}

// millis is a moment as answers give it; nil: open.
func millis(at time.Time) *int64 {
	if at.IsZero() {
		return nil
	}
	ms := at.UnixMilli()
	return &ms
}
