package worker

import (
	"errors"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// interrupted ends an item with an interruption.
type interrupted struct{ message *messages.Interruption }

func (e *interrupted) Error() string { return string(e.message.Kind) + ": " + e.message.Reason }

// failed ends an item with a deterministic failure.
type failed struct{ failure *messages.Failure }

func (e *failed) Error() string { return e.failure.Class + ": " + e.failure.Message }

var (
	// errDropped ends an item that nobody asks for any more.
	errDropped = errors.New("the query was cancelled, or asks for this position in a later run")
	// errLost ends an item whose lease could not be trusted to its end: what was fetched under it is thrown away.
	errLost = errors.New("the lease was lost")
	// errAgain asks for the walk to begin again: its cursors are gone.
	errAgain = errors.New("the page walk begins again")
)

// unstorable is the failure of a chunk whose result no store takes: fetching it again would give the same.
func unstorable(err error) *messages.Failure {
	return &messages.Failure{
		Class: string(service.ClassBadPage), Message: "the result cannot be stored: " + err.Error(),
		Hint: "ask for less in one request: raise max_chunks, or narrow the query",
	}
}
