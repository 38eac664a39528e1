package braid

import (
	"context"

	"github.com/braidhq/braid/internal/loadrun"
	"github.com/braidhq/braid/pkg/load"
)

// LoadRuns is what can be done about load runs: in this process, or over HTTP. Errors wrap the sentinels of pkg/load and pkg/messages, or are a
// *load.GateError, when nothing was sent, or a *load.LookUpError. Ids of runs may be given by their first letters; latest, or none, is the
// newest run. It is safe for concurrent use.
type LoadRuns interface {
	// Environments lists the environments that load can be run in, by their names.
	Environments(ctx context.Context) ([]load.EnvironmentView, error)

	Profiles(ctx context.Context) ([]*load.Profile, error)
	Profile(ctx context.Context, id string) (*load.Profile, error)
	// SaveProfile stores the next revision of a profile, unless it says what is stored already. The revision is the one that was seen: 0 of a
	// new one, -1 whichever there is; else the error wraps messages.ErrConflict.
	SaveProfile(ctx context.Context, p *load.Profile, revision int) (*load.Profile, error)
	RemoveProfile(ctx context.Context, id string) error
	// LookUp has a worker look up what the profile's dashboard consists of, and what else depends on its data.
	LookUp(ctx context.Context, profile string) (*load.Snapshot, error)
	// Snapshot is what was looked up for the profile's present revision.
	Snapshot(ctx context.Context, profile string) (*load.Snapshot, error)
	// Preview tells what a run would send and what it needs for that. Nothing is sent.
	Preview(ctx context.Context, profile string) (*load.Preview, error)
	// Approve lets one run start in PROD, as long as its gate is the one that was seen.
	Approve(ctx context.Context, profile string, req load.ApprovalRequest) (*load.Approval, error)
	Approvals(ctx context.Context) ([]*load.Approval, error)

	// Start begins a run. What was started before under the same key is given as it is, without an error.
	Start(ctx context.Context, req load.StartRequest) (*load.Run, error)
	// Stop ends a run: once it returns, no request is admitted any more.
	Stop(ctx context.Context, run string) (*load.Run, error)
	RemoveRun(ctx context.Context, run string) error
	// Runs lists all runs, the newest first.
	Runs(ctx context.Context) ([]*load.RunStatus, error)
	Run(ctx context.Context, id string) (*load.RunStatus, error)
	// FollowRun calls on with how a run goes, at most about four times a second, when that has changed, and at last when it has ended. It
	// returns nil then, the error of on, or that of ctx.
	FollowRun(ctx context.Context, id string, on func(*load.RunStatus) error) error
	Report(ctx context.Context, id string) (*load.Report, error)
	Series(ctx context.Context, id string) (*load.Series, error)
	Compare(ctx context.Context, base, run string) (*load.Comparison, error)
	// Executions gives a page of records without the rows that were kept, and the number after which the next page goes on: -1 when there are no more.
	Executions(ctx context.Context, id string, f load.ExecutionFilter) (page []*load.Execution, next int, err error)
	// Execution gives all that is recorded of one execution.
	Execution(ctx context.Context, id string, number int) (*load.Execution, error)
}

// LoadRuns is what can be done about load runs in this process, by whoever works there: they may do all. It works without Run too, when another
// process leads.
func (l *Local) LoadRuns(name string) LoadRuns { return &localLoads{l.desk, LocalActor(name)} }

// localLoads asks the desk of this process.
type localLoads struct {
	*loadrun.Desk
	by load.Actor
}

// SaveProfile is LoadRuns'.
func (l *localLoads) SaveProfile(ctx context.Context, p *load.Profile, revision int) (*load.Profile, error) {
	return l.Desk.SaveProfile(ctx, l.by, p, revision)
}

// RemoveProfile is LoadRuns'.
func (l *localLoads) RemoveProfile(ctx context.Context, id string) error {
	return l.Desk.RemoveProfile(ctx, l.by, id)
}

// LookUp is LoadRuns'.
func (l *localLoads) LookUp(ctx context.Context, profile string) (*load.Snapshot, error) {
	return l.Desk.LookUp(ctx, l.by, profile)
}

// Approve is LoadRuns'.
func (l *localLoads) Approve(ctx context.Context, profile string, req load.ApprovalRequest) (*load.Approval, error) {
	return l.Desk.Approve(ctx, l.by, profile, req)
}

// Start is LoadRuns'.
func (l *localLoads) Start(ctx context.Context, req load.StartRequest) (*load.Run, error) {
	run, err := l.Desk.Start(ctx, l.by, req)
	if run != nil && repeatedStart(err) {
		return run, nil
	}
	return run, err
}

// Stop is LoadRuns'.
func (l *localLoads) Stop(ctx context.Context, run string) (*load.Run, error) {
	return l.Desk.Stop(ctx, l.by, run)
}

// RemoveRun is LoadRuns'.
func (l *localLoads) RemoveRun(ctx context.Context, run string) error {
	return l.Desk.RemoveRun(ctx, l.by, run)
}

// FollowRun is LoadRuns'.
func (l *localLoads) FollowRun(ctx context.Context, id string, on func(*load.RunStatus) error) error {
	return l.Follow(ctx, id, on)
}
