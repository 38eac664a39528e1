package retry

import (
	"math"
	"strconv"
	"strings"
	"time"
)

const maxHeaderLen = 64 // bytes of a Retry-After worth reading

// ParseRetryAfter reads the value of a Retry-After header: decimal seconds, or a date in any form that HTTP or
// mail has had (see parseDate; UTC when it names no zone) that is compared with now. It is false when there is no
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
