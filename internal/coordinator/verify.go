package coordinator

import (
	"context"
	"errors"
	"fmt"

	"github.com/braidhq/braid/pkg/messages"
)

// Verify reads every result of a query, with its pages and parts, and of those that it goes on from, and checks it against
// length and digest; no table is made. With reopen, positions whose results are lost are pending again and their query is
// interrupted, as after an export that met the loss. An active query is only looked at: its leader works on what it knows.
// The error wraps messages.ErrVersion when a newer Braid has written a result.
func (c *Coordinator) Verify(ctx context.Context, id string, reopen bool) (*messages.Verification, error) {
	q, _, err := c.ports.Queries.LoadQuery(ctx, id)
	if err != nil {
		return nil, err
	}
	v := &messages.Verification{V: messages.Version, Query: q.ID}
	for {
		one, err := c.verifyOne(ctx, q, reopen)
		if err != nil {
			return nil, fmt.Errorf("verify %s: %w", q.ID, err)
		}
		v.Queries = append(v.Queries, *one)
		if q.Base == "" || len(v.Queries) == maxRuns {
			return v, nil
		}
		base, _, err := c.ports.Queries.LoadQuery(ctx, q.Base)
		if errors.Is(err, messages.ErrNotFound) {
			v.Queries[len(v.Queries)-1].Pinned = fmt.Sprintf("query %s, which it goes on from, is gone; braid run QUERY.yaml --full asks for all once more", q.Base)
			return v, nil
		}
		if err != nil {
			return nil, fmt.Errorf("verify %s: %w", q.Base, err)
		}
		q = base
	}
}

func (c *Coordinator) verifyOne(ctx context.Context, q *messages.Query, reopen bool) (*messages.VerifiedQuery, error) {
	counted, err := c.countedComplete(ctx, q)
	if err != nil {
		return nil, err
	}
	survey, err := c.Survey(ctx, q)
	if err != nil {
		return nil, err
	}
	v := &messages.VerifiedQuery{ID: q.ID, State: q.State, Lapsed: lapsed(q)}
	if v.Pinned, err = c.checkPinned(ctx, q); err != nil {
		return nil, err
	}
	var lost []messages.Position
	for p := range survey.Completed.Leaves(q.Chunks) {
		_, rows, err := c.ports.Results.Result(ctx, q.ID, p)
		switch {
		case errors.Is(err, messages.ErrDamaged), errors.Is(err, messages.ErrNotFound):
			v.Damaged++
			lost = addLost(v, lost, p, err.Error())
		case err != nil:
			return nil, err
		default:
			v.Results++
			v.Bytes += int64(len(rows))
		}
	}
	if !survey.Enough {
		v.Pending = survey.Completed.Lacks(q.Chunks)
	}
	switch {
	case q.State == messages.Complete && !survey.Enough:
		for _, p := range missing(q, survey) {
			v.Missing++
			lost = addLost(v, lost, p, "its result is not there any more")
		}
	case q.State != messages.Complete:
		v.Missing = max(0, counted-survey.Completed.Roots())
	}
	if v.Damaged+v.Missing == 0 || !reopen || q.State.Active() {
		return v, nil
	}
	if len(lost) == 0 {
		lost = missing(q, survey)
	}
	now, err := c.pend(ctx, q, lost, lostReason(v.Damaged+v.Missing, lost))
	if err != nil {
		return nil, err
	}
	v.State, v.Reopened = now.State, now.State == messages.Interrupted
	v.Pending += v.Damaged
	return v, nil
}

// lapsed tells whether the query waits for somebody to fetch again what was lost.
func lapsed(q *messages.Query) bool {
	return q.State == messages.Interrupted && q.Stop != nil && q.Stop.Kind == messages.StopDamaged
}

func addLost(v *messages.VerifiedQuery, lost []messages.Position, p messages.Position, reason string) []messages.Position {
	if len(v.Lost) < messages.MaxShownLost {
		v.Lost = append(v.Lost, messages.LostResult{Position: p, Reason: messages.Text(reason)})
	}
	return append(lost, p)
}

// countedComplete is how many positions of a query were complete when its progress was last noted, and so may have no fewer
// now. Of a query with max_rows nothing is said: what stands behind a lost result is given up.
func (c *Coordinator) countedComplete(ctx context.Context, q *messages.Query) (int, error) {
	if q.MaxRows > 0 {
		return 0, nil
	}
	p, err := c.ports.Catalogue.LoadProgress(ctx, q.ID)
	if errors.Is(err, messages.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return min(p.Completed, q.Chunks), nil
}

// checkPinned reads what a query keeps beside its results, and says what is wrong with it.
func (c *Coordinator) checkPinned(ctx context.Context, q *messages.Query) (string, error) {
	_, err := c.ports.Queries.LoadSpec(ctx, q)
	if err == nil {
		_, err = c.ports.Services.Definition(ctx, q.Definition)
	}
	if errors.Is(err, messages.ErrNotFound) || errors.Is(err, messages.ErrDamaged) {
		return messages.Text(err.Error()), nil
	}
	return "", err
}
