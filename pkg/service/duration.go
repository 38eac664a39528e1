package service

import "strings"

// isDuration tells whether a text is a duration of ISO 8601, such as P7D, PT36H or P1Y2M, in any case of its letters. Only the
// service knows what it counts back from.
func isDuration(text string) bool {
	rest, ok := cutFold(text, "P")
	if !ok || len(text) > 60 {
		return false
	}
	days, someDays, ok := cutParts(rest, "YMWD")
	if !ok {
		return false
	}
	clock, timed := cutFold(days, "T")
	if !timed {
		return someDays && days == ""
	}
	rest, someClock, ok := cutParts(clock, "HMS")
	return ok && someClock && rest == ""
}

func cutFold(text, prefix string) (rest string, ok bool) {
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return text, false
	}
	return text[len(prefix):], true
}

// cutParts cuts numbers with their unit, each unit at most once and in order. ok is false at a number without its unit.
func cutParts(text, units string) (rest string, some, ok bool) {
	for text != "" && '0' <= text[0] && text[0] <= '9' {
		end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != ',' })
		if end < 0 {
			return text, some, false
		}
		unit := strings.IndexByte(units, strings.ToUpper(text[end:])[0])
		if number := text[:end]; unit < 0 || strings.Trim(number, "0123456789") != "" && !isFraction(number) {
			return text, some, false
		}
		units, text, some = units[unit+1:], text[end+1:], true
	}
	return text, some, true
}

func isFraction(number string) bool {
	whole, fraction, found := strings.Cut(strings.ReplaceAll(number, ",", "."), ".")
	return found && whole != "" && fraction != "" && !strings.Contains(fraction, ".")
}
