package messages

import (
	"errors"
	"fmt"
)

// ErrName reports a name that cannot stand in a subject or a key.
var ErrName = errors.New("not a name")

const maxNameLen = 64

// CheckName accepts names of services, queries, collections and workers as they stand in subjects and keys: 1 to 64 of
// A–Z, a–z, 0–9, '-' and '_', beginning with a letter or digit. The error wraps ErrName and says what is wrong.
func CheckName(name string) error {
	if name == "" {
		return fmt.Errorf("%w: it is empty", ErrName)
	}
	if len(name) > maxNameLen {
		return fmt.Errorf("%w: %.20q… has %d characters, at most %d", ErrName, name, len(name), maxNameLen)
	}
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && (i == 0 || r != '-' && r != '_') {
			return fmt.Errorf("%w: %q has %q; use letters, digits, '-' and '_', beginning with a letter or digit", ErrName, name, r)
		}
	}
	return nil
}
