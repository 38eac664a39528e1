package coordinator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/resume"
)

// Failures lists the chunks that failed in a query's present run, the lowest position first, as the result stream tells. Those
// of earlier runs are tried again and listed no more. What a chunk asks for is left out when this build plans the query
// differently.
func (c *Coordinator) Failures(ctx context.Context, id string) (*messages.Failures, error) {
	q, _, err := c.ports.Queries.LoadQuery(ctx, id)
	if err != nil {
		return nil, err
	}
	failed, splits, _, err := c.failed(ctx, q)
	if err != nil {
		return nil, err
	}
	list := &messages.Failures{V: messages.Version, Query: q.ID, State: q.State, Failures: []messages.FailedChunk{}}
	if len(failed)+len(splits) == 0 {
		return list, nil
	}
	p, err := c.open(ctx, q)
	if err != nil && !unrunnable(err) {
		return nil, err
	}
	for _, h := range failed {
		one := messages.FailedChunk{
			Position: h.Position, Class: h.Failure.Class, Status: h.Failure.Status, Message: h.Failure.Message, Hint: h.Failure.Hint,
			Requests: h.Requests, Run: h.Run, Worker: h.Worker, At: h.Finished,
		}
		if p != nil {
			one.Asks = p.asks(h.Position)
		}
		list.Failures = append(list.Failures, one)
	}
	for h, cut := range p.indivisible(splits) {
		f := cut.failure()
		list.Failures = append(list.Failures, messages.FailedChunk{
			Position: h.Position, Class: f.Class, Message: f.Message, Hint: f.Hint, Asks: messages.Text(cut.asks),
			Requests: h.Requests, Run: h.Run, Worker: h.Worker, At: h.Finished,
		})
	}
	slices.SortFunc(list.Failures, func(a, b messages.FailedChunk) int { return a.Position.Compare(b.Position) })
	return list, nil
}

// indivisible gives of the positions that are recorded as split those whose chunks this build cannot divide. Of a nil plan it is not
// known.
func (p *pinned) indivisible(splits []*messages.ResultHeader) iter.Seq2[*messages.ResultHeader, *indivisible] {
	return func(yield func(*messages.ResultHeader, *indivisible) bool) {
		if p == nil {
			return
		}
		for _, h := range splits {
			chunk, ok := p.chunkAt(h.Position)
			if !ok {
				continue // of a parent that cannot be divided
			}
			if _, ok := p.split(chunk); !ok && !yield(h, &indivisible{h.Position, p.describe(chunk)}) {
				return
			}
		}
	}
}

// asks says what the chunk of a position asks for; "" when the plan has no such position.
func (p *pinned) asks(at messages.Position) string {
	chunk, ok := p.chunkAt(at)
	if !ok {
		return ""
	}
	return messages.Text(p.describe(chunk))
}

// chunkAt finds the chunk of a position, that of a child by dividing its parent's.
func (p *pinned) chunkAt(at messages.Position) (planner.Chunk, bool) {
	if !at.IsChild() {
		return planner.ChunkAt(p.plan, at.Index())
	}
	parent, ok := p.chunkAt(at.Parent())
	if !ok {
		return parent, false
	}
	halves, ok := p.split(parent)
	first, second, deeper := at.Parent().Children()
	switch {
	case !ok || !deeper:
	case at == first:
		return halves[0], true
	case at == second:
		return halves[1], true
	}
	return planner.Chunk{}, false
}

// failed reads the failures of the present run that count and the splits of all runs, the lowest position first, and what is
// complete beside them.
func (c *Coordinator) failed(ctx context.Context, q *messages.Query) (list, splits []*messages.ResultHeader, done *resume.Completion, err error) {
	run := resume.NewRun(q.ID, q.Run, q.Chunks, resume.Limits{})
	found := map[messages.Position]*messages.ResultHeader{}
	err = readAll(ctx, func(ctx context.Context, news, caughtUp func()) error {
		return c.ports.Results.TrackResults(ctx, q.ID, func(h *messages.ResultHeader) {
			news()
			if h.Position.Index() >= q.Chunks {
				return
			}
			if kept := run.Result(h); kept && (h.Failure != nil || h.Outcome == messages.OutcomeSplit) {
				found[h.Position] = h
			} else {
				delete(found, h.Position)
			}
		}, func(messages.Position, error) { news() }, caughtUp)
	})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("failures of %s: %w", q.ID, err)
	}
	for p, h := range found {
		switch {
		case h.Failure == nil:
			splits = append(splits, h)
		case run.Counts(p):
			list = append(list, h)
		}
	}
	byPosition := func(a, b *messages.ResultHeader) int { return a.Position.Compare(b.Position) }
	slices.SortFunc(list, byPosition)
	slices.SortFunc(splits, byPosition)
	return list, splits, run.Completion(), nil
}

// Retry runs the failed chunks of a query again, and nothing else that has no result. An active query is an error that wraps
// query.ErrState, and so is one without failures.
func (c *Coordinator) Retry(ctx context.Context, id string, opts ResumeOptions) (*messages.Query, error) {
	if err := opts.check(); err != nil {
		return nil, fmt.Errorf("retry %s: %w", id, err)
	}
	for {
		q, revision, err := c.ports.Queries.LoadQuery(ctx, id)
		if err != nil {
			return nil, err
		}
		if q.State.Active() || q.State == messages.Complete {
			return q, fmt.Errorf("retry %s: %w: it is %s", id, query.ErrState, q.State)
		}
		failed, splits, done, err := c.failed(ctx, q)
		if err != nil {
			return nil, err
		}
		if len(failed) == 0 {
			if err := c.notDivided(ctx, q, splits); err != nil {
				return q, err
			}
			return q, fmt.Errorf("retry %s: %w: none of its chunks has failed; braid resume runs what has no result", id, query.ErrState)
		}
		only, err := onlyOf(q, failed, done)
		if err != nil {
			return q, fmt.Errorf("retry %s: %w", id, err)
		}
		s, err := c.begin(ctx, seen{id: id, query: q, revision: revision}, &opts, only)
		if !errors.Is(err, messages.ErrConflict) {
			return s.query, err
		}
	}
}

// notDivided says what can be done about chunks that no retry helps: the service has refused them as too large, which is recorded,
// and this build cannot divide them.
func (c *Coordinator) notDivided(ctx context.Context, q *messages.Query, splits []*messages.ResultHeader) error {
	if len(splits) == 0 {
		return nil
	}
	p, err := c.open(ctx, q)
	if err != nil {
		return err
	}
	for _, cut := range p.indivisible(splits) {
		return fmt.Errorf("retry %s: %w: %w, so that running it again changes nothing; %s", q.ID, query.ErrState, cut, cut.failure().Hint)
	}
	return nil
}

// onlyOf gives the positions that a retry is limited to; none when nothing else is missing, or when the query goes in order and
// takes one position at a time anyway.
func onlyOf(q *messages.Query, failed []*messages.ResultHeader, done *resume.Completion) ([]messages.Position, error) {
	if q.MaxRows > 0 || done.Lacks(q.Chunks) == len(failed) {
		return nil, nil
	}
	only := make([]messages.Position, len(failed))
	size := 0
	for i, h := range failed {
		only[i] = h.Position
		size += len(h.Position)
	}
	if size > messages.MaxOnlyBytes || len(only) > messages.MaxOnlyBytes/4 {
		return nil, fmt.Errorf("%w: %d chunks have failed, too many to be run by themselves; braid resume runs them with what else has no result", query.ErrState, len(only))
	}
	return only, nil
}

// begin starts a further run of a query that is not active; only limits it to some positions.
func (c *Coordinator) begin(ctx context.Context, s seen, opts *ResumeOptions, only []messages.Position) (seen, error) {
	q := *s.query
	if opts != nil {
		opts.applyTo(&q)
		q.StuckRounds = 0 // somebody has looked at it
	}
	p, err := c.open(ctx, &q)
	if err != nil {
		return s, err
	}
	if _, err := c.ensureService(ctx, p, &q); err != nil {
		return s, err
	}
	if toldDamaged(s.query) {
		c.recount(ctx, s.query) // before the record says that it runs: else the loss would be told again
	}
	// What an earlier run queued is taken back before the next one begins, so that no item of it is left.
	if err := c.ports.Items.PurgeItems(ctx, q.Service, q.ID); err != nil {
		return s, err
	}
	q.State, q.Stop, q.Run, q.Only, q.Bound, q.Updated = messages.Running, nil, q.Run+1, only, "", c.ports.Now()
	revision, err := c.ports.Queries.SaveQuery(ctx, &q, s.revision)
	if err != nil {
		return s, fmt.Errorf("resume %s: %w", q.ID, err)
	}
	c.logOf(&q).Info("resumed", "run", q.Run, "only", len(only))
	return seen{id: q.ID, query: &q, revision: revision, old: true}, nil
}
