package coordinator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/resume"
)

// Survey is what the result stream says of a query, read from its first message to its last.
type Survey struct {
	Completed *resume.Completion
	Enough    bool     // the table can be made: every position is complete, or the rows that the query asks for are there
	Columns   []string // seen in the rows, in position order
	Progress  messages.Progress

	rows map[messages.Position]int64 // of the results that have some
}

// surveyPatience is how long a survey waits for the next message, whatever its context allows.
const surveyPatience = 30 * time.Second

// Survey reads the headers of all results of a query. It is the authority on what is complete; cached progress is not. The
// error wraps messages.ErrVersion when a newer Braid has written one of them.
func (c *Coordinator) Survey(ctx context.Context, q *messages.Query) (*Survey, error) {
	var newer error
	run := resume.NewRun(q.ID, q.Run, q.Chunks, resume.Limits{MaxRows: q.MaxRows})
	seen := seenResults{byPosition: map[messages.Position]seenResult{}, lists: map[string][]string{}}
	err := readAll(ctx, func(ctx context.Context, news, caughtUp func()) error {
		return c.ports.Results.TrackResults(ctx, q.ID, func(h *messages.ResultHeader) {
			news()
			if h.Position.Index() < q.Chunks && run.Result(h) {
				seen.add(h)
			}
		}, func(p messages.Position, err error) {
			if errors.Is(err, messages.ErrVersion) && newer == nil {
				newer = fmt.Errorf("position %s: %s: %w", p, newerReason, err)
			}
		}, caughtUp)
	})
	if err == nil {
		err = newer
	}
	if err == nil {
		err = c.surveyRequests(ctx, q, run)
	}
	if err != nil {
		return nil, fmt.Errorf("survey of %s: %w", q.ID, err)
	}
	s := &Survey{Completed: run.Completion(), Enough: run.Enough(), Progress: *run.Progress(c.ports.Now())}
	s.rows = make(map[messages.Position]int64, len(seen.byPosition))
	for position, result := range seen.byPosition {
		if result.rows > 0 {
			s.rows[position] = result.rows
		}
	}
	s.Columns, s.Progress.Rows = seen.sum(s.Completed.Leaves(q.Chunks), q.MaxRows)
	return s, nil
}

// surveyRequests counts the requests that no result tells of.
func (c *Coordinator) surveyRequests(ctx context.Context, q *messages.Query, run *resume.Run) error {
	if err := c.countedBefore(ctx, q, run); err != nil {
		return err
	}
	err := readAll(ctx, func(ctx context.Context, news, caughtUp func()) error {
		return c.ports.Results.TrackInterruptions(ctx, q.ID, func(m *messages.Interruption) {
			news()
			run.Interruption(m, c.ports.Now())
		}, func(error) { news() }, caughtUp)
	})
	if err != nil {
		return err
	}
	if err := c.readPages(ctx, q, run); err != nil {
		return err
	}
	run.Accounted()
	return nil
}

// countedBefore tells a run what the query's progress record has counted.
func (c *Coordinator) countedBefore(ctx context.Context, q *messages.Query, run *resume.Run) error {
	p, err := c.ports.Catalogue.LoadProgress(ctx, q.ID)
	switch {
	case errors.Is(err, messages.ErrNotFound):
		p = &messages.Progress{}
	case err != nil:
		return err
	}
	run.Sent(p, q.Killed)
	return nil
}

// readPages tells a run of the stored pages, as far as positions without a result may have some.
func (c *Coordinator) readPages(ctx context.Context, q *messages.Query, run *resume.Run) error {
	run.ForgetPages()
	if run.Completion().Lacks(q.Chunks) == 0 {
		return nil
	}
	return readAll(ctx, func(ctx context.Context, news, caughtUp func()) error {
		return c.ports.Results.TrackPages(ctx, q.ID, func(m *messages.Page) {
			news()
			run.Page(m)
		}, caughtUp)
	})
}

// readAll tracks something until all that was there has been seen. It ends with an error when the next takes too long.
func readAll(ctx context.Context, track func(ctx context.Context, news, caughtUp func()) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(surveyPatience, func() { cancel(errStalledSurvey) })
	defer stalled.Stop()
	err := track(ctx, func() { stalled.Reset(surveyPatience) }, func() { cancel(errSurveyed) })
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errSurveyed) {
		return cause
	}
	return err
}

var (
	errSurveyed      = errors.New("all results have been seen")
	errStalledSurvey = fmt.Errorf("%w: no more of the stored results came for %v", messages.ErrUnreachable, surveyPatience)
)

// newerReason is what a person is told of a result that this build cannot read, and so leaves alone.
const newerReason = "a result was written by a newer Braid: upgrade this coordinator"

// seenResults is what a survey remembers of results until it knows which of them count.
type seenResults struct {
	byPosition map[messages.Position]seenResult
	lists      map[string][]string // each list of columns once, however many positions have it
}

type seenResult struct {
	list string
	rows int64
}

func (s *seenResults) add(h *messages.ResultHeader) {
	if h.Outcome != messages.OutcomeRows && h.Outcome != messages.OutcomeEmpty {
		return
	}
	list := strings.Join(h.Columns, "\x00")
	s.lists[list] = h.Columns
	s.byPosition[h.Position] = seenResult{list, h.Rows}
}

// sum gives the columns of the results at positions, in first-seen order, and counts their rows. It stops with the position
// that fills maxRows, when that is not 0: what stands behind it is no part of the table.
func (s *seenResults) sum(positions iter.Seq[messages.Position], maxRows int64) (columns []string, rows int64) {
	known, read := map[string]bool{}, map[string]bool{}
	for p := range positions {
		if maxRows > 0 && rows >= maxRows {
			break
		}
		seen := s.byPosition[p]
		rows += seen.rows
		if read[seen.list] {
			continue
		}
		read[seen.list] = true
		for _, name := range s.lists[seen.list] {
			if !known[name] {
				known[name] = true
				columns = append(columns, name)
			}
		}
	}
	return columns, rows
}

// Status gives a query with its progress: as the leader last saved it while the query is active, and as the result stream
// says once it is not. The id may be a prefix, as in Find.
func (c *Coordinator) Status(ctx context.Context, id string) (*messages.Status, error) {
	q, err := c.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	return c.status(ctx, q)
}

func (c *Coordinator) status(ctx context.Context, q *messages.Query) (*messages.Status, error) {
	progress, err := c.ports.Catalogue.LoadProgress(ctx, q.ID)
	if errors.Is(err, messages.ErrNotFound) {
		progress, err = unbegun(q), nil
	}
	return &messages.Status{Query: q, Progress: withoutStale(progress, q)}, err
}

// Statuses gives all queries with their progress, the newest first.
func (c *Coordinator) Statuses(ctx context.Context) ([]*messages.Status, error) {
	all, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	var list []*messages.Status
	for _, q := range all {
		s, err := c.status(ctx, q)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}
