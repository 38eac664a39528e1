package loadrun

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/load"
)

// Report gives the numbers of a run, of all that is recorded by now. They follow from the records alone.
func (d *Desk) Report(ctx context.Context, id string) (*load.Report, error) {
	read, err := d.read(ctx, id)
	if err != nil {
		return nil, err
	}
	return read.report, nil
}

// Series gives how a run went over its time.
func (d *Desk) Series(ctx context.Context, id string) (*load.Series, error) {
	read, err := d.read(ctx, id)
	if err != nil {
		return nil, err
	}
	return read.series, nil
}

// Compare sets a run against a base. What keeps them from being compared is in the comparison.
func (d *Desk) Compare(ctx context.Context, base, run string) (*load.Comparison, error) {
	a, err := d.read(ctx, base)
	if err != nil {
		return nil, err
	}
	b, err := d.read(ctx, run)
	if err != nil {
		return nil, err
	}
	return load.Compare(a.report, b.report), nil
}

// reading is what the records of a run come to.
type reading struct {
	run    string
	report *load.Report
	series *load.Series
}

func (d *Desk) read(ctx context.Context, id string) (*reading, error) {
	r, _, err := d.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if kept := d.reports.get(r.ID); kept != nil {
		return kept, nil
	}
	series := load.NewSeries(r)
	fold, err := d.fold(ctx, r, series)
	if err != nil {
		return nil, err
	}
	read := &reading{run: r.ID, report: fold.Report(), series: series.Series()}
	if !r.State.Active() { // nothing more is recorded of it
		d.reports.put(read)
	}
	return read, nil
}

// fold reads all records of a run that there are by now.
func (d *Desk) fold(ctx context.Context, r *load.Run, series *load.SeriesFold) (*load.Fold, error) {
	select {
	case d.reading <- struct{}{}:
		defer func() { <-d.reading }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	snapshot, err := d.ports.Files.Snapshot(ctx, r.Snapshot)
	if err != nil {
		return nil, fmt.Errorf("what the dashboard of load run %s consists of: %w", r.ID, err)
	}
	return foldOf(ctx, d.ports.Executions, r, snapshot, series, d.log)
}

// foldOf reads all records of a run that there are by now. series may be nil.
func foldOf(
	ctx context.Context, executions Executions, r *load.Run, snapshot *load.Snapshot, series *load.SeriesFold, log *slog.Logger,
) (*load.Fold, error) {
	fold, err := load.NewFold(r, snapshot)
	if err != nil {
		return nil, fmt.Errorf("load run %s: %w", r.ID, err)
	}
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	caught := false
	err = executions.TrackRun(ctx, r.ID, RunTracker{
		Admission: func(a *load.Admission, _ uint64) {
			if !caught {
				fold.Admission(a)
			}
		},
		Execution: func(e *load.Execution, _ uint64, _ time.Time) {
			if caught {
				return
			}
			if series != nil && e.Number >= 0 && e.Number < r.Total && !fold.Recorded(e.Number) {
				series.Add(e)
			}
			fold.Execution(e)
		},
		Bad: func(sequence uint64, err error) {
			if caught {
				return
			}
			fold.Bad()
			log.Error("a record of a load run cannot be read; it is left out", "run", r.ID, "sequence", sequence, "error", err)
		},
		CaughtUp: func() { caught = true; enough() },
	})
	switch {
	case caught:
		return fold, nil
	case err == nil:
		err = errReadingEnded
	}
	return nil, fmt.Errorf("read the executions of load run %s: %w", r.ID, err)
}

// shelf keeps the last readings of runs that have ended.
type shelf struct {
	mu   sync.Mutex // guards kept
	kept []*reading // the one that was used last at the end
}

const mostKept = 8

func newShelf() *shelf { return &shelf{} }

func (s *shelf) get(run string) *reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range s.kept {
		if r.run == run {
			s.kept = append(slices.Delete(s.kept, i, i+1), r)
			return r
		}
	}
	return nil
}

func (s *shelf) put(r *reading) {
	s.drop(r.run)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept = append(s.kept, r); len(s.kept) > mostKept {
		s.kept = slices.Delete(s.kept, 0, 1)
	}
}

func (s *shelf) drop(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = slices.DeleteFunc(s.kept, func(r *reading) bool { return r.run == run })
}
