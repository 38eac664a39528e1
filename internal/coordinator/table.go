package coordinator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

// Export is a table with what is to be said of it. Close it after use.
type Export struct {
	Query  *messages.Query
	Table  *frame.Table
	Survey *Survey
	Meta   map[string]string // for formats that carry metadata
}

// Close gives up what the table keeps.
func (e *Export) Close() error { return e.Table.Close() }

// Export builds the query's table from its results in position order, without any request upstream. With partial, what
// is missing is left out; without, the error wraps query.ErrIncomplete. Rows that contradict what is declared wrap query.ErrTable. A result that is lost or damaged is never passed over: its
// position becomes pending again, the query interrupted, and the error wraps messages.ErrDamaged. One that a newer Braid has
// written is left alone, and the error wraps messages.ErrVersion.
func (c *Coordinator) Export(ctx context.Context, id string, partial bool) (*Export, error) {
	return c.export(ctx, id, partial, func(*frame.Shape) {})
}

// export makes a table of a shape that may be changed before.
func (c *Coordinator) export(ctx context.Context, id string, partial bool, change func(*frame.Shape)) (*Export, error) {
	q, p, survey, err := c.surveyed(ctx, id)
	if err != nil {
		return nil, err
	}
	switch {
	case survey.Enough || partial:
	case q.State == messages.Complete:
		return nil, c.reopen(ctx, q, missing(q, survey))
	case q.State.Active():
		return nil, fmt.Errorf("query %s: %w: %d of %d chunks are, and it is %s; wait for its end (braid status %s), --partial takes what there is",
			q.ID, query.ErrIncomplete, survey.Completed.Roots(), q.Chunks, q.State, q.ID)
	default:
		return nil, fmt.Errorf("query %s: %w: %d of %d chunks are, and it is %s; braid resume %s goes on, --partial takes what there is",
			q.ID, query.ErrIncomplete, survey.Completed.Roots(), q.Chunks, q.State, q.ID)
	}
	runs, err := c.runs(ctx, q, survey)
	if err != nil {
		return nil, err
	}
	var damaged []lost
	shape := p.shape()
	shape.Runs = rowsOf(runs)
	change(&shape)
	table, err := frame.Build(ctx, shape, columnsOf(runs), c.allChunks(ctx, runs, &damaged), c.ports.Scratch)
	if len(damaged) > 0 {
		if err == nil {
			err = table.Close()
		}
		return nil, errors.Join(c.reopenAll(ctx, damaged), err)
	}
	if err != nil {
		return nil, fmt.Errorf("table of %s: %w", q.ID, tableError(err))
	}
	e := &Export{Query: q, Table: table, Survey: survey, Meta: metadata(q, table.Columns, !survey.Enough)}
	return e, nil
}

// tableError says whose matter it is that a table cannot be made.
func tableError(err error) error {
	switch {
	case errors.Is(err, frame.ErrShape):
		return fmt.Errorf("%w: %w", query.ErrInvalid, err)
	case errors.Is(err, frame.ErrUnknownField), errors.Is(err, frame.ErrDifferentDuplicates), errors.Is(err, frame.ErrBadRow):
		return fmt.Errorf("%w: %w", query.ErrTable, err)
	}
	return err
}

// surveyed loads a query, its plan and what the result stream says of it.
func (c *Coordinator) surveyed(ctx context.Context, id string) (*messages.Query, *pinned, *Survey, error) {
	q, _, err := c.ports.Queries.LoadQuery(ctx, id)
	if err != nil {
		return nil, nil, nil, err
	}
	p, err := c.open(ctx, q)
	if err != nil {
		return nil, nil, nil, err
	}
	survey, err := c.Survey(ctx, q)
	return q, p, survey, err
}

// missing lists the positions that a complete query should have and has not. Of one that asks for its first rows it is the
// first: what stands behind that may never have been asked for.
func missing(q *messages.Query, survey *Survey) []messages.Position {
	limit := survey.Completed.Lacks(q.Chunks)
	if q.MaxRows > 0 {
		limit = 1
	}
	return survey.Completed.Missing(q.Chunks, limit)
}

// chunks yields the rows of each completed position. It goes on after a damaged one, so that all of them are found.
func (c *Coordinator) chunks(ctx context.Context, q *messages.Query, survey *Survey, damaged *[]messages.Position) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for p := range survey.Completed.Leaves(q.Chunks) {
			_, rows, err := c.ports.Results.Result(ctx, q.ID, p)
			if errors.Is(err, messages.ErrDamaged) || errors.Is(err, messages.ErrNotFound) {
				c.logOf(q).Error("a stored result is lost or damaged; its position is pending again", "position", p, "error", err)
				*damaged = append(*damaged, p)
				continue
			}
			if !yield(rows, err) || err != nil {
				return
			}
		}
	}
}

// firstRows cuts chunks of rows, one a line, behind the limit-th; 0 is no limit.
func firstRows(chunks iter.Seq2[[]byte, error], limit int64) iter.Seq2[[]byte, error] {
	if limit == 0 {
		return chunks
	}
	return func(yield func([]byte, error) bool) {
		left := limit
		for rows, err := range chunks {
			end := 0
			for line := range bytes.Lines(rows) {
				if left == 0 {
					break
				}
				end += len(line)
				if len(bytes.TrimSpace(line)) > 0 {
					left--
				}
			}
			if !yield(rows[:end], err) || left == 0 {
				return
			}
		}
	}
}

// reopen makes positions pending again whose results are gone, and the query interrupted; it gives the error that says so.
func (c *Coordinator) reopen(ctx context.Context, q *messages.Query, lost []messages.Position) error {
	reason := lostReason(len(lost), lost)
	if _, err := c.pend(ctx, q, lost, reason); err != nil {
		return err
	}
	return fmt.Errorf("query %s: %w: %s; braid resume %s fetches them again. Other queries of this store may be hit too: braid verify checks all", q.ID, messages.ErrDamaged, reason, q.ID)
}

// metadata holds nothing that differs between two runs of one query, so that equal rows give equal files.
func metadata(q *messages.Query, columns []frame.Column, partial bool) map[string]string {
	meta := map[string]string{
		"braid.service": q.Service, "braid.collection": q.Collection, "braid.url": q.URL, "braid.plan": q.Fingerprint,
	}
	if units := unitsOfColumns(columns); units != "" {
		meta["braid.units"] = units
	}
	if q.Base != "" {
		meta["braid.goes_on"] = "true" // the address asks only for what the last of several queries brought
	}
	if partial {
		meta["braid.partial"] = "true"
	}
	return meta
}

// unitsOfColumns is a JSON object of the columns with units, for readers that see no metadata of columns: the unit, or {"column": NAME} where
// another column has it.
func unitsOfColumns(columns []frame.Column) string {
	units := map[string]any{}
	for _, c := range columns {
		switch {
		case c.Unit != "":
			units[c.Name] = c.Unit
		case c.UnitColumn != "":
			units[c.Name] = map[string]string{"column": c.UnitColumn}
		}
	}
	if len(units) == 0 {
		return ""
	}
	text, err := json.Marshal(units) // keys in bytewise order
	if err != nil {
		return ""
	}
	return string(text)
}
