package braid

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"sync"

	"github.com/braidhq/braid/internal/httpapi"
	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

const (
	// maxMoving is how many tables of queries that go on may be made or read at the same time, each of them for one reader alone, and
	// maxMovingBytes how much of the disk they may take, all together.
	maxMoving      = 8
	maxMovingBytes = 4 << 30
)

// apiTables serves tables from a shelf.
type apiTables struct {
	shelf  *output.Shelf
	status func(ctx context.Context, id string) (*messages.Status, error)
	write  func(ctx context.Context, id, format string, partial bool, w io.Writer) (*frame.Report, error)
	moving *moving
}

func newAPITables(l *Local, shelf *output.Shelf) apiTables {
	return apiTables{shelf: shelf, status: l.Status, write: l.Table, moving: &moving{most: maxMoving, mostBytes: maxMovingBytes}}
}

// Table gives a table of a query. One that has settled has one table until it changes, however many read it; a query that goes on may get results at
// each moment, and whoever asks is made a table of their own.
func (t apiTables) Table(ctx context.Context, id, format string, partial bool) (*httpapi.Table, error) {
	f, err := output.EncodingOf(format)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", query.ErrInvalid, err)
	}
	status, err := t.status(ctx, id)
	if err != nil && (status == nil || status.Query == nil) {
		return nil, err // progress that cannot be read hides no table: the results say what there is
	}
	q := status.Query
	if q.State.Active() || q.ResumesByItself() {
		return t.own(ctx, q, f, partial)
	}
	v, err := t.shelf.Volume(ctx, settledKey(status, f, partial), func(ctx context.Context, w io.Writer) (*frame.Report, error) {
		return t.write(ctx, q.ID, string(f), partial, w)
	})
	if err != nil {
		return nil, err
	}
	return &httpapi.Table{Query: q.ID, Report: v.Report, ETag: `"` + v.SHA256 + `"`, Content: v.Reader(), Close: v.Release}, nil
}

// settledKey is another one whenever the table may be: when the query has run again, was changed, or more of it is there.
func settledKey(s *messages.Status, f output.Format, partial bool) string {
	q := s.Query
	key := fmt.Sprintf("%s %s %t %d %s %d", q.ID, f, partial, q.Run, q.State, q.Updated.UnixNano())
	if p := s.Progress; p != nil {
		key += fmt.Sprintf(" %d %d %d %d", p.Run, p.Completed, p.Rows, p.Updated.UnixNano())
	}
	return key
}

// own makes a table for one reader.
func (t apiTables) own(ctx context.Context, q *messages.Query, f output.Format, partial bool) (*httpapi.Table, error) {
	place, err := t.moving.take()
	if err != nil {
		return nil, err
	}
	v, err := t.shelf.Volume(ctx, q.ID+" "+rand.Text(), func(ctx context.Context, w io.Writer) (*frame.Report, error) {
		place.to = w
		return t.write(ctx, q.ID, string(f), partial, place)
	})
	if err != nil {
		place.leave()
		if place.refused != nil {
			err = place.refused
		}
		return nil, err
	}
	return &httpapi.Table{Query: q.ID, Report: v.Report, Content: v.Reader(), Close: func() {
		v.Discard()
		place.leave()
	}}, nil
}

// moving bounds the tables of queries that go on.
type moving struct {
	most      int
	mostBytes int64

	mu    sync.Mutex
	count int
	bytes int64
}

// movingTable is the place of one of them. What is written goes through it.
type movingTable struct {
	of      *moving
	to      io.Writer
	bytes   int64
	refused error
}

// take gives a place, or a problem.
func (m *moving) take() (*movingTable, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.count >= m.most {
		return nil, contract.NewProblem(contract.KindNamed(contract.Busy),
			fmt.Sprintf("%d tables of queries that are not settled are being read already; ask again, or when the query has settled", m.most))
	}
	m.count++
	return &movingTable{of: m}, nil
}

// Write is io.Writer's.
func (p *movingTable) Write(data []byte) (int, error) {
	m := p.of
	m.mu.Lock()
	room := m.bytes+int64(len(data)) <= m.mostBytes
	if room {
		m.bytes += int64(len(data))
		p.bytes += int64(len(data))
	}
	m.mu.Unlock()
	if !room {
		p.refused = contract.NewProblem(contract.KindNamed(contract.Busy),
			fmt.Sprintf("tables of queries that are not settled have %d bytes of the server's disk, all together, and this one finds no more room; ask again, or when the query has settled", m.mostBytes))
		return 0, p.refused
	}
	return p.to.Write(data)
}

func (p *movingTable) leave() {
	m := p.of
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count--
	m.bytes -= p.bytes
}
