package cql2

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// scan reads a filter by positions in its bytes. Methods that read something at i give the position behind it, or i when it
// is not there.
type scan struct{ text string }

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

func (s *scan) rune(i int) rune {
	r, _ := utf8.DecodeRuneInString(s.text[i:])
	return r
}

// boundary tells whether a word begins or ends at i.
func (s *scan) boundary(i int) bool {
	before := false
	if i > 0 {
		r, _ := utf8.DecodeLastRuneInString(s.text[:i])
		before = isWord(r)
	}
	return before != (i < len(s.text) && isWord(s.rune(i)))
}

func (s *scan) skip(i int) int { return i + spaceAt(s.text, i) }

// word reads the rest of a word.
func (s *scan) word(i int) int {
	for i < len(s.text) {
		r, n := utf8.DecodeRuneInString(s.text[i:])
		if !isWord(r) {
			break
		}
		i += n
	}
	return i
}

// field reads the name of a field: a word that begins with a letter of ASCII or an underscore.
func (s *scan) field(i int) int {
	if i >= len(s.text) {
		return i
	}
	if c := s.text[i]; c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
		return i
	}
	return s.word(i)
}

// keyword reads the whole word, in any case of its letters.
func (s *scan) keyword(i int, keyword string) int {
	end := i + len(keyword)
	if end > len(s.text) || !strings.EqualFold(s.text[i:end], keyword) || !s.boundary(i) || !s.boundary(end) {
		return i
	}
	return end
}

// operatorAt is the length of the operator at i, 0 without one.
func (s *scan) operatorAt(i int) int {
	if i >= len(s.text) {
		return 0
	}
	if i+2 <= len(s.text) {
		switch s.text[i : i+2] {
		case ">=", "<=", "<>", "!=", "==":
			return 2
		}
	}
	switch s.text[i] {
	case '=', '<', '>':
		return 1
	}
	return 0
}

func (s *scan) isDigit(i int) bool { return i < len(s.text) && unicode.IsDigit(s.rune(i)) }

func (s *scan) digits(i int) int {
	for s.isDigit(i) {
		i += utf8.RuneLen(s.rune(i))
	}
	return i
}

// numberEnds is where a number may end: behind its whole part, its fraction, its exponent. Parts that it does not have are 0.
type numberEnds struct{ whole, fraction, exponent int }

func (n numberEnds) longest() int { return max(n.whole, n.fraction, n.exponent) }

// number reads a number: a minus, digits with a fraction or without, or a fraction alone, an exponent.
func (s *scan) number(i int) (n numberEnds) {
	if i < len(s.text) && s.text[i] == '-' {
		i++
	}
	if end := s.digits(i); end > i {
		n.whole, i = end, end
	}
	if i < len(s.text) && s.text[i] == '.' {
		if end := s.digits(i + 1); end > i+1 {
			n.fraction, i = end, end
		}
	}
	if n.longest() == 0 || i >= len(s.text) || s.text[i] != 'e' && s.text[i] != 'E' {
		return n
	}
	i++
	if i < len(s.text) && (s.text[i] == '+' || s.text[i] == '-') {
		i++
	}
	if end := s.digits(i); end > i {
		n.exponent = end
	}
	return n
}

// boundedNumber reads the longest number that a word's edge ends: of 1.5x it is 1, of 5x none.
func (s *scan) boundedNumber(i int) int {
	n := s.number(i)
	for _, end := range []int{n.exponent, n.fraction, n.whole} {
		if end > 0 && s.boundary(end) {
			return end
		}
	}
	return i
}

// finder finds the next position that fits. It is asked for positions that grow, and looks at each once.
type finder struct {
	size, next int
	fits       func(i int) bool
}

func (s *scan) finder(fits func(i int) bool) *finder {
	return &finder{size: len(s.text), next: -1, fits: fits}
}

// from is the first position at or behind i that fits, or the length of the text.
func (f *finder) from(i int) int {
	if f.next < i {
		for f.next = i; f.next < f.size && !f.fits(f.next); {
			f.next++
		}
	}
	return f.next
}
