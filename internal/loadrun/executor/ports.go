package executor

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// Delivery is an item in this worker's hands.
type Delivery interface {
	Item() *load.Item
	Attempt() int                   // deliveries of the item, this one included
	Enqueued() time.Time            // by the clock of the stream
	Done(ctx context.Context) error // waits until the item is removed
	HandBack() error                // puts it back at once
	InProgress() error              // restarts the queue's patience
}

// Queue gives out the items of one run, in their order. TakeOne gives nil when none came in time or ctx has ended.
type Queue interface {
	TakeOne(ctx context.Context, wait time.Duration) (Delivery, error)
}

// Queues opens the queues of runs. The error wraps messages.ErrNotFound as long as there is none.
type Queues interface {
	RunQueue(ctx context.Context, run string) (Queue, error)
}

// Records is what all processes share. The watches call back with what is there and with each change, and return when ctx ends or when the
// watch is lost.
type Records interface {
	WatchRuns(ctx context.Context, on func(id string, r *load.Run, revision uint64), caughtUp func()) error
	WatchServices(ctx context.Context, on func(*messages.Service, error)) error
}

// Files are what a run goes through.
type Files interface {
	Snapshot(ctx context.Context, id string) (*load.Snapshot, error)
	Selection(ctx context.Context, run string) (*load.Selection, error)
}

// Intake is loadrun.Intake's for workers.
type Intake interface {
	Admit(ctx context.Context, a *load.Admission, place int) error
}

// Executions is loadrun.Executions' for workers.
type Executions interface {
	PublishExecution(ctx context.Context, e *load.Execution) error
	Execution(ctx context.Context, run string, number int) (*load.Execution, error)
}

// Errands is loadrun.Errands' for workers.
type Errands interface {
	ServeLookUps(ctx context.Context, serves func(environment string) bool, do func(context.Context, *load.LookUp) (*load.Snapshot, error)) error
}

// Client speaks to one environment. It is safe for concurrent use.
type Client interface {
	// Execute sends one chart's request. Its errors are those of places and of a ctx that has ended.
	Execute(ctx context.Context, r load.Request, places load.Places) (load.Answer, error)
	LookUp(ctx context.Context, l *load.LookUp) (*load.Snapshot, error)
}

// ErrNoAdapter means that this worker does not have the adapter that speaks to an environment: its work is left to others.
var ErrNoAdapter = errors.New("the adapter that speaks to the environment is not compiled into this worker")

// Clients finds who speaks to an environment, from the definition that a run pinned. Results are cached by the implementation. The error
// wraps ErrNoAdapter, or is one of the store.
type Clients interface {
	Client(ctx context.Context, environment, definition string) (Client, *load.Environment, error)
	// Serves tells whether this worker has the adapter of a service; adapter is its name, which is empty when it is not known.
	Serves(environment, adapter string) bool
}

// Clock is the stream's clock. It is safe for concurrent use.
type Clock interface {
	// At gives the stream's time at an instant of this process, and by what it was reckoned.
	At(local time.Time) (time.Time, load.Clock)
	Keep(ctx context.Context) // up to date, until ctx ends
}

// Ports are the executor's connections to the world.
type Ports struct {
	Queues     Queues
	Records    Records
	Files      Files
	Intake     Intake
	Executions Executions
	Errands    Errands
	Clients    Clients
	Leases     lease.Store
	Clock      Clock
	Local      func() time.Time // this process's time, with a monotonic reading: durations are measured by it
	Now        func() time.Time // the time that all processes share
	Log        *slog.Logger
	Observer   Observer // nil: nobody listens
}

// Observer hears what the executor does, to count it. Its methods are called by many at a time, and nothing waits for them.
type Observer interface {
	ExecutionTaken(environment string)
	ExecutionEnded(environment string, outcome load.Outcome, kind string)
	PlaceTaken(environment, of string, wait time.Duration) // of: run, load or shared
}

type unobserved struct{}

func (unobserved) ExecutionTaken(string)                       {}
func (unobserved) ExecutionEnded(string, load.Outcome, string) {}
func (unobserved) PlaceTaken(string, string, time.Duration)    {}
