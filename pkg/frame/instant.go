package frame

import "time"

const secondsOfDay = 24 * 60 * 60

// instant is a point in time, counted from 1970-01-01T00:00:00Z.
type instant struct {
	seconds int64
	nanos   int32
}

// parseDate takes YYYY-MM-DD and gives the days since 1970-01-01.
func parseDate(text string) (days int32, ok bool) {
	if len(text) != len("2006-01-02") || text[4] != '-' || text[7] != '-' {
		return 0, false
	}
	year, okYear := figures(text[:4])
	month, okMonth := figures(text[5:7])
	day, okDay := figures(text[8:])
	if !okYear || !okMonth || !okDay || year == 0 {
		return 0, false
	}
	date := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	// A day that a month has not (02-30) comes back as another one.
	if int(date.Month()) != month || date.Day() != day {
		return 0, false
	}
	return int32(date.Unix() / secondsOfDay), true
}

// parseInstant takes an ISO 8601 date and time with an explicit offset: Z, ±hh, ±hhmm or ±hh:mm. Seconds and up to nine
// digits of a fraction are optional. Each text is read on its own; none decides the form of the next.
func parseInstant(text string) (instant, bool) {
	const shortest = len("2006-01-02T15:04Z")
	if len(text) < shortest || (text[10] != 'T' && text[10] != 't' && text[10] != ' ') || text[13] != ':' {
		return instant{}, false
	}
	days, okDate := parseDate(text[:10])
	hour, okHour := figures(text[11:13])
	minute, okMinute := figures(text[14:16])
	if !okDate || !okHour || !okMinute || hour > 23 || minute > 59 {
		return instant{}, false
	}
	second, nanos, rest, okSecond := parseSeconds(text[16:])
	offset, okOffset := parseOffset(rest)
	if !okSecond || !okOffset {
		return instant{}, false
	}
	return instant{int64(days)*secondsOfDay + int64(hour*3600+minute*60+second-offset), nanos}, true
}

func parseSeconds(text string) (second int, nanos int32, rest string, ok bool) {
	if text == "" || text[0] != ':' {
		return 0, 0, text, true
	}
	if len(text) < len(":05") {
		return 0, 0, "", false
	}
	second, ok = figures(text[1:3])
	rest = text[3:]
	if !ok || second > 59 || rest == "" || rest[0] != '.' {
		return second, 0, rest, ok && second <= 59
	}
	fraction, rest := digits(rest[1:])
	if fraction == "" || len(fraction) > 9 {
		return 0, 0, "", false
	}
	for i := range 9 {
		nanos *= 10
		if i < len(fraction) {
			nanos += int32(fraction[i] - '0')
		}
	}
	return second, nanos, rest, true
}

// parseOffset gives the seconds that a local time is ahead of UTC.
func parseOffset(text string) (seconds int, ok bool) {
	if text == "Z" || text == "z" {
		return 0, true
	}
	if len(text) == len("+00:00") && text[3] == ':' {
		text = text[:3] + text[4:]
	}
	if len(text) == len("+00") {
		text += "00"
	}
	if len(text) != len("+0000") || (text[0] != '+' && text[0] != '-') {
		return 0, false
	}
	hours, okHours := figures(text[1:3])
	minutes, okMinutes := figures(text[3:])
	if !okHours || !okMinutes || hours > 23 || minutes > 59 {
		return 0, false
	}
	seconds = hours*3600 + minutes*60
	if text[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}

// figures reads a short text that is digits and nothing else.
func figures(text string) (int, bool) {
	n := 0
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// micros gives the whole microseconds since 1970; what is finer is cut off towards the past.
func (i instant) micros() int64 { return i.seconds*1_000_000 + int64(i.nanos/1000) }
