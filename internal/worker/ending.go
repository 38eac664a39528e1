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
	// errSplit ends an item whose chunk is too large for the service, and can be divided.
	errSplit = errors.New("the chunk is too large and is split")
)

// How an item ends, for those who count.
const (
	endingDone        = "done"        // it has a result
	endingInterrupted = "interrupted" // that is told, and a later run takes it up
	endingDropped     = "dropped"     // nobody asks for it any more
	endingHandedBack  = "handed_back" // the worker stops, and the queue has it again
	endingLeft        = "left"        // the store could not be told: it comes again
)

func endingOf(err error) string {
	_, stopped := errors.AsType[*interrupted](err)
	switch {
	case err == nil:
		return endingDone
	case stopped:
		return endingInterrupted
	case errors.Is(err, errDropped):
		return endingDropped
	}
	return endingLeft
}

// lostWalk asks for the walk to begin again: nobody can go on with it.
type lostWalk struct {
	status int // HTTP status, 0 when it was not the service that said so
	reason string
}

func (e *lostWalk) Error() string { return "the page walk begins again: " + e.reason }

// unsteady is a contradiction between the pages of a walk: what they are read from may have changed under it. The walk begins
// again once for it; then it is the failure.
type unsteady struct{ failure *messages.Failure }

func (e *unsteady) Error() string { return e.failure.Class + ": " + e.failure.Message }

// endsWalk tells whether nobody is to go on behind the pages stored so far: their cursors are gone, or lead to what failed. A
// refusal of credentials says nothing of the walk.
func endsWalk(err error) bool {
	if fail, ok := errors.AsType[*failed](err); ok {
		return fail.failure.Class != string(service.ClassAuth)
	}
	_, lost := errors.AsType[*lostWalk](err)
	return lost || errors.Is(err, errSplit)
}
