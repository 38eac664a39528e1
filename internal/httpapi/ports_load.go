package httpapi

import (
	"context"

	"github.com/braidhq/braid/pkg/load"
)

// LoadDesk is what can be asked about load runs. Errors wrap the sentinels of pkg/load and pkg/messages, or are a *load.GateError or a
// *load.LookUpError; any other error is told to the log alone. Ids of runs may be given by their first letters; latest is the newest run.
type LoadDesk interface {
	Environments(ctx context.Context) ([]load.EnvironmentView, error)

	Profiles(ctx context.Context) ([]*load.Profile, error)
	Profile(ctx context.Context, id string) (*load.Profile, error)
	// SaveProfile stores the next revision of a profile. The revision is the one that was seen: 0 of a new one, -1 whichever there is.
	SaveProfile(ctx context.Context, by load.Actor, p *load.Profile, revision int) (*load.Profile, error)
	RemoveProfile(ctx context.Context, by load.Actor, id string) error
	LookUp(ctx context.Context, by load.Actor, profile string) (*load.Snapshot, error)
	Snapshot(ctx context.Context, profile string) (*load.Snapshot, error)
	Preview(ctx context.Context, profile string) (*load.Preview, error)
	Approve(ctx context.Context, by load.Actor, profile string, req load.ApprovalRequest) (*load.Approval, error)
	Approvals(ctx context.Context) ([]*load.Approval, error)

	// Start gives what was started before under the same key with an error that wraps load.ErrRepeated.
	Start(ctx context.Context, by load.Actor, req load.StartRequest) (*load.Run, error)
	Stop(ctx context.Context, by load.Actor, run string) (*load.Run, error)
	RemoveRun(ctx context.Context, by load.Actor, id string) error
	Runs(ctx context.Context) ([]*load.RunStatus, error)
	Run(ctx context.Context, id string) (*load.RunStatus, error)
	Report(ctx context.Context, id string) (*load.Report, error)
	Series(ctx context.Context, id string) (*load.Series, error)
	Compare(ctx context.Context, base, run string) (*load.Comparison, error)
	// Executions gives a page, and the number after which the next one goes on: -1 when there are no more.
	Executions(ctx context.Context, id string, f load.ExecutionFilter) (page []*load.Execution, next int, err error)
	Execution(ctx context.Context, id string, number int) (*load.Execution, error)
}
