package loadrun

import (
	"context"
	"errors"
	"fmt"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// mostLooks bounds how many numbers one call reads: most of them may be other ones than are asked for.
const mostLooks = 2000

// Executions lists records of a run by their numbers, without their samples, and gives the number after which the next call goes on; it is -1
// when there are no more. A page may have fewer than the limit, even none, and others after it.
func (d *Desk) Executions(ctx context.Context, id string, f load.ExecutionFilter) (page []*load.Execution, next int, err error) {
	if f.Limit == 0 {
		f.Limit = 50
	}
	if f.Limit < 0 || f.Limit > load.MaxExecutions || f.After < -1 {
		return nil, 0, fmt.Errorf("executions: %w: the limit is %d and the start %d; want a limit of 1 to %d and a start of -1 or more", load.ErrInvalid, f.Limit, f.After, load.MaxExecutions)
	}
	r, _, err := d.find(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	matches, err := d.matching(ctx, r, f)
	if err != nil {
		return nil, 0, err
	}
	page = []*load.Execution{}
	looks := 0
	for n := f.After + 1; n < r.Total; n++ {
		if !matches(n) {
			continue
		}
		if len(page) == f.Limit || looks == mostLooks {
			return page, n - 1, nil
		}
		looks++
		e, err := d.ports.Executions.Execution(ctx, r.ID, n)
		if errors.Is(err, messages.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, 0, fmt.Errorf("execution %d of load run %s: %w", n, r.ID, err)
		}
		if f.Matches(e) {
			e.Sample = nil
			page = append(page, e)
		}
	}
	return page, -1, nil
}

// matching tells which numbers may be asked for, without reading their records.
func (d *Desk) matching(ctx context.Context, r *load.Run, f load.ExecutionFilter) (func(n int) bool, error) {
	if f.Chart == 0 && f.Role == "" {
		return func(int) bool { return true }, nil
	}
	p, err := d.paper(ctx, r)
	if err != nil {
		return nil, err
	}
	return func(n int) bool {
		return (f.Chart == 0 || p.chart(n) == f.Chart) && (f.Role == "" || p.variation(n).Role == f.Role)
	}, nil
}

// Execution gives the record of a number, with its sample; the error wraps messages.ErrNotFound.
func (d *Desk) Execution(ctx context.Context, id string, number int) (*load.Execution, error) {
	r, _, err := d.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if number < 0 || number >= r.Total {
		return nil, fmt.Errorf("execution %d: %w: the load run %s has 0 to %d", number, messages.ErrNotFound, r.ID, r.Total-1)
	}
	e, err := d.ports.Executions.Execution(ctx, r.ID, number)
	if err != nil {
		return nil, fmt.Errorf("execution %d of load run %s: %w", number, r.ID, err)
	}
	return e, nil
}

// paper is what a run goes through, as it was pinned at its start.
type paper struct {
	snapshot  *load.Snapshot
	selection *load.Selection
}

type papers interface {
	Snapshot(ctx context.Context, id string) (*load.Snapshot, error)
	Selection(ctx context.Context, run string) (*load.Selection, error)
}

func (d *Desk) paper(ctx context.Context, r *load.Run) (*paper, error) {
	return readPaper(ctx, d.ports.Files, r)
}

// readPaper reads what a run goes through. What is not as the run says wraps messages.ErrDamaged.
func readPaper(ctx context.Context, files papers, r *load.Run) (*paper, error) {
	snapshot, err := files.Snapshot(ctx, r.Snapshot)
	if err != nil {
		return nil, fmt.Errorf("what the dashboard of load run %s consists of: %w", r.ID, err)
	}
	selection, err := files.Selection(ctx, r.ID)
	if err != nil {
		return nil, fmt.Errorf("selection of load run %s: %w", r.ID, err)
	}
	if selection.Hash != r.Selection || len(selection.Variations) != r.Selected || len(snapshot.Charts) != r.Charts || r.Total != r.Selected*r.Charts {
		return nil, fmt.Errorf("%w: what is stored of load run %s is not what it was started with", messages.ErrDamaged, r.ID)
	}
	return &paper{snapshot: snapshot, selection: selection}, nil
}

func (p *paper) chart(n int) int64 {
	_, chart := p.selection.Place(n, len(p.snapshot.Charts))
	return p.snapshot.Charts[chart].ID
}

func (p *paper) variation(n int) *load.Variation {
	variation, _ := p.selection.Place(n, len(p.snapshot.Charts))
	return &p.selection.Variations[variation]
}
