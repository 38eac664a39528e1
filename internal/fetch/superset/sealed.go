package superset

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

const maxSealedBytes = 64 << 10

// errSealed is a stored value that this worker cannot read: it was made with another secret, or is damaged.
var errSealed = errors.New("not sealed with this credential")

// seal encrypts what is shared under a name, so that only who holds the same secret can read it: AES-256-GCM under a key that HKDF-SHA-256
// makes of the secret, for this environment and this name alone.
type seal struct {
	aead cipher.AEAD
	name string
}

func newSeal(secret, environment, baseURL, name string) (*seal, error) {
	info := environment + "\x00" + baseURL + "\x00" + name
	key, err := hkdf.Key(sha256.New, []byte(secret), []byte("braid tokens 1"), info, 32)
	if err != nil {
		return nil, fmt.Errorf("make a key for tokens: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("make a key for tokens: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("make a key for tokens: %w", err)
	}
	return &seal{aead: aead, name: name}, nil
}

func (s *seal) close(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("seal tokens: %w", err)
	}
	return s.aead.Seal([]byte{1}, nil, text, []byte(s.name)), nil
}

// open reads what close made. The error wraps errSealed.
func (s *seal) open(sealed []byte, into any) error {
	if len(sealed) < 1 || len(sealed) > maxSealedBytes || sealed[0] != 1 {
		return errSealed
	}
	text, err := s.aead.Open(nil, nil, sealed[1:], []byte(s.name))
	if err != nil {
		return errSealed
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%w: %w", errSealed, err)
	}
	return nil
}

// storeKey names what is shared: for people by the environment, and exactly by a digest of all that tells it apart.
func storeKey(kind, environment, baseURL, identity string) string {
	sum := sha256.Sum256([]byte(environment + "\x00" + baseURL + "\x00" + identity))
	return kind + "-" + environment[:min(len(environment), 32)] + "-" + hex.EncodeToString(sum[:8])
}
