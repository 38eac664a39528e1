package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

// GarbageOptions say what is garbage.
type GarbageOptions = messages.GarbageOptions

const (
	// orphanAge is how old parts are before nobody can still be about to make a result of them: much longer than any lease,
	// grace and commit together.
	orphanAge   = time.Hour
	retainEvery = time.Hour
)

// Collect removes what nothing needs: queries that ended long ago and that no kept query goes on from (interrupted ones only when asked), parts of attempts
// that never became a result, and what is left of queries whose records are gone. Stored pages of a query that can be resumed
// are needed, since a resume goes on behind them. It reads the headers of all that is stored.
func (c *Coordinator) Collect(ctx context.Context, opts GarbageOptions) (*messages.Garbage, error) {
	if opts.OlderThan < 0 {
		return nil, fmt.Errorf("%w: older than %v", query.ErrInvalid, opts.OlderThan)
	}
	s, err := c.takeStock(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for garbage: %w", err)
	}
	g := &messages.Garbage{V: messages.Version, DryRun: opts.DryRun}
	var errs []error
	if opts.OlderThan > 0 {
		for _, q := range s.old(c.ports.Now().Add(-opts.OlderThan), opts.Interrupted) {
			have := s.of(q.ID)
			if !opts.DryRun {
				removed, err := c.removeOld(ctx, q)
				errs = append(errs, err)
				if !removed {
					continue
				}
			}
			g.Queries = append(g.Queries, messages.OldQuery{ID: q.ID, Name: q.Name, State: q.State, Updated: q.Updated, Results: have.results, Bytes: have.bytes})
			g.Bytes += have.bytes
			have.gone = true
		}
	}
	errs = append(errs, c.collectOrphans(ctx, s, g), c.collectLeftovers(ctx, s, g))
	return g, errors.Join(errs...)
}

// removeOld removes a query unless it has changed, or is needed, since it was looked at.
func (c *Coordinator) removeOld(ctx context.Context, q *messages.Query) (removed bool, err error) {
	err = c.removeUnchanged(ctx, q)
	switch {
	case errors.Is(err, messages.ErrNotFound), errors.Is(err, messages.ErrConflict), errors.Is(err, query.ErrState):
		return false, nil
	case err != nil:
		return false, err
	}
	c.logOf(q).Info("a query that ended long ago is removed", "name", q.Name, "state", q.State, "updated", q.Updated)
	return true, nil
}

func (c *Coordinator) collectOrphans(ctx context.Context, s *stock, g *messages.Garbage) error {
	for _, o := range s.orphans(c.ports.Now().Add(-orphanAge)) {
		if !g.DryRun {
			if err := c.ports.Results.RemoveParts(ctx, o.subjects); err != nil {
				return err
			}
		}
		g.Orphans.Attempts++
		g.Orphans.Bytes += o.bytes
		g.Bytes += o.bytes
	}
	return nil
}

func (c *Coordinator) collectLeftovers(ctx context.Context, s *stock, g *messages.Garbage) error {
	for _, l := range s.leftovers() {
		if !g.DryRun {
			if err := c.ports.Results.RemoveLeftovers(ctx, l.ID); err != nil {
				return err
			}
		}
		g.Leftovers = append(g.Leftovers, l)
		g.Bytes += l.Bytes
	}
	return nil
}

// retain removes, while this coordinator leads, queries that ended longer ago than is kept.
func (c *Coordinator) retain(ctx context.Context) {
	if c.cfg.Keep <= 0 {
		return
	}
	for ctx.Err() == nil {
		s := newStock()
		err := c.listInto(ctx, s)
		if err == nil {
			for _, q := range s.old(c.ports.Now().Add(-c.cfg.Keep), false) {
				if _, err = c.removeOld(ctx, q); err != nil {
					break
				}
			}
		}
		if err != nil && ctx.Err() == nil {
			c.log.Warn("queries that ended long ago are not removed now", "error", err)
		}
		pause(ctx, retainEvery)
	}
}

// stock is what is stored, by query.
type stock struct {
	queries    map[string]*stockOfQuery
	records    map[string]*messages.Query // nil: it cannot be read
	unreadable int                        // records
	parts      map[string]*stockOfParts   // by their subjects
}

type stockOfQuery struct {
	results int
	bytes   int64
	kept    map[string]struct{} // attempts and walks that a result is made of
	unsure  bool                // a result cannot be read: what it is made of is not known
	gone    bool                // removed with all that it had
}

type stockOfParts struct {
	query, owner, subjects string
	page                   bool
	bytes                  int64
	stored                 time.Time // the last of them
}

func newStock() *stock {
	return &stock{queries: map[string]*stockOfQuery{}, records: map[string]*messages.Query{}, parts: map[string]*stockOfParts{}}
}

func (s *stock) of(id string) *stockOfQuery {
	if s.queries[id] == nil {
		s.queries[id] = &stockOfQuery{kept: map[string]struct{}{}}
	}
	return s.queries[id]
}

// takeStock reads parts first, then results, then records: each needs the one that is read after it, and is stored later or
// not at all.
func (c *Coordinator) takeStock(ctx context.Context) (*stock, error) {
	s := newStock()
	err := c.ports.Results.EachPart(ctx, func(p messages.StoredPart) {
		s.of(p.Query).bytes += p.Bytes
		have := s.parts[p.Subjects]
		if have == nil {
			have = &stockOfParts{query: p.Query, owner: p.Owner, subjects: p.Subjects, page: p.Page}
			s.parts[p.Subjects] = have
		}
		have.bytes += p.Bytes
		if p.Stored.After(have.stored) {
			have.stored = p.Stored
		}
	})
	if err == nil {
		err = c.ports.Results.EachResult(ctx, func(id string, h *messages.ResultHeader, bytes int64) {
			have := s.of(id)
			have.results++
			have.bytes += bytes
			if h == nil {
				have.unsure = true
				return
			}
			for _, id := range h.StoredUnder() {
				have.kept[id] = struct{}{}
			}
		})
	}
	if err == nil {
		err = c.listInto(ctx, s)
	}
	return s, err
}

// listInto lists the records of all queries, those that cannot be read too.
func (c *Coordinator) listInto(ctx context.Context, s *stock) error {
	return readAll(ctx, func(ctx context.Context, news, caughtUp func()) error {
		return c.ports.Catalogue.WatchQueries(ctx, func(id string, q *messages.Query, _ uint64, err error) {
			news()
			switch {
			case err != nil:
				s.records[id] = nil
				s.unreadable++
			case q == nil:
				delete(s.records, id)
			default:
				s.records[id] = q
			}
		}, caughtUp)
	})
}

// old gives the queries that ended before a time and that no other one needs, the newest first: so each comes before the
// one that it goes on from. A query that was interrupted has not ended: it is among them only when such are asked for.
func (s *stock) old(before time.Time, interrupted bool) []*messages.Query {
	isOld := func(q *messages.Query) bool {
		return q != nil && (interrupted || q.State != messages.Interrupted) && !q.State.Active() && !q.ResumesByItself() && q.Updated.Before(before)
	}
	needed := map[string]bool{}
	for _, q := range s.records {
		if q == nil || isOld(q) {
			continue
		}
		for base := q.Base; base != "" && !needed[base]; {
			needed[base] = true
			next := s.records[base]
			if next == nil {
				break
			}
			base = next.Base
		}
	}
	var list []*messages.Query
	for id, q := range s.records {
		// A record of a newer Braid may go on from any query that can be gone on from.
		if isOld(q) && !needed[id] && (q.Lineage == "" || s.unreadable == 0) {
			list = append(list, q)
		}
	}
	slices.SortFunc(list, func(a, b *messages.Query) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// orphans gives what no result has and nobody will make a result of, in the order of its subjects.
func (s *stock) orphans(before time.Time) []*stockOfParts {
	var list []*stockOfParts
	for _, p := range s.parts {
		q, have := s.records[p.query], s.of(p.query)
		if q == nil || q.State.Active() || have.unsure || have.gone || !p.stored.Before(before) {
			continue
		}
		if _, kept := have.kept[p.owner]; kept || p.page && q.State != messages.Complete {
			continue
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *stockOfParts) int { return cmp.Compare(a.subjects, b.subjects) })
	return list
}

// leftovers gives what is stored of queries without a record. Where there is no record at all, it may be the records that
// were lost.
func (s *stock) leftovers() []messages.Leftover {
	if len(s.records) == 0 {
		return nil
	}
	var list []messages.Leftover
	for id, have := range s.queries {
		if _, known := s.records[id]; !known && messages.CheckName(id) == nil {
			list = append(list, messages.Leftover{ID: id, Bytes: have.bytes})
		}
	}
	slices.SortFunc(list, func(a, b messages.Leftover) int { return cmp.Compare(a.ID, b.ID) })
	return list
}
