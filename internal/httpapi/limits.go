package httpapi

import (
	"context"
	"time"

	"github.com/braidhq/braid/internal/httpapi/contract"
)

const (
	// maxReads is how many requests may plan, read what is stored of a whole query, or build tables at the same time; maxCommands how many
	// may change queries in ways that cost much. They are apart, so that no reading keeps a query from being submitted.
	maxReads    = 16
	maxCommands = 8
	// maxBodyBytes is how many bytes of bodies are in hand at the same time: what comes of a body takes several times as much memory.
	maxBodyBytes = 256 << 20
	// turnWait is how long one waits for its turn before it is refused.
	turnWait = 10 * time.Second
)

// readTurn waits for the turn of a request that plans, or reads what is stored of a whole query. done gives the turn to the next one.
// An error is a problem.
func (a *api) readTurn(ctx context.Context) (done func(), err error) {
	return a.turn(ctx, a.reads, "requests that read much")
}

// commandTurn is readTurn for a request that changes something.
func (a *api) commandTurn(ctx context.Context) (done func(), err error) {
	return a.turn(ctx, a.commands, "commands")
}

func (a *api) turn(ctx context.Context, of *turns, what string) (done func(), err error) {
	done, ok := of.take(ctx, visitOf(ctx).party(), 1, turnWait)
	switch {
	case ok:
		return done, nil
	case ctx.Err() != nil:
		return nil, a.failure("wait for its turn", context.Cause(ctx))
	}
	return nil, problem(contract.Busy, "there are %d turns for %s, of which one caller gets a part, and none became free within %s", of.all, what, turnWait)
}
