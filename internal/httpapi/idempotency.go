package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/braidhq/braid/internal/httpapi/contract"
)

const (
	keyHeader   = "Idempotency-Key"
	maxKeyBytes = 255
)

// idempotencyKey reads the key that a request is submitted under; empty: none. It takes what the draft of the IETF writes, a string in
// quotes (RFC 9651, 3.3.3), and a key without quotes, as most clients send it. An error is a problem.
func idempotencyKey(header http.Header) (string, error) {
	values, there := header[keyHeader]
	if !there {
		return "", nil
	}
	refuse := func(why string) (string, error) {
		message := why + "; write 1 to 255 visible ASCII characters, such as a UUID"
		return "", contract.NewProblem(contract.KindNamed(contract.RequestInvalid), keyHeader+": "+message,
			contract.FieldError{Location: "header." + keyHeader, Message: message})
	}
	if len(values) > 1 {
		return refuse("it is there more than once")
	}
	key := values[0]
	if strings.HasPrefix(key, `"`) {
		var ok bool
		if key, ok = unquoted(key); !ok {
			return refuse("it begins with a quote and is no string of RFC 9651")
		}
	}
	switch {
	case key == "":
		return refuse("it is empty")
	case len(key) > maxKeyBytes:
		return refuse("it is too long")
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return refuse("it has a character that is none of these")
	}
	return key, nil
}

// unquoted reads a string as RFC 9651 writes it.
func unquoted(text string) (string, bool) {
	var key strings.Builder
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return key.String(), i == len(text)-1
		case '\\':
			i++
			if i == len(text) || text[i] != '"' && text[i] != '\\' {
				return "", false
			}
		}
		key.WriteByte(text[i])
	}
	return "", false
}

// keyDigest makes a key one owner's own: what somebody else submits under the same key is another query.
func keyDigest(owner, key string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(owner + "\n" + key)) // neither has a line's end
	return hex.EncodeToString(sum[:])
}
