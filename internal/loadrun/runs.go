package loadrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// Runs lists all runs with how they go, the newest first.
func (d *Desk) Runs(ctx context.Context) ([]*load.RunStatus, error) {
	all, err := d.list(ctx)
	if err != nil {
		return nil, err
	}
	statuses := make([]*load.RunStatus, len(all))
	for i, r := range all {
		if statuses[i], err = d.status(ctx, r); err != nil {
			return nil, err
		}
	}
	return statuses, nil
}

// Run gives a run with how it goes. Ids may be given by their first letters; latest is the newest run.
func (d *Desk) Run(ctx context.Context, id string) (*load.RunStatus, error) {
	r, _, err := d.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return d.status(ctx, r)
}

func (d *Desk) status(ctx context.Context, r *load.Run) (*load.RunStatus, error) {
	p, err := d.ports.Records.LoadRunProgress(ctx, r.ID)
	if err != nil && !errors.Is(err, messages.ErrNotFound) {
		return nil, fmt.Errorf("progress of load run %s: %w", r.ID, err)
	}
	return &load.RunStatus{Run: r, Progress: p}, nil
}

// RemoveRun removes a run that has ended, with all that is stored of it; else the error wraps load.ErrState.
func (d *Desk) RemoveRun(ctx context.Context, by load.Actor, id string) error {
	if !by.Run {
		return noPermission("load:run", "remove a load run")
	}
	r, _, err := d.find(ctx, id)
	if err != nil {
		return err
	}
	if r.State.Active() {
		return fmt.Errorf("remove %s: %w: it is %s; stop it first", r.ID, load.ErrState, r.State)
	}
	d.reports.drop(r.ID)
	return d.ports.Records.RemoveRun(ctx, r.ID)
}

// mostCapacity is what no run gets more of (LR-2.1).
const mostCapacity = 25

// followEvery is how often a run that somebody follows is looked at (LR-6.4).
const followEvery = 250 * time.Millisecond

// Follow calls on with how a run goes, at most four times a second, when that has changed, and at last when it has ended. It returns nil then,
// the error of on, or that of ctx.
func (d *Desk) Follow(ctx context.Context, id string, on func(*load.RunStatus) error) error {
	status, err := d.Run(ctx, id)
	if err != nil {
		return err
	}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	var told [2]time.Time
	for first := true; ; first = false {
		now := [2]time.Time{status.Run.Updated}
		if status.Progress != nil {
			now[1] = status.Progress.Updated
		}
		if first || now != told || !status.Run.State.Active() { // the end is told, also where it came in the same moment
			if err := on(status); err != nil {
				return err
			}
			told = now
		}
		if !status.Run.State.Active() {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		if status, err = d.Run(ctx, status.Run.ID); err != nil {
			return err
		}
	}
}

// Environments lists the environments as they stand now, by their names, with the runs that are active there.
func (d *Desk) Environments(ctx context.Context) ([]load.EnvironmentView, error) {
	all, err := d.list(ctx)
	if err != nil {
		return nil, err
	}
	names := d.ports.Environments.EnvironmentNames()
	views := make([]load.EnvironmentView, 0, len(names))
	for _, name := range names {
		v := load.EnvironmentView{Name: name, Roles: []string{}, Active: []string{}}
		definition, err := d.ports.Environments.Environment(name)
		if err == nil {
			e := definition.Environment
			v.BaseURL, v.Stage, v.Async = e.BaseURL, e.Stage, e.Async
			for _, role := range e.Roles {
				v.Roles = append(v.Roles, role.Name)
			}
			v.Capacity, err = load.Capacity(mostCapacity, e)
			v.Class = v.Capacity.Class
		}
		if err != nil {
			v.Problem = messages.Text(err.Error())
		}
		for _, r := range all {
			if r.Environment == name && r.State.Active() {
				v.Active = append(v.Active, r.ID)
			}
		}
		slices.Sort(v.Active)
		views = append(views, v)
	}
	return views, nil
}
