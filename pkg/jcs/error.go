package jcs

import "fmt"

// Code says what is wrong with a text.
type Code string

// The codes.
const (
	InvalidJSON    Code = "invalid_json"
	DuplicateKey   Code = "duplicate_key"
	InvalidUnicode Code = "invalid_unicode" // not UTF-8, or half of a surrogate pair
	NumberRange    Code = "number_range"    // beyond a double
	NumberUnsafe   Code = "number_unsafe"   // an integer literal that a double does not hold for certain
	TooDeep        Code = "too_deep"        // more than MaxDepth lists and objects in each other
	TooLarge       Code = "too_large"       // more than MaxBytes
)

// Error is why a text has no canonical form.
type Error struct {
	Code    Code
	Offset  int // of the byte at which it was seen
	Message string
}

// Error gives message and offset.
func (e *Error) Error() string { return fmt.Sprintf("%s, at byte %d", e.Message, e.Offset) }
