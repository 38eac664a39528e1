package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

const (
	mostPictures = 32               // queries that are followed at a time
	unwatched    = time.Minute      // after which a query that nobody asks for is followed no more
	sweepEvery   = 10 * time.Second // how often that is looked at
	lookWait     = 300 * time.Millisecond
	mostTold     = 100 // interruptions that are kept
	readAnewSoon = 30 * time.Second
	restAfter    = 3 * time.Second // what is read and the leader's progress are compared when no result came for so long
)

var (
	errUnwatched = errors.New("nobody watches the query any more")
	errReadAnew  = errors.New("what is stored is read anew")
	errClosed    = fmt.Errorf("%w: this coordinator is being closed", messages.ErrUnreachable)
)

// gallery keeps a picture of each query that somebody watches: it follows the query's results from the first request on, and gives up
// when nobody asks any more. Whether this coordinator leads does not matter. It is safe for concurrent use.
type gallery struct {
	ports *Ports

	mu       sync.Mutex // guards all below
	pictures map[string]*picture
	closed   bool
	running  sync.WaitGroup
}

func newGallery(ports *Ports) *gallery {
	return &gallery{ports: ports, pictures: map[string]*picture{}}
}

// picture is what is known of a watched query.
type picture struct {
	id      string
	created time.Time // of the query: one that was removed may be followed by another of that id
	give    context.CancelCauseFunc
	asked   time.Time // guarded by the gallery

	mu     sync.Mutex // guards all below, and what is in shown and next
	shown  *reading
	next   *reading
	anew   context.CancelCauseFunc // of the reading that goes on
	pinned *pinned
}

// reading is one reading of the streams of a query, from their first message on. Guarded by its picture.
type reading struct {
	chart  *chart
	told   []*messages.Interruption // the newest, the oldest first
	begun  time.Time
	news   time.Time // when the last result came
	behind int       // trackers that have not caught up
	caught chan struct{}
}

// watch gives the picture of a query, and begins to follow it when nobody has asked before.
func (g *gallery) watch(ctx context.Context, q *messages.Query) (*picture, error) {
	now := g.ports.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, errClosed
	}
	if p := g.pictures[q.ID]; p != nil {
		if p.created.Equal(q.Created) {
			p.asked = now
			return p, nil
		}
		g.drop(p)
	}
	g.makeRoom()
	following, give := context.WithCancelCause(context.WithoutCancel(ctx))
	p := &picture{id: q.ID, created: q.Created, give: give, asked: now}
	p.begin(q, now, func(error) {})
	g.pictures[q.ID] = p
	g.running.Go(func() { g.follow(following, p, q) })
	return p, nil
}

// makeRoom gives up the query that was asked for least lately when there are too many.
func (g *gallery) makeRoom() {
	if len(g.pictures) < mostPictures {
		return
	}
	var oldest *picture
	for _, p := range g.pictures {
		if oldest == nil || p.asked.Before(oldest.asked) {
			oldest = p
		}
	}
	g.drop(oldest)
}

func (g *gallery) drop(p *picture) {
	p.give(errUnwatched)
	delete(g.pictures, p.id)
}

// removed gives up a query that is gone.
func (g *gallery) removed(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p := g.pictures[id]; p != nil {
		g.drop(p)
	}
}

// sweep gives up the queries that nobody has asked for lately.
func (g *gallery) sweep() {
	now := g.ports.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.pictures {
		if now.Sub(p.asked) > unwatched {
			g.drop(p)
		}
	}
}

// close ends all following, and waits for it. Nothing is watched afterwards.
func (g *gallery) close() {
	g.mu.Lock()
	g.closed = true
	for _, p := range g.pictures {
		g.drop(p)
	}
	g.mu.Unlock()
	g.running.Wait()
}

// CloseViews ends what was begun to show queries. Views answer with an error afterwards.
func (c *Coordinator) CloseViews() { c.gallery.close() }

// follow reads the streams of a query until its picture is given up.
func (g *gallery) follow(ctx context.Context, p *picture, q *messages.Query) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	var sweeping sync.WaitGroup
	defer sweeping.Wait()
	sweeping.Go(func() {
		for {
			select {
			case <-tick.C:
				g.sweep()
			case <-ctx.Done():
				return
			}
		}
	})
	for first := true; ctx.Err() == nil; first = false {
		reading, cancel := context.WithCancelCause(ctx)
		r := p.resume(q, g.ports.Now(), cancel, first)
		err := g.read(reading, p, r)
		cause := context.Cause(reading)
		cancel(nil)
		if ctx.Err() == nil && !errors.Is(cause, errReadAnew) {
			g.ports.Log.Warn("a query that is watched cannot be followed, trying again", "query", p.id, "error", err)
			pause(ctx, time.Second)
		}
	}
}

// read follows results and interruptions until ctx ends or one of them is lost.
func (g *gallery) read(ctx context.Context, p *picture, r *reading) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var trackers sync.WaitGroup
	trackers.Go(func() {
		cancel(g.ports.Results.TrackResults(ctx, p.id, func(h *messages.ResultHeader) {
			now := g.ports.Now()
			p.mu.Lock()
			defer p.mu.Unlock()
			r.news = now
			r.chart.take(h, sampleOf(h, p.created, now))
		}, func(at messages.Position, _ error) {
			if _, err := messages.ParsePosition(string(at)); err != nil {
				return
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			r.chart.forget(at)
		}, func() { p.caughtUp(r) }))
	})
	trackers.Go(func() {
		cancel(g.ports.Results.TrackInterruptions(ctx, p.id, func(m *messages.Interruption) {
			p.mu.Lock()
			defer p.mu.Unlock()
			r.interruption(m)
		}, func(error) {}, func() { p.caughtUp(r) }))
	})
	trackers.Wait()
	return context.Cause(ctx)
}

// interruption keeps the newest. Those that only gave an item back are no interruptions of the query, and one may be stored twice.
func (r *reading) interruption(m *messages.Interruption) {
	if m.Kind == messages.HandedBack || m.Kind == messages.AllowanceSpent {
		return
	}
	twice := slices.ContainsFunc(r.told, func(t *messages.Interruption) bool {
		return t.Run == m.Run && t.Position == m.Position && t.Worker == m.Worker && t.At.Equal(m.At) && t.Dispatched.Equal(m.Dispatched)
	})
	if twice {
		return
	}
	if r.told = append(r.told, m); len(r.told) > mostTold {
		r.told = slices.Delete(r.told, 0, 1)
	}
}

// begin makes the first reading, which is shown as far as it goes.
func (p *picture) begin(q *messages.Query, now time.Time, anew context.CancelCauseFunc) {
	p.shown = &reading{chart: newChart(q.Chunks, q.Run), begun: now, news: now, behind: 2, caught: make(chan struct{})}
	p.anew = anew
}

// resume gives the reading that is to go on: the first one, or another, which is shown when it has caught up; until then the one before is.
func (p *picture) resume(q *messages.Query, now time.Time, anew context.CancelCauseFunc, first bool) *reading {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.anew = anew
	if first {
		return p.shown
	}
	p.next = &reading{chart: newChart(q.Chunks, max(q.Run, p.shown.chart.run)), begun: now, news: now, behind: 2, caught: p.shown.caught}
	if p.shown.behind > 0 {
		p.shown = p.next
	} else {
		p.next.caught = make(chan struct{})
	}
	return p.next
}

// caughtUp notes that a tracker has seen all that was there.
func (p *picture) caughtUp(r *reading) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.behind--; r.behind > 0 {
		return
	}
	close(r.caught)
	if p.next == r {
		p.shown, p.next = r, nil
	}
}

// wait waits until what is stored has been read, but not for long: who watches asks again.
func (p *picture) wait(ctx context.Context) error {
	p.mu.Lock()
	caught := p.shown.caught
	p.mu.Unlock()
	timer := time.NewTimer(lookWait)
	defer timer.Stop()
	select {
	case <-caught:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// look takes in what the records say, and calls show with what is known; reading tells that it is a part of what is stored.
func (p *picture) look(w *watched, now time.Time, show func(r *reading, reading bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == nil && p.shown.behind == 0 && p.shown.outdated(w, now) {
		p.anew(errReadAnew)
	}
	p.shown.chart.begin(w.query.Run)
	show(p.shown, p.shown.behind > 0)
}

// outdated tells whether results may have been removed, of which no tracker hears: the record says so, or what is complete
// is not what the leader has counted. What a follower sees and the leader's count differ for moments while results come.
func (r *reading) outdated(w *watched, now time.Time) bool {
	q, progress := w.query, w.progress
	switch {
	case q.Stop != nil && q.Stop.Kind == messages.StopDamaged && q.Stop.At.After(r.begun):
		return true
	case q.Run > r.chart.run && r.chart.blurry:
		return true
	}
	return now.Sub(r.begun) > readAnewSoon && progress.Updated.Sub(r.news) > restAfter && progress.Run == q.Run && progress.Completed != r.chart.done.Roots()
}

// watched is a query that somebody looks at.
type watched struct {
	query    *messages.Query
	progress *messages.Progress
	picture  *picture
	spans    []messages.Span // of items that are out; none when the query is not active
}

// watch loads a query, and gives its picture as far as that can be had soon.
func (c *Coordinator) watch(ctx context.Context, id string) (*watched, error) {
	q, _, err := c.ports.Queries.LoadQuery(ctx, id)
	if err != nil {
		if errors.Is(err, messages.ErrNotFound) {
			c.gallery.removed(id)
		}
		return nil, err
	}
	status, err := c.status(ctx, q)
	if err != nil {
		return nil, err
	}
	p, err := c.gallery.watch(ctx, q)
	if err != nil {
		return nil, err
	}
	w := &watched{query: q, progress: status.Progress, picture: p}
	if q.State.Active() && status.Progress.Run == q.Run {
		w.spans = status.Progress.Outstanding
	}
	return w, p.wait(ctx)
}

// open gives the query's plan, which is made once for each picture.
func (w *watched) open(ctx context.Context, c *Coordinator) (*pinned, error) {
	w.picture.mu.Lock()
	opened := w.picture.pinned
	w.picture.mu.Unlock()
	if opened != nil {
		return opened, nil
	}
	opened, err := c.open(ctx, w.query)
	if err != nil {
		return nil, err
	}
	w.picture.mu.Lock()
	defer w.picture.mu.Unlock()
	w.picture.pinned = opened
	return opened, nil
}
