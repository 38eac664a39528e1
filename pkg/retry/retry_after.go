package retry

import (
	"math"
	"strconv"
	"strings"
	"time"
)

const maxHeaderLen = 64 // bytes of a Retry-After worth reading

// ParseRetryAfter reads the value of a Retry-After header: decimal seconds, or an HTTP date (of RFC 1123, RFC 850 or
// asctime, with or without seconds or the day of the week; GMT when it names no zone) that is compared with now. It is false when there is no
// hint to follow: no value, zero, a negative number, a date that is not ahead, or anything malformed. A wait too long for
// a time.Duration is the longest there is.
func ParseRetryAfter(header string, now time.Time) (time.Duration, bool) {
	header = strings.TrimSpace(header)
	if header == "" || len(header) > maxHeaderLen {
		return 0, false
	}
	wait, ok := parseSeconds(header)
	if !ok {
		date, isDate := parseDate(header)
		if !isDate {
			return 0, false
		}
		wait = date.Sub(now)
	}
	if wait <= 0 {
		return 0, false
	}
	return wait, true
}

// parseSeconds takes digits with at most one point. What strconv takes beyond that (exponents, hexadecimal, "inf") no
// service means.
func parseSeconds(text string) (time.Duration, bool) {
	text = strings.TrimPrefix(text, "+")
	if strings.ContainsFunc(text, notDecimal) {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, false
	}
	if seconds >= math.MaxInt64/float64(time.Second) {
		return math.MaxInt64, true
	}
	return time.Duration(math.Round(seconds * float64(time.Second))), true
}

func notDecimal(r rune) bool { return r != '.' && (r < '0' || r > '9') }

func parseDate(text string) (time.Time, bool) {
	for _, layout := range [...]string{
		time.RFC1123, time.RFC1123Z, "Mon, 2 Jan 2006 15:04 MST", "Mon, 2 Jan 2006 15:04 -0700",
		"Mon, 2 Jan 2006 15:04:05", "2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700", time.RFC850, time.ANSIC,
	} {
		date, err := time.ParseInLocation(layout, text, time.UTC)
		if err != nil {
			continue
		}
		// A zone's name alone is read as if it were UTC; the offset has to be put in.
		name, offset := date.Zone()
		if offset != 0 || !strings.Contains(layout, "MST") {
			return date, true
		}
		west, known := hoursWest(name)
		return date.Add(time.Duration(west) * time.Hour), known
	}
	return time.Time{}, false
}

// hoursWest knows the zone names of RFC 822 that package time takes for names.
func hoursWest(zone string) (int, bool) {
	switch zone {
	case "GMT", "UTC":
		return 0, true
	case "EDT":
		return 4, true
	case "EST", "CDT":
		return 5, true
	case "CST", "MDT":
		return 6, true
	case "MST", "PDT":
		return 7, true
	case "PST":
		return 8, true
	}
	return 0, false
}
