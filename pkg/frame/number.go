package frame

import (
	"encoding/binary"
	"strconv"
	"strings"
)

const (
	maxNumberBytes    = 1024
	maxExponentDigits = 6
)

// number is the spelling of a number, taken apart: sign, whole.fraction, and a power of ten.
type number struct {
	negative        bool
	whole, fraction string
	exponent        int
	hasExponent     bool
}

// parseNumber reads an optional sign, digits with at most one point among them, and an optional exponent. It is wider
// than JSON (+5, .5, 5., 007), because services send numbers in texts, and takes no NaN, infinity, hex or separators.
func parseNumber(text string) (number, bool) {
	if len(text) > maxNumberBytes {
		return number{}, false
	}
	var n number
	rest := text
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		n.negative = rest[0] == '-'
		rest = rest[1:]
	}
	n.whole, rest = digits(rest)
	if strings.HasPrefix(rest, ".") {
		n.fraction, rest = digits(rest[1:])
	}
	if n.whole == "" && n.fraction == "" {
		return number{}, false
	}
	if rest == "" {
		return n, true
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return number{}, false
	}
	return n.withExponent(rest[1:])
}

func (n number) withExponent(text string) (number, bool) {
	unsigned := text
	if unsigned != "" && (unsigned[0] == '-' || unsigned[0] == '+') {
		unsigned = unsigned[1:]
	}
	figures, rest := digits(unsigned)
	if figures == "" || rest != "" || len(figures) > maxExponentDigits {
		return number{}, false
	}
	exponent, err := strconv.Atoi(text)
	n.exponent, n.hasExponent = exponent, true
	return n, err == nil
}

func digits(text string) (figures, rest string) {
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	return text[:end], text[end:]
}

// parseInt takes an integer, also when it is spelled with an empty fraction (3.0): services whose tables had gaps send
// their integers so, and no digit is lost. An exponent or another fraction is refused.
func parseInt(text string) (int64, bool) {
	n, ok := parseNumber(text)
	if !ok || n.hasExponent || n.whole == "" || strings.Trim(n.fraction, "0") != "" {
		return 0, false
	}
	whole, _, _ := strings.Cut(text, ".")
	i, err := strconv.ParseInt(whole, 10, 64)
	return i, err == nil
}

// parseFloat takes a number within the range of a 64-bit float; digits beyond its precision are rounded.
func parseFloat(text string) (float64, bool) {
	if _, ok := parseNumber(text); !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}

// appendDecimalKey writes n so that keys sort bytewise as the exact numbers do, and equal numbers (1.0, 1.00, 10e-1)
// have equal keys. The number is 0.D × 10^E with D free of zeros at both ends.
func (n number) appendDecimalKey(key []byte) []byte {
	const negative, zero, positive = 1, 2, 3
	all := n.whole + n.fraction
	significant := strings.TrimLeft(all, "0")
	if significant == "" {
		return append(key, zero)
	}
	power := len(n.whole) + n.exponent - (len(all) - len(significant))
	sign := byte(positive)
	if n.negative {
		sign = negative
	}
	key = append(key, sign)
	start := len(key)
	key = binary.BigEndian.AppendUint32(key, uint32(int32(power))^1<<31)
	key = append(key, strings.TrimRight(significant, "0")...)
	key = append(key, 0)
	if n.negative {
		for i := start; i < len(key); i++ {
			key[i] = ^key[i]
		}
	}
	return key
}
