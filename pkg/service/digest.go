package service

import (
	"crypto/sha256"
	"encoding/hex"
)

// Digest is the SHA-256, in hex, of a definition's text. It is what a query pins.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
