package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// loadDesk answers for the port of load runs, and remembers what it was asked and by whom.
type loadDesk struct {
	d *desk // whose list of what was asked it shares

	mu       sync.Mutex // guards what follows
	err      error
	by       load.Actor
	start    load.StartRequest
	approval load.ApprovalRequest
	revision int
	filter   load.ExecutionFilter
	statuses []*load.RunStatus // what is told of a run, one after the other; the last one again and again
	runs     []*load.RunStatus
}

func sampleRun(state load.State) *load.Run {
	return &load.Run{V: 1, ID: "r1", Profile: load.Profile{V: 1, ID: "p1", Revision: 1, Axes: json.RawMessage(`{}`)}, Environment: "dev", Total: 8, State: state, Updated: time.Unix(1, 0).UTC()}
}

func (l *loadDesk) asked(by load.Actor, format string, args ...any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.by = by
	l.d.note(fmt.Sprintf(format, args...))
	return l.err
}

func (l *loadDesk) Environments(context.Context) ([]load.EnvironmentView, error) {
	return nil, l.asked(load.Actor{}, "environments")
}

func (l *loadDesk) Profiles(context.Context) ([]*load.Profile, error) {
	return nil, l.asked(load.Actor{}, "profiles")
}

func (l *loadDesk) Profile(_ context.Context, id string) (*load.Profile, error) {
	return &load.Profile{V: 1, ID: id}, l.asked(load.Actor{}, "profile %s", id)
}

func (l *loadDesk) SaveProfile(_ context.Context, by load.Actor, p *load.Profile, revision int) (*load.Profile, error) {
	l.revision = revision
	return p, l.asked(by, "save %s", p.ID)
}

func (l *loadDesk) RemoveProfile(_ context.Context, by load.Actor, id string) error {
	return l.asked(by, "remove profile %s", id)
}

func (l *loadDesk) LookUp(_ context.Context, by load.Actor, profile string) (*load.Snapshot, error) {
	return &load.Snapshot{V: 1}, l.asked(by, "look up %s", profile)
}

func (l *loadDesk) Snapshot(_ context.Context, profile string) (*load.Snapshot, error) {
	return &load.Snapshot{V: 1}, l.asked(load.Actor{}, "snapshot %s", profile)
}

func (l *loadDesk) Preview(_ context.Context, profile string) (*load.Preview, error) {
	return &load.Preview{}, l.asked(load.Actor{}, "preview %s", profile)
}

func (l *loadDesk) Approve(_ context.Context, by load.Actor, profile string, req load.ApprovalRequest) (*load.Approval, error) {
	l.approval = req
	return &load.Approval{V: 1, ID: "a1"}, l.asked(by, "approve %s", profile)
}

func (l *loadDesk) Approvals(context.Context) ([]*load.Approval, error) {
	return nil, l.asked(load.Actor{}, "approvals")
}

func (l *loadDesk) Start(_ context.Context, by load.Actor, req load.StartRequest) (*load.Run, error) {
	l.start = req
	return sampleRun(load.Preparing), l.asked(by, "start %s", req.Profile)
}

func (l *loadDesk) Stop(_ context.Context, by load.Actor, run string) (*load.Run, error) {
	return sampleRun(load.Draining), l.asked(by, "stop %s", run)
}

func (l *loadDesk) RemoveRun(_ context.Context, by load.Actor, id string) error {
	return l.asked(by, "remove run %s", id)
}

func (l *loadDesk) Runs(context.Context) ([]*load.RunStatus, error) {
	return slices.Clone(l.runs), l.asked(load.Actor{}, "runs")
}

func (l *loadDesk) Run(_ context.Context, id string) (*load.RunStatus, error) {
	if id == "nowhere" {
		return nil, fmt.Errorf("load run nowhere: %w", messages.ErrNotFound)
	}
	err := l.asked(load.Actor{}, "run %s", id)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.statuses) == 0 {
		return &load.RunStatus{Run: sampleRun(load.Ended)}, err
	}
	s := l.statuses[0]
	if len(l.statuses) > 1 {
		l.statuses = l.statuses[1:]
	}
	if s == nil {
		return nil, fmt.Errorf("load run %s: %w", id, messages.ErrNotFound)
	}
	return s, err
}

func (l *loadDesk) Report(_ context.Context, id string) (*load.Report, error) {
	return &load.Report{V: 1, Run: "r1", Profile: "p1", State: load.Ended, Ending: load.Completed, Verdict: load.Passed}, l.asked(load.Actor{}, "report %s", id)
}

func (l *loadDesk) Series(_ context.Context, id string) (*load.Series, error) {
	return &load.Series{Run: id}, l.asked(load.Actor{}, "series %s", id)
}

func (l *loadDesk) Compare(_ context.Context, base, run string) (*load.Comparison, error) {
	return &load.Comparison{V: 1, Base: base, Run: run}, l.asked(load.Actor{}, "compare %s %s", base, run)
}

func (l *loadDesk) Executions(_ context.Context, id string, f load.ExecutionFilter) ([]*load.Execution, int, error) {
	l.filter = f
	return []*load.Execution{sampleExecution()}, 7, l.asked(load.Actor{}, "executions %s", id)
}

func (l *loadDesk) Execution(_ context.Context, id string, number int) (*load.Execution, error) {
	return sampleExecution(), l.asked(load.Actor{}, "execution %s %d", id, number)
}

const secretRow = "of a customer"

func sampleExecution() *load.Execution {
	return &load.Execution{V: 1, Run: "r1", Number: 3, Attempt: 1, Outcome: load.Success, Sample: json.RawMessage(`[{"name":"` + secretRow + `"}]`), Worker: "w1"}
}
