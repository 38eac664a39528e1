package cql2

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// isSpace is white space as Unicode classifies it, with the four separators of ASCII that Go's unicode.IsSpace leaves out.
func isSpace(r rune) bool { return unicode.IsSpace(r) || '\x1c' <= r && r <= '\x1f' }

func trim(text string) string { return strings.TrimFunc(text, isSpace) }

// spaceAt is the number of bytes of white space that begin at i.
func spaceAt(text string, i int) int {
	start := i
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !isSpace(r) {
			break
		}
		i += n
	}
	return i - start
}
