package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// FindLost looks for queries whose results went with the result stream itself: one that was made after they were last
// changed, or that holds nothing at all. They become interrupted, with the reason, and their positions are pending again. Any
// process may call it at any time.
func (c *Coordinator) FindLost(ctx context.Context) error {
	created, stored, err := c.ports.Results.ResultStore(ctx)
	if err != nil {
		return err
	}
	all, err := c.ports.Catalogue.ListQueries(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, q := range all {
		if stored > 0 && !created.After(q.Updated) {
			continue
		}
		if err := c.findLostOf(ctx, q.ID, created); err != nil && !errors.Is(err, messages.ErrVersion) {
			errs = append(errs, fmt.Errorf("query %s: %w", q.ID, err))
		}
	}
	return errors.Join(errs...)
}

func (c *Coordinator) findLostOf(ctx context.Context, id string, created time.Time) error {
	for {
		err := c.tellLost(ctx, id, created)
		switch {
		case errors.Is(err, messages.ErrConflict):
			continue // what was counted may be of another run by now
		case errors.Is(err, messages.ErrNotFound):
			return nil // removed meanwhile
		}
		return err
	}
}

// tellLost tells what a query has lost, once: nothing is said of one that is told to be damaged already, and whoever resumes
// that one has counted it anew before. The error wraps messages.ErrConflict when the record is not the one that was looked at.
func (c *Coordinator) tellLost(ctx context.Context, id string, created time.Time) error {
	q, revision, err := c.ports.Queries.LoadQuery(ctx, id)
	if err != nil {
		return err
	}
	counted, err := c.countedComplete(ctx, q)
	if err != nil {
		return err
	}
	if q.State == messages.Complete {
		counted = max(counted, 1)
	}
	if counted == 0 || q.State == messages.Cancelled {
		return nil
	}
	survey, err := c.Survey(ctx, q)
	if err != nil {
		return err
	}
	lost := counted - survey.Completed.Roots()
	if q.State == messages.Complete && survey.Enough || lost <= 0 {
		return nil
	}
	if toldDamaged(q) {
		c.logOf(q).Warn("results are lost of a query that is told to be damaged already", "lost", lost)
		c.recount(ctx, q) // whoever told it has not come to that
		return nil
	}
	reason := fmt.Sprintf("the result stream is not the one that held this query's results, it was made at %s: %d of its chunks that were complete are lost, and are pending again",
		created.UTC().Format(time.RFC3339), lost)
	if created.Before(q.Updated) {
		reason = fmt.Sprintf("the result stream is empty: %d of this query's chunks that were complete are lost, and are pending again", lost)
	}
	if err := c.saveDamaged(ctx, q, revision, missing(q, survey), reason); err != nil {
		return err
	}
	c.logOf(q).Error("stored results are lost", "reason", reason)
	return nil
}

func toldDamaged(q *messages.Query) bool {
	return q.State == messages.Interrupted && q.Stop != nil && q.Stop.Kind == messages.StopDamaged
}

// pend makes positions pending again whose results are lost or damaged, and their query interrupted with the reason. It
// gives the query as it is then.
func (c *Coordinator) pend(ctx context.Context, q *messages.Query, lost []messages.Position, reason string) (*messages.Query, error) {
	for _, p := range lost {
		if err := c.ports.Results.RemoveDamaged(ctx, q.ID, p); err != nil {
			return nil, err
		}
	}
	return c.interruptDamaged(ctx, q, lost, reason)
}

// interruptDamaged says in a query's record that results of it are lost. An active one goes on, as its leader hears of what is
// stored by itself.
func (c *Coordinator) interruptDamaged(ctx context.Context, q *messages.Query, lost []messages.Position, reason string) (*messages.Query, error) {
	for {
		now, revision, err := c.ports.Queries.LoadQuery(ctx, q.ID)
		if err != nil {
			return nil, err
		}
		if now.State.Active() {
			return now, nil
		}
		err = c.saveDamaged(ctx, now, revision, lost, reason)
		if errors.Is(err, messages.ErrConflict) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return now, nil
	}
}

// saveDamaged makes a query, whose record is of that revision, one that is interrupted because results of it are lost.
func (c *Coordinator) saveDamaged(ctx context.Context, q *messages.Query, revision uint64, lost []messages.Position, reason string) error {
	wasActive := q.State.Active()
	q.State, q.Updated = messages.Interrupted, c.ports.Now()
	q.Stop = &messages.Stop{Kind: messages.StopDamaged, Reason: messages.Text(reason), At: q.Updated}
	if len(lost) > 0 {
		q.Stop.Position = lost[0]
	}
	if _, err := c.ports.Queries.SaveQuery(ctx, q, revision); err != nil {
		return err
	}
	c.recount(ctx, q)
	if wasActive {
		return c.ports.Items.PurgeItems(ctx, q.Service, q.ID)
	}
	return nil
}

// Recount surveys a query that nobody drives, and notes what it finds as the query's progress: what is lost later will be missed, and
// no request forgotten.
func (c *Coordinator) Recount(ctx context.Context, q *messages.Query) (*Survey, error) {
	survey, err := c.Survey(ctx, q)
	if err != nil {
		return nil, err
	}
	return survey, c.ports.Catalogue.SaveProgress(ctx, &survey.Progress)
}

// recount notes what is complete now, so that what was lost is told once.
func (c *Coordinator) recount(ctx context.Context, q *messages.Query) {
	if _, err := c.Recount(ctx, q); err != nil {
		c.logOf(q).Warn("what is complete is not noted anew", "error", err)
	}
}

func lostReason(n int, lost []messages.Position) string {
	return fmt.Sprintf("%d of the stored results were lost or damaged, the first at position %s; they are pending again", n, lost[0])
}
