package access

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/big"
	"regexp"
	"strings"
)

const (
	// TokenPrefix begins every token, so that scanners for secrets find one that got into a repository.
	TokenPrefix = "braid_"

	secretBytes  = 32
	secretDigits = 43 // base 62 of 32 bytes
	checkDigits  = 6  // base 62 of 4 bytes
	tokenBytes   = len(TokenPrefix) + secretDigits + checkDigits
	digits       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// ErrMalformed is returned for what cannot be a token. It shows nothing of it.
var ErrMalformed = errors.New("it is no token of Braid: one is braid_ and 49 letters and digits, of which the last six check the others; was it copied whole?")

// Digest is the SHA-256 of a token's text. It is what is kept of one.
type Digest [sha256.Size]byte

// String gives the digest in hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// ID is how people call the token: the first letters of its digest.
func (d Digest) ID() string { return d.String()[:12] }

// UnmarshalText takes 64 hexadecimal digits.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return fmt.Errorf("it has %d characters, want the 64 hexadecimal digits of a SHA-256", len(text))
	}
	if _, err := hex.Decode(d[:], text); err != nil {
		return errors.New("it is not 64 hexadecimal digits")
	}
	return nil
}

// NewToken makes a token of the 32 bytes that it reads from random.
func NewToken(random io.Reader) (string, error) {
	var secret [secretBytes]byte
	if _, err := io.ReadFull(random, secret[:]); err != nil {
		return "", fmt.Errorf("make token: %w", err)
	}
	token := TokenPrefix + base62(new(big.Int).SetBytes(secret[:]), secretDigits)
	return token + checksum(token), nil
}

// ParseToken gives the digest of a token. It refuses what was copied wrongly, without knowing which tokens there are; the error
// is ErrMalformed.
func ParseToken(token string) (Digest, error) {
	if len(token) != tokenBytes || !strings.HasPrefix(token, TokenPrefix) || strings.Trim(token[len(TokenPrefix):], digits) != "" {
		return Digest{}, ErrMalformed
	}
	// The checksum is no secret: anybody can reckon it.
	if body := token[:tokenBytes-checkDigits]; token[len(body):] != checksum(body) {
		return Digest{}, ErrMalformed
	}
	return sha256.Sum256([]byte(token)), nil
}

func checksum(text string) string {
	return base62(big.NewInt(int64(crc32.ChecksumIEEE([]byte(text)))), checkDigits)
}

func base62(n *big.Int, width int) string {
	text := make([]byte, width)
	base, digit := big.NewInt(int64(len(digits))), new(big.Int)
	for i := width - 1; i >= 0; i-- {
		n.QuoRem(n, base, digit)
		text[i] = digits[digit.Int64()]
	}
	return string(text)
}

// looksSecret finds what may be a token or the greater part of one.
var looksSecret = regexp.MustCompile(TokenPrefix + `[0-9A-Za-z]{20,}`)

// Redact takes out of a text, such as a path that is logged, what may be a token.
func Redact(text string) string {
	if !strings.Contains(text, TokenPrefix) {
		return text
	}
	return looksSecret.ReplaceAllString(text, TokenPrefix+"REDACTED")
}
