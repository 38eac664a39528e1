package retry

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// parseDate reads the dates that mail and HTTP write: RFC 5322 with what it calls obsolete, RFC 850 and asctime. As in Python's
// email.utils, which many clients read this header with, a day of the week is not checked, seconds may be missing, a year of two digits
// is one from 1969 to 2068, and the case of letters does not matter. A zone that is missing or not known is UTC (RFC 5322, 4.3).
func parseDate(text string) (time.Time, bool) {
	words, ok := dateWords(strings.Fields(strings.ToLower(text)))
	if !ok {
		return time.Time{}, false
	}
	day, month, year, clock, zone := words[0], words[1], words[2], words[3], words[4]
	if monthOf(month) == 0 {
		day, month = month, day
	}
	if strings.Index(year, ":") > 0 { // of asctime, which ends with the year
		year, clock = clock, year
	}
	if year != "" && notDecimal(rune(year[0])) {
		year, zone = zone, year
	}
	date, ok := dateOf(strings.TrimSuffix(year, ","), monthOf(month), strings.TrimSuffix(day, ","), strings.TrimSuffix(clock, ","))
	offset, known := zoneOffset(zone)
	return date.Add(-offset), ok && known
}

// dateWords gives the five words of a date, in the order in which most write them, with the zone empty when there is none.
func dateWords(words []string) ([]string, bool) {
	if len(words) == 0 {
		return nil, false
	}
	if first := words[0]; strings.HasSuffix(first, ",") || slices.Contains(weekdays(), first) {
		words = words[1:]
	} else {
		words[0] = first[strings.LastIndex(first, ",")+1:]
	}
	if len(words) == 3 {
		if parts := strings.Split(words[0], "-"); len(parts) == 3 { // of RFC 850
			words = append(parts, words[1:]...)
		}
	}
	if len(words) == 4 {
		clock, zone := words[3], ""
		at := strings.Index(clock, "+")
		if at < 0 {
			at = strings.Index(clock, "-")
		}
		if at > 0 {
			clock, zone = clock[:at], clock[at:]
		}
		words = []string{words[0], words[1], words[2], clock, zone}
	}
	if len(words) < 5 {
		return nil, false
	}
	return words[:5], true // what follows is a comment
}

func weekdays() []string { return []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"} }

// monthOf gives 0 for what is no month.
func monthOf(word string) time.Month {
	for m := time.January; m <= time.December; m++ {
		if name := strings.ToLower(m.String()); word == name || word == name[:3] {
			return m
		}
	}
	return 0
}

// dateOf gives the instant in UTC, unless there is none such.
func dateOf(year string, month time.Month, day, clock string) (time.Time, bool) {
	parts := strings.Split(clock, ":")
	if len(parts) == 1 {
		parts = strings.Split(clock, ".") // as some old ones write it
	}
	if len(parts) == 2 {
		parts = append(parts, "0")
	}
	if month == 0 || len(parts) != 3 {
		return time.Time{}, false
	}
	var numbers [5]int
	for i, text := range append([]string{year, day}, parts...) {
		n, ok := digits(text)
		if !ok {
			return time.Time{}, false
		}
		numbers[i] = n
	}
	y, d, hour, minute, second := numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
	switch {
	case y > 68 && y < 100:
		y += 1900
	case y <= 68:
		y += 2000
	}
	date := time.Date(y, month, d, hour, minute, second, 0, time.UTC)
	// What is out of its range would have moved the others.
	same := date.Year() == y && date.Month() == month && date.Day() == d && date.Hour() == hour && date.Minute() == minute && date.Second() == second
	return date, same && y <= 9999
}

// digits reads a number of at most nine digits, and nothing else.
func digits(text string) (int, bool) {
	if text == "" || len(text) > 9 || strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// zoneOffset is how far a zone is ahead of UTC; false for a number that is none of a zone.
func zoneOffset(zone string) (time.Duration, bool) {
	hours := map[string]int{"ast": -4, "adt": -3, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7}
	if h, known := hours[zone]; known {
		return time.Duration(h) * time.Hour, true
	}
	unsigned := strings.TrimPrefix(strings.TrimPrefix(zone, "+"), "-")
	if len(zone)-len(unsigned) > 1 || unsigned == "" || strings.ContainsFunc(unsigned, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0, true
	}
	n, ok := digits(unsigned)
	offset := time.Duration(n/100)*time.Hour + time.Duration(n%100)*time.Minute
	if strings.HasPrefix(zone, "-") {
		offset = -offset
	}
	return offset, ok && offset.Abs() < 24*time.Hour
}
