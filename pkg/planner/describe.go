package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// describedBytes bounds a description.
const describedBytes = 300

// Describe gives the values that a chunk asks for as people read them in a message, in at most 300 bytes: the longest lists
// first, such as "monitoring_location_id: 350 values from USGS-01 to USGS-99; parameter_code: 00060". What does not fit is
// counted. Equal chunks give equal text.
func Describe(chunk Chunk) string {
	names := slices.SortedFunc(maps.Keys(chunk.Values), func(a, b string) int {
		if more := len(chunk.Values[b]) - len(chunk.Values[a]); more != 0 {
			return more
		}
		return strings.Compare(a, b)
	})
	if len(names) == 0 {
		return "everything"
	}
	const reserved = len("; and 1234567 more parameters")
	var text strings.Builder
	for i, name := range names {
		part := shown(name) + ": " + described(chunk.Values[name])
		if i > 0 {
			part = "; " + part
		}
		if room := describedBytes - text.Len(); len(part) > room || i < len(names)-1 && len(part) > room-reserved {
			fmt.Fprintf(&text, "; and %d more parameters", len(names)-i)
			break
		}
		text.WriteString(part)
	}
	return strings.TrimPrefix(text.String(), "; ")
}

func described(values []string) string {
	switch len(values) {
	case 0:
		return "no value"
	case 1:
		return shown(values[0])
	case 2:
		return shown(values[0]) + ", " + shown(values[1])
	}
	return fmt.Sprintf("%d values from %s to %s", len(values), shown(values[0]), shown(values[len(values)-1]))
}

// shown is a value on one line, cut where it is long.
func shown(value string) string {
	const most = 60
	var text strings.Builder
	for _, r := range value {
		if !unicode.IsPrint(r) {
			r = ' '
		}
		if text.Len()+utf8.RuneLen(r) > most {
			return text.String() + "…"
		}
		text.WriteRune(r)
	}
	return text.String()
}
