package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/resume"
)

const (
	publishAtOnce = 256
	progressEvery = time.Second
	newsBacklog   = 4096
)

// driver leads one run of one query. It is used by one goroutine; the trackers talk to it through news.
type driver struct {
	c       *Coordinator
	log     *slog.Logger
	at      seen // the record as this driver last knew it
	pinned  *pinned
	run     *resume.Run
	news    chan any // *messages.ResultHeader, *messages.Interruption, lostResult, newerResult, caughtUp
	behind  int      // trackers that have not caught up
	items   map[messages.Position]*messages.Item
	chunks  map[messages.Position]planner.Chunk // of items, and of children that wait to be dispatched
	recheck bool                                // items may be with workers already, from a coordinator before this one
	newer   *messages.Stop                      // a result that this build cannot read: the run cannot go on
	kept    map[string]struct{}                 // attempts and walks whose parts and pages are a result's
	guard   *guard
	slots   int    // of the service, when the drive began
	stake   *stake // in the service's window; nil until all that is complete is known
	again   again
	alone   alone

	place

	lastNews time.Time
	stalled  bool // what is outstanding was published again since the last news
	dirty    bool
	ended    bool // the run has, and its query does not wait for a quota
	told     bool // of a child whose parent is not split
}

type (
	lostResult  messages.Position
	newerResult messages.Position
	caughtUp    struct{}
)

var errStalled = errors.New("no news for long, even of what was published again; what is complete is read anew")

// drive leads a run until it has settled, or until somebody else changes the record, and returns the newest record it
// knows. It begins by deriving what is complete from the streams.
func (c *Coordinator) drive(ctx context.Context, s seen, box <-chan seen) (seen, error) {
	p, err := c.open(ctx, s.query)
	if err != nil {
		return s, err
	}
	watch, err := newGuard(s.query.Run)
	if err != nil {
		return s, err
	}
	// The queue may be gone with its stream.
	slots, err := c.ensureService(ctx, p, s.query)
	if err != nil {
		return s, err
	}
	ctx, cancel := context.WithCancel(ctx)
	d := &driver{
		c: c, log: c.logOf(s.query).With("run", s.query.Run), at: s, pinned: p, recheck: s.old || s.query.Run > 1,
		run: resume.NewRun(s.id, s.query.Run, s.query.Chunks, c.limits(p, s.query)), guard: watch, slots: slots,
		news: make(chan any, newsBacklog), behind: 2, items: map[messages.Position]*messages.Item{},
		kept: map[string]struct{}{}, place: newPlace(p.plan), chunks: map[messages.Position]planner.Chunk{}, again: newAgain(),
	}
	defer func() { d.place.end() }()
	if s.query.State == messages.Stopping {
		d.run.Stopping(s.query.Stop, c.ports.Now())
	}
	if err := c.countedBefore(ctx, s.query, d.run); err != nil {
		cancel()
		return s, err
	}
	var trackers sync.WaitGroup
	defer trackers.Wait()
	defer cancel()
	lost := make(chan error, 2)
	trackers.Go(func() { lost <- d.trackResults(ctx, s.id) })
	trackers.Go(func() { lost <- d.trackInterruptions(ctx, s.id) })
	err = d.loop(ctx, box, lost)
	d.leave()
	return d.at, err
}

func (c *Coordinator) limits(p *pinned, q *messages.Query) resume.Limits {
	return resume.Limits{
		DrainFor:  (&messages.Service{LeaseTTL: c.cfg.LeaseTTL}).AckWait() + time.Second,
		QuotaWait: p.quotaWait, MaxRows: p.spec.MaxRows, Finish: p.spec.Run.OnFailure == query.FailureFinish, Only: q.Only,
		Budgeted: q.MaxRequests > 0, MaxRequests: q.MaxRequests - q.BudgetSpent,
	}
}

func (d *driver) trackResults(ctx context.Context, id string) error {
	return d.c.ports.Results.TrackResults(ctx, id, func(h *messages.ResultHeader) {
		d.tell(ctx, h)
	}, func(p messages.Position, err error) {
		if errors.Is(err, messages.ErrVersion) {
			d.log.Error(newerReason, "position", p, "error", err)
			d.tell(ctx, newerResult(p))
			return
		}
		d.log.Error("a stored result cannot be read; its position is pending again", "position", p, "error", err)
		d.tell(ctx, lostResult(p))
	}, func() { d.tell(ctx, caughtUp{}) })
}

func (d *driver) trackInterruptions(ctx context.Context, id string) error {
	return d.c.ports.Results.TrackInterruptions(ctx, id, func(m *messages.Interruption) {
		d.tell(ctx, m)
	}, func(err error) {
		d.log.Error("an event cannot be read", "error", err)
	}, func() { d.tell(ctx, caughtUp{}) })
}

func (d *driver) tell(ctx context.Context, what any) {
	select {
	case d.news <- what:
	case <-ctx.Done():
	}
}

// loop takes in news and takes the next action, in turn.
func (d *driver) loop(ctx context.Context, box <-chan seen, lost <-chan error) error {
	d.lastNews = d.c.ports.Now()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		if d.behind == 0 {
			d.join()
			over, err := d.act(ctx)
			if err != nil || over {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-lost:
			if err == nil {
				err = errors.New("a tracker ended")
			}
			return err
		case s := <-box:
			if over, err := d.changed(ctx, s); err != nil || over {
				return err
			}
		case what := <-d.news:
			if err := d.takeIn(ctx, what); err != nil {
				return err
			}
		case <-d.grown():
			if err := d.resolveSlots(ctx); err != nil {
				return err
			}
		case <-d.again.due:
			if err := d.publishAgain(ctx); err != nil {
				return err
			}
		case <-tick.C:
			if err := d.tick(ctx); err != nil {
				return err
			}
		}
	}
}

// changed takes in a record that somebody else has written.
func (d *driver) changed(ctx context.Context, s seen) (over bool, err error) {
	if s.revision <= d.at.revision {
		return false, nil
	}
	before := d.at.query
	d.at = s
	if s.query != nil && s.query.State.Active() && s.query.Run == before.Run {
		return false, d.resettled(ctx, before)
	}
	d.log.Info("the query's record was changed; its items are taken back")
	return true, d.c.ports.Items.PurgeItems(ctx, before.Service, s.id)
}

// takeIn takes in one piece of news, and all that came with it.
func (d *driver) takeIn(ctx context.Context, what any) error {
	d.lastNews, d.stalled = d.c.ports.Now(), false
	for {
		if err := d.takeInOne(ctx, what); err != nil {
			return err
		}
		select {
		case what = <-d.news:
		default:
			return nil
		}
	}
}

func (d *driver) takeInOne(ctx context.Context, what any) error {
	d.dirty = true
	switch m := what.(type) {
	case caughtUp:
		return d.caughtUp(ctx)
	case *messages.ResultHeader:
		return d.takeInResult(ctx, m)
	case *messages.Interruption:
		d.run.Interruption(m, d.c.ports.Now())
		d.guard.interruption(m)
		d.returned(m)
		if !d.run.Outstanding(m.Position) {
			d.forget(m.Position)
		}
	case lostResult:
		d.lost(messages.Position(m))
		return d.c.ports.Results.RemoveDamaged(ctx, d.at.id, messages.Position(m))
	case newerResult:
		if p := messages.Position(m); d.newer == nil || p.Compare(d.newer.Position) < 0 {
			d.newer = &messages.Stop{Kind: messages.StopFailure, Position: p, Reason: newerReason, Hint: "resume the query after that"}
		}
	}
	return nil
}

func (d *driver) takeInResult(ctx context.Context, m *messages.ResultHeader) error {
	for _, id := range m.StoredUnder() {
		d.kept[id] = struct{}{}
	}
	if m.Position.Index() >= d.at.query.Chunks {
		d.log.Error("a result of a position that the plan does not have is left alone", "position", m.Position)
		return nil
	}
	if !d.run.Counts(m.Position) && !d.told {
		d.told = true
		d.log.Warn("a result of a position that no split makes is left alone until there is one", "position", m.Position)
	}
	keep := d.run.Result(m)
	d.decided(m.Position, keep)
	if stop := d.guard.result(m); stop != nil && keep {
		d.run.Trip(stop, d.c.ports.Now())
	}
	if m.Outcome == messages.OutcomeSplit {
		delete(d.items, m.Position) // its chunk is what its children are made of
	} else {
		d.forget(m.Position)
	}
	if !keep {
		if err := d.c.ports.Results.RemoveAttempt(ctx, d.at.id, m.Position, m.Attempt); err != nil {
			return err
		}
		d.run.Removed(m)
	}
	return nil
}

// caughtUp takes in that all that one tracker found stored has been told.
func (d *driver) caughtUp(ctx context.Context) error {
	if d.behind--; d.behind > 0 || !d.run.Unaccounted() {
		return nil
	}
	if err := d.c.readPages(ctx, d.at.query, d.run); err != nil {
		return err
	}
	d.run.Accounted()
	return nil
}

// forget drops what was kept of a position that is with the workers.
func (d *driver) forget(p messages.Position) {
	delete(d.items, p)
	delete(d.chunks, p)
}

// tick saves progress, and publishes again what nobody has spoken of for long: the queue may have lost it. When that brings
// no news either, the drive begins anew: it may be the streams that do not tell what happens.
func (d *driver) tick(ctx context.Context) error {
	now := d.c.ports.Now()
	d.attend(now)
	if d.behind == 0 && len(d.items) > 0 && now.Sub(d.lastNews) > d.c.cfg.StallAfter {
		if d.stalled {
			return errStalled
		}
		d.stalled = true
		d.c.ports.Observer.Stalled(d.pinned.definition.Name)
		d.log.Warn("no news for long; publishing again what is outstanding", "items", len(d.items))
		d.lastNews = now
		again := make([]*messages.Item, 0, len(d.items))
		for _, item := range d.items {
			item.Recheck = true
			again = append(again, item)
		}
		if err := d.queue(ctx, again); err != nil {
			return err
		}
	}
	return d.saveProgress(ctx)
}

func (d *driver) saveProgress(ctx context.Context) error {
	if !d.dirty || d.behind > 0 {
		return nil
	}
	d.dirty = false
	progress := d.run.Progress(d.c.ports.Now())
	progress.Quotas = d.quotas(ctx)
	progress.Workers = d.c.attendance.now()
	progress.Outstanding = d.run.Spans(messages.MaxSpans)
	if err := d.c.ports.Catalogue.SaveProgress(ctx, progress); err != nil {
		d.dirty = true
		return err
	}
	return nil
}

// act takes actions until there is one to wait for. over: the run has settled.
func (d *driver) act(ctx context.Context) (over bool, err error) {
	if d.newer != nil {
		return true, d.settle(ctx, resume.Action{Kind: resume.Settle, State: messages.Failed, Stop: d.newer})
	}
	if err := d.bind(ctx); err != nil {
		return true, d.superseded(ctx, err)
	}
	for {
		recorded := d.at.query.State == messages.Stopping
		d.run.SetWindow(d.stake.claimed(d.run.Demand(d.exhausted)))
		switch action := d.run.Next(d.c.ports.Now(), d.exhausted, recorded); action.Kind {
		case resume.Wait:
			return false, nil
		case resume.Rewind:
			d.place.end()
			d.place = newPlace(d.pinned.plan)
			d.recheck = true
		case resume.Discard:
			if err := d.discard(ctx, action.Discard); err != nil {
				return false, err
			}
		case resume.Dispatch:
			if err := d.dispatch(ctx, action); err != nil {
				return false, err
			}
			if len(d.news) > 0 {
				return false, nil // hear first what came meanwhile
			}
		case resume.Stop:
			d.log.Warn("stopping", "kind", action.Stop.Kind, "reason", action.Stop.Reason, "position", action.Stop.Position)
			if err := d.save(ctx, messages.Stopping, action.Stop); err != nil {
				return true, d.superseded(ctx, err)
			}
		case resume.Settle:
			return true, d.settle(ctx, d.named(d.guard.conclude(action)))
		}
	}
}

// settle takes back what is queued, and writes how the run ended.
func (d *driver) settle(ctx context.Context, action resume.Action) error {
	if err := d.c.ports.Items.PurgeItems(ctx, d.at.query.Service, d.at.id); err != nil {
		return err
	}
	if action.State != messages.Complete {
		// Pages whose walks somebody may go on with are told of by no result yet.
		if err := d.c.readPages(ctx, d.at.query, d.run); err != nil {
			d.log.Warn("the requests of stored pages are not counted", "error", err)
		}
	}
	d.dirty = true
	d.ended = action.Stop == nil || action.Stop.Kind != string(messages.QuotaExhausted)
	if err := d.saveProgress(ctx); err != nil {
		return err
	}
	if action.State == messages.Complete {
		d.tidy(ctx)
	}
	err := d.save(ctx, action.State, action.Stop)
	if err == nil {
		d.log.Info("settled", "state", action.State)
		d.c.ports.Observer.Settled(d.at.query.Service, action.State, action.Stop != nil && action.Stop.Kind == messages.StopBreaker)
	}
	return d.superseded(ctx, err)
}

// tidy removes the parts and pages of attempts that never became a result, such as those of workers that were killed. Every position
// has its result now: no attempt that is still under way can make a result of its parts.
func (d *driver) tidy(ctx context.Context) {
	err := d.c.ports.Results.RemoveOrphans(ctx, d.at.id, func(id string) bool {
		_, kept := d.kept[id]
		return kept
	})
	if err != nil {
		d.log.Warn("parts of attempts without a result are left behind", "error", err)
	}
}

func (d *driver) save(ctx context.Context, state messages.QueryState, stop *messages.Stop) error {
	q := *d.at.query
	q.State, q.Stop, q.Updated = state, stop, d.c.ports.Now()
	if q.Bound = ""; state == messages.Running {
		q.Bound = d.run.Bound()
	}
	if stop != nil && stop.At.IsZero() {
		dated := *stop
		dated.At = q.Updated
		q.Stop = &dated
	}
	if state == messages.Interrupted && q.Stop != nil {
		q.Interrupt(q.Stop, d.run.Completion().Results())
		q.BudgetSpent += d.run.Spent()
	}
	revision, err := d.c.ports.Queries.SaveQuery(ctx, &q, d.at.revision)
	if err != nil {
		return err
	}
	d.at = seen{id: d.at.id, query: &q, revision: revision, old: d.at.old}
	return nil
}

// superseded turns a lost compare-and-set into the record of whoever won it.
func (d *driver) superseded(ctx context.Context, err error) error {
	if !errors.Is(err, messages.ErrConflict) {
		return err
	}
	d.at, err = d.c.reload(ctx, d.at)
	return err
}
