package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/internal/output/postgres"
	"github.com/braidhq/braid/pkg/access"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// Exit codes, as the help of every command lists them. New ones may be added.
const (
	exitOK          = 0
	exitInternal    = 1
	exitUsage       = 2
	exitIncomplete  = 3
	exitCredentials = 4
	exitUntold      = 5 // of plan --exit-code alone
	exitEmpty       = 6
	exitBudget      = 10
	exitPaused      = 75
	exitInterrupted = 130
)

const exitHelp = `Exit codes:
  0    complete
  1    internal error, or something that Braid needs is not there
  2    wrong use: flags, files, values; nothing was sent
  3    incomplete or failed; completed work is kept
  4    credentials missing or refused
  6    complete without a row, with --fail-on-empty; else that is 0
  10   the query's own budget of requests is spent; braid resume goes on
  75   paused by quota or service; braid resume goes on
  130  interrupted; braid resume goes on`

// exitError ends a command with a code of its own. What is to be said has been said when said is true.
type exitError struct {
	code int
	err  error
	said bool
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// exitCode turns how a command ended into its exit code.
func exitCode(ctx context.Context, err error) int {
	var own *exitError
	var yaml strictyaml.Errors
	var values service.ValueErrors
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &own):
		return own.code
	case loadExit(err) != exitOK:
		return loadExit(err)
	case errors.As(err, &yaml), errors.As(err, &values),
		is(err, query.ErrInvalid, query.ErrSpec, query.ErrAmbiguous, query.ErrFingerprint, braid.ErrURL, query.ErrState, query.ErrKeyReused, messages.ErrNotFound, messages.ErrName, braid.ErrToken, braid.ErrUnknownService,
			service.ErrUnknownCollection, service.ErrUnknownParameter, service.ErrMissingParameter, service.ErrInvalidValue, service.ErrNotNarrowed, service.ErrUnsafeBase,
			strictyaml.ErrInvalid, query.ErrColumn, messages.ErrPosition, messages.ErrInFlight, planner.ErrUnsplittable,
			planner.ErrTooMany, planner.ErrMaxChunks, output.ErrFormat, output.ErrNoGeometry):
		return exitUsage
	case is(err, postgres.ErrCredentials, access.ErrUnauthenticated, access.ErrForbidden, access.ErrMalformed, bus.ErrIdentity, bus.ErrDenied):
		return exitCredentials
	case is(err, query.ErrIncomplete, query.ErrTable, messages.ErrDamaged, output.ErrTarget, postgres.ErrRefused, postgres.ErrUnreachable, postgres.ErrFailed):
		return exitIncomplete
	case is(err, messages.ErrStoreFull):
		return exitPaused
	case errors.Is(err, bus.ErrDurability):
		return exitUsage
	case is(err, bus.ErrDir, bus.ErrDirInUse, bus.ErrListen, messages.ErrUnreachable, braid.ErrServer, braid.ErrAuthority):
		return exitInternal
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitInternal
}

func is(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// exitEvent is the last word of a command that did not end with 0: with --json on stdout, unless something else stands there
// already, and with --progress json on stderr.
type exitEvent struct {
	MessageType string    `json:"message_type"` // exit_error
	Code        int       `json:"code"`
	Message     string    `json:"message"`
	Problems    []problem `json:"problems,omitempty"` // of a query or a definition, each by itself
}

// ended tells people and programs how a command ended that did not end well.
func (a *app) ended(code int, err error) {
	event := exitEvent{"exit_error", code, strings.TrimSpace(err.Error()), nil}
	if placed, ok := errors.AsType[*placedError](err); ok {
		event.Problems = problemsOf(placed.problems.list)
	} else if several, ok := errors.AsType[strictyaml.Errors](err); ok {
		event.Problems = problemsOf(several)
	}
	if code == exitInterrupted && errors.Is(err, context.Canceled) {
		event.Message = a.interrupted()
	}
	if a.progress == "json" {
		fmt.Fprintln(a.stderr, jsonText(event))
	} else {
		a.complain(err)
	}
	if a.json && !a.jsonTold {
		_ = a.printJSON(event) // stdout may be what failed
	}
}

// complain tells a person what went wrong, each problem on a line of its own.
func (a *app) complain(err error) {
	var own *exitError
	if errors.As(err, &own) && own.said {
		return
	}
	for i, line := range strings.Split(strings.TrimSpace(err.Error()), "\n") {
		label := "error"
		if i > 0 {
			label = ""
		}
		fmt.Fprintln(a.stderr, a.labelled(label, line))
	}
}

// interrupted says how to go on after a signal, where the query is known.
func (a *app) interrupted() string {
	if a.following == "" {
		return "interrupted"
	}
	if a.server != "" || a.here != "" {
		return "detached; the query goes on on the server: braid watch " + a.following + a.whereHint()
	}
	return "interrupted; braid resume " + a.following + a.whereHint() + " goes on"
}
