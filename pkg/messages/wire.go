package messages

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Version is the version of the wire form that this build writes. It reads every version up to it.
const Version = 1

// Errors of encoding and decoding.
var (
	ErrInvalid = errors.New("invalid message")
	ErrVersion = errors.New("unknown message version") // written by a newer Braid: upgrade this process
)

var errTooLong = fmt.Errorf("%w: too long", ErrInvalid)

const maxTextBytes = 4 << 10

// Text makes text fit for one field of a message, whoever wrote it: valid UTF-8, without control characters other than tab
// and line ends, and cut at a character boundary. All texts of a message may be that long without the message being too long.
func Text(text string) string {
	text = strings.Map(printable, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) <= maxTextBytes {
		return text
	}
	cut := maxTextBytes - len("…")
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// printable replaces what a terminal would obey, and what JSON would write as six bytes for one.
func printable(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' {
		return '\uFFFD'
	}
	return r
}

type message interface{ Validate() error }

// encode writes nothing that decode would refuse.
func encode(what string, m message, limit int) ([]byte, error) {
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("encode %s: %w", what, err)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // an answer full of < and & would be six times as long
	if err := enc.Encode(m); err != nil {
		return nil, fmt.Errorf("encode %s: %w: %w", what, ErrInvalid, err)
	}
	data := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	if len(data) > limit {
		return nil, fmt.Errorf("encode %s: %w: %d bytes, at most %d", what, errTooLong, len(data), limit)
	}
	return data, nil
}

func decode[T any, P interface {
	*T
	message
}](what string, data []byte, limit int) (P, error) {
	if len(data) > limit {
		return nil, fmt.Errorf("decode %s: %w: %d bytes, at most %d", what, errTooLong, len(data), limit)
	}
	m := P(new(T))
	err := decodeStrictly(data, m)
	if err == nil {
		err = m.Validate()
	} else {
		err = fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err == nil {
		return m, nil
	}
	// The fields of a newer version are not this build's business to judge.
	var newer struct {
		V *int `json:"v"`
	}
	if json.Unmarshal(data, &newer) == nil && newer.V != nil && *newer.V > Version {
		return nil, fmt.Errorf("decode %s: %w: %d, this build knows up to %d", what, ErrVersion, *newer.V, Version)
	}
	return nil, fmt.Errorf("decode %s: %w", what, err)
}

var errMore = errors.New("data after the message")

func decodeStrictly(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errMore
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func field(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w: %w", name, ErrInvalid, err)
}

func checkVersion(v int) error {
	if v > Version {
		return fmt.Errorf("%w: %d, this build knows up to %d", ErrVersion, v, Version)
	}
	if v < 1 {
		return fmt.Errorf("v: %w: %d", ErrInvalid, v)
	}
	return nil
}

func checkRun(run int) error {
	if run < 1 || run > 1<<31-1 {
		return fmt.Errorf("run: %w: %d", ErrInvalid, run)
	}
	return nil
}

func checkPosition(p Position) error {
	_, err := ParsePosition(string(p))
	return err
}

func checkDigest(digest string) error {
	raw, err := hex.DecodeString(digest)
	if err != nil || len(raw) != 32 {
		return fmt.Errorf("%.20q is not a SHA-256 in hex", digest)
	}
	return nil
}

func checkStatus(status int) error {
	if status < 0 || status > 999 {
		return fmt.Errorf("%d is not an HTTP status", status)
	}
	return nil
}

func checkCount(name string, n int64) error {
	if n < 0 || n > maxCount {
		return fmt.Errorf("%s: %w: %d", name, ErrInvalid, n)
	}
	return nil
}

func checkText(name, text string) error {
	if len(text) > maxTextBytes {
		return fmt.Errorf("%s: %w: %d bytes, at most %d", name, ErrInvalid, len(text), maxTextBytes)
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("%s: %w: it is not UTF-8", name, ErrInvalid)
	}
	return nil
}
