package cql2

import "strings"

// Or joins alternatives to one filter.
const Or = " OR "

// Split divides a text filter at each OR that stands neither in parentheses nor in quotes, and has white space on both
// sides. The parts are trimmed and in order, empty ones are left out. Joined by Or they ask for what the filter asks for,
// since AND, NOT, BETWEEN and IN bind tighter than OR.
//
// A quote ends at the next quote of its kind, or at the end of the text; a doubled one therefore closes and opens. A text in
// which more parentheses were closed than opened is divided no further. So an odd filter has fewer parts, never wrong ones.
func Split(filter string) []string {
	var parts []string
	keep := func(part string) {
		if part = trim(part); part != "" {
			parts = append(parts, part)
		}
	}
	start, depth := 0, 0
	for i := 0; i < len(filter); {
		switch c := filter[i]; {
		case c == '\'' || c == '"':
			end := strings.IndexByte(filter[i+1:], c)
			if end < 0 {
				i = len(filter)
				continue
			}
			i += end + 2
		case c == '(':
			depth++
			i++
		case c == ')':
			depth--
			i++
		case depth != 0:
			i++
		default:
			space := spaceAt(filter, i)
			if space == 0 {
				i++
				continue
			}
			next := i + space
			if word := wordOr(filter, next); word > 0 {
				keep(filter[start:i])
				next += word
				start = next
			}
			i = next
		}
	}
	keep(filter[start:])
	return parts
}

// wordOr is the length of an OR at i with the white space that must follow it; 0 when there is none.
func wordOr(filter string, i int) int {
	if len(filter)-i < 3 || !strings.EqualFold(filter[i:i+2], "or") {
		return 0
	}
	space := spaceAt(filter, i+2)
	if space == 0 {
		return 0
	}
	return 2 + space
}

// MayHaveComment tells whether -- or /* stands outside quotes. Split knows no comments: it takes an OR in one for a condition's.
func MayHaveComment(filter string) bool {
	for i := 0; i < len(filter); i++ {
		switch c := filter[i]; c {
		case '\'', '"':
			end := strings.IndexByte(filter[i+1:], c)
			if end < 0 {
				return false
			}
			i += end + 1
		case '-', '/':
			if rest := filter[i:]; strings.HasPrefix(rest, "--") || strings.HasPrefix(rest, "/*") {
				return true
			}
		}
	}
	return false
}
