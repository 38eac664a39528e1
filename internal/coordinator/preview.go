package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
)

const (
	maxPreviewBytes = 4 << 20 // of rows; the first one is shown however long it is
	mostPassedOver  = 100     // results that are lost or damaged
)

// Preview gives the first rows that are stored of a query, at most limit, in the order of positions, with the columns of the table. It reads results one by one
// until it has enough. A result that is lost or damaged is passed over, and nothing is done about it.
func (c *Coordinator) Preview(ctx context.Context, id string, limit int) (*messages.Preview, error) {
	if err := within("limit", limit, 1, MaxListed); err != nil {
		return nil, err
	}
	w, err := c.watch(ctx, id)
	if err != nil {
		return nil, err
	}
	p, err := w.open(ctx, c)
	if err != nil {
		return nil, err
	}
	first := &firstStored{limit: limit, left: maxPreviewBytes}
	if most := w.query.MaxRows; most > 0 && most <= int64(limit) {
		first.limit, first.all = int(most), true
	}
	if err := c.firstStored(ctx, w, first); err != nil {
		return nil, fmt.Errorf("rows of %s: %w", w.query.ID, err)
	}
	shape := p.collection.Shape()
	shape.Key, shape.OnDuplicate, shape.NewestBy = nil, "", ""
	whole := p.shape()
	shape.Finalize, shape.Select = columnSteps(whole.Finalize), whole.Select
	if shape.Unknown == frame.UnknownFail {
		shape.Unknown = frame.UnknownText // the table cannot be made of such rows, which is best seen by looking at them
	}
	table, err := frame.Build(ctx, shape, first.columns, first.chunks(), nil)
	if errors.Is(err, frame.ErrShape) { // of these rows no table can be made, which is best seen by looking at them too
		shape.Finalize, shape.Select = nil, nil
		table, err = frame.Build(ctx, shape, first.columns, first.chunks(), nil)
	}
	if err != nil {
		return nil, fmt.Errorf("rows of %s: %w", w.query.ID, tableError(err))
	}
	preview, err := previewOf(ctx, table)
	if err := errors.Join(err, table.Close()); err != nil {
		return nil, fmt.Errorf("rows of %s: %w", w.query.ID, tableError(err))
	}
	preview.Query, preview.More = w.query.ID, first.more || w.query.State != messages.Complete
	return preview, nil
}

// columnSteps are those of the table's last steps that say which columns it has, and how they are named. Which rows it has, and in which
// order, is a matter of all of them.
func columnSteps(steps []frame.Operation) []frame.Operation {
	var kept []frame.Operation
	for _, op := range steps {
		if len(op.Filter) == 0 && len(op.Sort) == 0 && op.Limit == nil {
			kept = append(kept, op)
		}
	}
	return kept
}

func previewOf(ctx context.Context, table *frame.Table) (*messages.Preview, error) {
	preview := &messages.Preview{V: messages.Version, Columns: []messages.PreviewColumn{}, Rows: [][]*string{}}
	for _, column := range table.Columns {
		preview.Columns = append(preview.Columns, messages.PreviewColumn{Name: column.Name, Type: string(column.Type), Unit: column.Unit})
	}
	for row, err := range table.Rows(ctx) {
		if err != nil {
			return nil, err
		}
		cells := make([]*string, len(row))
		for i, value := range row {
			if !value.Null {
				cells[i] = new(value.Text)
			}
		}
		preview.Rows = append(preview.Rows, cells)
	}
	return preview, nil
}

// firstStored is the first rows that are stored of a query.
type firstStored struct {
	limit   int // rows that are wanted
	all     bool
	left    int // bytes that may still be kept
	lines   [][]byte
	columns []string // in first-seen order
	seen    map[string]bool
	full    bool
	passed  int  // results that were passed over
	more    bool // there are rows that are not among them
}

// firstStored reads results until there are enough rows.
func (c *Coordinator) firstStored(ctx context.Context, w *watched, f *firstStored) error {
	var behind messages.Position
	for {
		var batch []messages.Position
		w.picture.look(w, c.ports.Now(), func(r *reading, partial bool) {
			batch = r.chart.withRows(behind, MaxListed)
			f.more = f.more || partial
		})
		for _, at := range batch {
			if f.done() {
				f.more = f.more || !f.all
				return nil
			}
			h, rows, err := c.ports.Results.Result(ctx, w.query.ID, at)
			switch {
			case errors.Is(err, messages.ErrDamaged), errors.Is(err, messages.ErrNotFound), errors.Is(err, messages.ErrVersion):
				f.more = true
				if f.passed++; f.passed >= mostPassedOver {
					return nil
				}
				continue
			case err != nil:
				return err
			}
			f.take(h, rows)
		}
		if len(batch) < MaxListed {
			return nil
		}
		behind = batch[len(batch)-1]
	}
}

func (f *firstStored) done() bool { return f.full || len(f.lines) >= f.limit }

// take keeps the rows of a result that are wanted.
func (f *firstStored) take(h *messages.ResultHeader, rows []byte) {
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	for _, name := range h.Columns {
		if !f.seen[name] {
			f.seen[name] = true
			f.columns = append(f.columns, name)
		}
	}
	for line := range bytes.Lines(rows) {
		switch line = bytes.TrimSpace(line); {
		case len(line) == 0:
			continue
		case len(f.lines) >= f.limit:
			f.more = f.more || !f.all
			return
		case len(line) > f.left && len(f.lines) > 0:
			f.full, f.more = true, true
			return
		}
		f.left -= len(line)
		f.lines = append(f.lines, bytes.Clone(line))
	}
}

func (f *firstStored) chunks() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, line := range f.lines {
			if !yield(line, nil) {
				return
			}
		}
	}
}
