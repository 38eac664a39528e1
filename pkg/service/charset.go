package service

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"
)

// decodeCharset gives the body as UTF-8 without a byte-order mark. What a service declares in Content-Type is believed for
// text; JSON is UTF-8 whatever a header says (RFC 8259), so there a declaration is believed only of bytes that are not.
func decodeCharset(format rowFormat, header map[string][]string, body []byte) ([]byte, error) {
	if text, marked := bytes.CutPrefix(body, []byte("\xef\xbb\xbf")); marked {
		return mustBeUTF8(format, text, "")
	}
	charset := declaredCharset(header)
	switch charset {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
		return mustBeUTF8(format, body, charset)
	case "iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "latin-1", "l1", "windows-1252", "cp1252":
		if format != formatCSV && utf8.Valid(body) {
			return body, nil
		}
		return fromWindows1252(body), nil
	}
	if format != formatCSV && utf8.Valid(body) || isASCII(body) {
		return body, nil
	}
	return nil, badPage("the answer is declared as charset=%.40q, which is not read; known are utf-8, iso-8859-1 and windows-1252", charset)
}

func declaredCharset(header map[string][]string) string {
	values := headerValues(header, "Content-Type")
	if len(values) == 0 {
		return ""
	}
	_, params, err := mime.ParseMediaType(values[0])
	if err != nil {
		return ""
	}
	return strings.ToLower(strings.TrimSpace(params["charset"]))
}

func mustBeUTF8(format rowFormat, text []byte, declared string) ([]byte, error) {
	if utf8.Valid(text) {
		return text, nil
	}
	problem := "it is not UTF-8, and its Content-Type declares no other charset"
	if declared != "" {
		problem = "it is not UTF-8, and its Content-Type declares charset=" + declared
	}
	return nil, notRows(format, text, problem, nil)
}

func isASCII(text []byte) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf || c < ' ' && c != '\t' && c != '\n' && c != '\r' { // other charsets switch by control characters
			return false
		}
	}
	return true
}

// fromWindows1252 reads iso-8859-1 too, as browsers do: the control characters by which they differ stand in no table.
func fromWindows1252(body []byte) []byte {
	const c1 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ" // of 0x80 to 0x9f
	runes := []rune(c1)
	text := make([]byte, 0, len(body)+len(body)/8)
	for _, c := range body {
		r := rune(c)
		if c >= 0x80 && c <= 0x9f {
			r = runes[c-0x80]
		}
		text = utf8.AppendRune(text, r)
	}
	return text
}
