package loadrun

import (
	"context"
	"time"

	"github.com/braidhq/braid/pkg/load"
)

// Records stores profiles, runs, approvals and how runs go. Changes are compare-and-set: their errors wrap messages.ErrConflict when revision
// is not the last one (0: there is none yet), and messages.ErrNotFound when nothing is there.
type Records interface {
	SaveProfile(ctx context.Context, p *load.Profile, revision uint64) (uint64, error)
	LoadProfile(ctx context.Context, id string) (*load.Profile, uint64, error)
	ListProfiles(ctx context.Context) ([]*load.Profile, error)
	RemoveProfile(ctx context.Context, id string, revision uint64) error

	SaveRun(ctx context.Context, r *load.Run, revision uint64) (uint64, error)
	LoadRun(ctx context.Context, id string) (*load.Run, uint64, error)
	ListRuns(ctx context.Context) ([]*load.Run, error)
	// WatchRuns calls on with each run and each change, a removed one as nil, and caughtUp once in between. It returns when ctx ends, or
	// when the watch is lost.
	WatchRuns(ctx context.Context, on func(id string, r *load.Run, revision uint64), caughtUp func()) error
	RemoveRun(ctx context.Context, id string) error // with all that is stored of it

	SaveApproval(ctx context.Context, a *load.Approval, revision uint64) (uint64, error)
	LoadApproval(ctx context.Context, id string) (*load.Approval, uint64, error)
	ListApprovals(ctx context.Context) ([]*load.Approval, error)

	SaveRunProgress(ctx context.Context, p *load.Progress) error
	LoadRunProgress(ctx context.Context, run string) (*load.Progress, error)
}

// Files stores what is too large for a record, once. Storing the same again is no error.
type Files interface {
	PutSnapshot(ctx context.Context, s *load.Snapshot) error
	Snapshot(ctx context.Context, id string) (*load.Snapshot, error)
	// LatestSnapshot gives the id of the one that a profile was last looked up with; PinSnapshot sets it.
	PinSnapshot(ctx context.Context, profile string, revision int, id string) error
	PinnedSnapshot(ctx context.Context, profile string, revision int) (string, error)
	PutSelection(ctx context.Context, run string, s *load.Selection) error
	Selection(ctx context.Context, run string) (*load.Selection, error)
}

// Queue is what workers are to execute, in the order in which it was published.
type Queue interface {
	EnsureRunQueue(ctx context.Context, r *load.Run, ackWait time.Duration) error
	PublishLoadItems(ctx context.Context, items []*load.Item) error // one that is queued already is as good as published
	// PurgeRun removes what nobody has taken.
	PurgeRun(ctx context.Context, run string) error
}

// Intake of a run. A run has places 0 to 24; who admits holds the place as a lease, so that nobody else admits by it.
type Intake interface {
	// Admit stores an admission unless the intake is closed: the error then wraps load.ErrIntakeClosed, and whoever asks again for the same number
	// and attempt after an error is told the truth. Once CloseIntake has returned, no admission is stored any more.
	Admit(ctx context.Context, a *load.Admission, place int) error
	CloseIntake(ctx context.Context, run string) error
	IntakeClosed(ctx context.Context, run string) (bool, error)
}

// Executions is the durable record of what was done.
type Executions interface {
	// PublishExecution's error wraps messages.ErrExists when the number and attempt has a record.
	PublishExecution(ctx context.Context, e *load.Execution) error
	// TrackRun begins at the first record of the run, gives all in the order in which they were stored, calls caughtUp once all that was
	// there has been seen, and returns when ctx ends or the stream can no longer be followed.
	TrackRun(ctx context.Context, run string, on RunTracker) error
	// Execution reads the record of a number, the first that was stored; the error wraps messages.ErrNotFound.
	Execution(ctx context.Context, run string, number int) (*load.Execution, error)
	// SealRun keeps all further records of executions of a run from being stored. Once it has returned nil, none is stored any more.
	SealRun(ctx context.Context, run string) error
}

// RunTracker is told of a run's records.
type RunTracker = load.RunTracker

// Errands asks workers to look a dashboard up: coordinators do not speak to services.
type Errands interface {
	// LookUp waits until a worker has answered or ctx ends. A *load.LookUpError is the worker's or the service's word.
	LookUp(ctx context.Context, l *load.LookUp) (*load.Snapshot, error)
	// ServeLookUps has each errand of the environments that serves wants done by do, one at a time, until ctx ends.
	ServeLookUps(ctx context.Context, serves func(environment string) bool, do func(ctx context.Context, l *load.LookUp) (*load.Snapshot, error)) error
}
