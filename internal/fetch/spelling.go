package fetch

import (
	"bytes"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// plain is a text without the escapes of URLs, JSON, HTML and quoted strings, however deep they are nested, and where each
// byte of it began in the text. Backslashes and the difference between + and a space are lost: whatever way a server spells
// a secret, its plain text is that of the secret.
type plain struct {
	text []byte
	from []int // one more than text: the last is the end
}

const maxNesting = 8 // of escapes

func plainOf(text string) plain {
	p := plain{text: []byte(text), from: make([]int, len(text)+1)}
	for i := range p.from {
		p.from[i] = i
	}
	for range maxNesting {
		next := p.unescaped()
		if bytes.Equal(next.text, p.text) {
			break
		}
		p = next
	}
	return p
}

// unescaped takes one level of escapes away.
func (p plain) unescaped() plain {
	next := plain{text: make([]byte, 0, len(p.text)), from: make([]int, 0, len(p.from))}
	begin := 0 // of the character, with the backslashes before it
	for at := 0; at < len(p.text); {
		char, size := unescape(p.text[at:])
		for range char {
			next.from = append(next.from, p.from[begin])
		}
		next.text = append(next.text, char...)
		at += size
		if len(char) > 0 {
			begin = at
		}
	}
	next.from = append(next.from, p.from[len(p.text)])
	return next
}

// unescape reads one character or escape at the beginning of a text.
func unescape(text []byte) (char []byte, size int) {
	switch text[0] {
	case '+':
		return []byte{' '}, 1
	case '%':
		if b, ok := hexByte(text[1:]); ok {
			return []byte{b}, 3
		}
	case '\\':
		return unescapeBackslash(text)
	case '&':
		return unescapeEntity(text)
	}
	return text[:1], 1
}

func unescapeBackslash(text []byte) (char []byte, size int) {
	rest := text[1:]
	switch {
	case len(rest) >= 5 && rest[0] == 'u':
		if code, err := strconv.ParseUint(string(rest[1:5]), 16, 16); err == nil {
			return utf8.AppendRune(nil, rune(code)), 6
		}
	case len(rest) >= 3 && rest[0] == 'x':
		if b, ok := hexByte(rest[1:]); ok {
			return []byte{b}, 4
		}
	}
	return nil, 1
}

const longestEntity = 10 // bytes of &#x10FFFF;

func unescapeEntity(text []byte) (char []byte, size int) {
	end := bytes.IndexByte(text[:min(len(text), longestEntity)], ';')
	if end < 0 {
		return text[:1], 1
	}
	switch name := strings.ToLower(string(text[1:end])); name {
	case "amp":
		return []byte{'&'}, end + 1
	case "lt":
		return []byte{'<'}, end + 1
	case "gt":
		return []byte{'>'}, end + 1
	case "quot":
		return []byte{'"'}, end + 1
	case "apos":
		return []byte{'\''}, end + 1
	default:
		digits, base := strings.TrimPrefix(name, "#"), 10
		if inHex, ok := strings.CutPrefix(digits, "x"); ok {
			digits, base = inHex, 16
		}
		if code, err := strconv.ParseUint(digits, base, 21); err == nil && name[0] == '#' {
			return utf8.AppendRune(nil, rune(code)), end + 1
		}
	}
	return text[:1], 1
}

func hexByte(text []byte) (byte, bool) {
	var b [1]byte
	if len(text) < 2 {
		return 0, false
	}
	_, err := hex.Decode(b[:], text[:2])
	return b[0], err == nil
}

// cutOff is what stands behind a text that was shortened, perhaps within an escape.
var cutOff = regexp.MustCompile(`^(%[0-9A-Fa-f]?|u[0-9A-Fa-f]{0,3}|x[0-9A-Fa-f]?|&#?[0-9A-Za-z]{0,7})?("|…|$)`)

// matched is how many bytes at the beginning of text are those of secret: all of it, or so many at least where the text was cut
// off. 0: none.
func matched(text, secret []byte, least int) int {
	n := 0
	for n < len(secret) && n < len(text) && text[n] == secret[n] {
		n++
	}
	if n == len(secret) || n >= least && cutOff.Match(text[n:]) {
		return n
	}
	return 0
}

// anchor is the longest part of a text that no way of escaping changes, as long as it changes only what it must.
func anchor(text string) string {
	longest := ""
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return !isUnreserved(r) }) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

func isUnreserved(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~", r)
}
