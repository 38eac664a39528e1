package query

import "errors"

// Errors of commands on queries, for whoever gives the command: in this process or over HTTP they are the same.
var (
	ErrInvalid    = errors.New("the query cannot be run") // wrong use: nothing was sent
	ErrState      = errors.New("not possible in the query's present state")
	ErrIncomplete = errors.New("the query is not complete")
	ErrTable      = errors.New("the table cannot be made of these rows") // all rows are kept
	// ErrRepeated comes with the query that was submitted before under the same key.
	ErrRepeated  = errors.New("it was submitted before under the same key")
	ErrKeyReused = errors.New("the key was used for another query")
	ErrAmbiguous = errors.New("several queries match")
	// ErrFingerprint reports a plan that is not the one its query was begun with: this build divides differently.
	ErrFingerprint = errors.New("the plan differs from the one that this query was begun with")
)
