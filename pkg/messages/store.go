package messages

import "errors"

// Errors of the stores that keep messages. Edges translate what their technology says into these, once.
var (
	ErrNotFound    = errors.New("not found")
	ErrConflict    = errors.New("changed by somebody else") // compare-and-set lost
	ErrExists      = errors.New("exists already")           // first write wins: the other one stays
	ErrDamaged     = errors.New("stored result is lost or damaged")
	ErrStoreFull   = errors.New("the message store is full")
	ErrUnreachable = errors.New("NATS is not reachable")
)
