package coordinator

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

const (
	// One that died says nothing any more: the server tells nobody that its presence has expired.
	goneAfter = 20 * time.Second
	// A worker speaks every few seconds and takes its presence back when it stops; that of one that died expires later.
	silentAfter = 10 * time.Second
	// A process that begins may lead before its own worker has spoken.
	aloneAfter = 5 * time.Second
)

// attendance is who is there to take items, as far as the leader hears. The zero value knows nothing. Safe for concurrent use.
type attendance struct {
	mu      sync.Mutex // guards all below
	known   bool       // all that are there have been heard of
	present map[string]time.Time
	last    time.Time // a word of one that has gone since
}

// now gives what is to be told; nil when nothing is known.
func (a *attendance) now() *messages.Attendance {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.known {
		return nil
	}
	now := &messages.Attendance{Present: len(a.present)}
	if now.Present == 0 {
		now.Last = a.last
	}
	return now
}

// begin forgets who was there: a watch begins, and tells of all that are.
func (a *attendance) begin() (before map[string]time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before = a.present
	a.known, a.present = false, map[string]time.Time{}
	return before
}

func (a *attendance) caughtUp() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known = true
}

func (a *attendance) spoke(id string, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.present[id] = at
}

// left gives when a worker that has gone was last heard of.
func (a *attendance) left(id string) (last time.Time, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	last, known = a.present[id]
	delete(a.present, id)
	a.note(last)
	return last, known
}

// gone keeps of a worker that was heard of before the watch began only that it was there.
func (a *attendance) gone(id string, last time.Time) (gone bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, there := a.present[id]; there {
		return false
	}
	a.note(last)
	return true
}

// lapse takes out whoever has been silent for too long, and gives when each was last heard of.
func (a *attendance) lapse(now time.Time) map[string]time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	var lapsed map[string]time.Time
	for key, last := range a.present {
		if now.Sub(last) <= goneAfter {
			continue
		}
		if lapsed == nil {
			lapsed = map[string]time.Time{}
		}
		lapsed[key] = last
		delete(a.present, key)
		a.note(last)
	}
	return lapsed
}

// note keeps the last word of all. The caller holds mu.
func (a *attendance) note(last time.Time) {
	if last.After(a.last) {
		a.last = last
	}
}

// watchWorkers keeps the attendance while the coordinator leads, and tells of workers that vanish without a word.
func (c *Coordinator) watchWorkers(ctx context.Context) {
	if c.ports.Workers == nil {
		return
	}
	defer c.attendance.begin() // who does not lead does not hear
	for ctx.Err() == nil {
		before := c.attendance.begin()
		err := c.ports.Workers.WatchWorkers(ctx, c.heardOf, func() {
			c.attendance.caughtUp()
			for id, last := range before {
				if c.attendance.gone(id, last) {
					c.tellVanished(id, last)
				}
			}
			before = nil
		})
		if err != nil && ctx.Err() == nil {
			c.log.Warn("watch of the workers lost, watching again", "error", err)
			pause(ctx, time.Second)
		}
	}
}

// lapse tells of workers that nothing has been heard of for long.
func (c *Coordinator) lapse(now time.Time) {
	for key, last := range c.attendance.lapse(now) {
		c.tellVanished(key, last)
	}
}

func (c *Coordinator) heardOf(key string, w *messages.Worker) {
	now := c.ports.Now()
	c.lapse(now)
	if w == nil {
		if last, known := c.attendance.left(key); known {
			c.tellVanished(key, last)
		}
		return
	}
	// What was said before the watch began is as old as the worker says, which has another clock.
	if w.Seen.Before(now) && now.Sub(w.Seen) > time.Second {
		now = w.Seen
	}
	c.attendance.spoke(key, now)
}

func (c *Coordinator) tellVanished(key string, last time.Time) {
	id, _, _ := strings.Cut(key, ".")
	silent := c.ports.Now().Sub(last)
	if silent < silentAfter {
		c.log.Info("a worker has stopped", "worker", id)
		return
	}
	c.log.Warn("a worker has vanished without a word; what it had in hand comes again", "worker", id, "silent", silent.Round(time.Second))
}

// alone is what a driver knows of being without workers.
type alone struct {
	since   time.Time // zero: it is not
	told    bool
	present int
	heard   bool // of who is present
}

// attend sees to it that the progress tells who is there, and says once when work waits and nobody is.
func (d *driver) attend(now time.Time) {
	d.c.lapse(now)
	who := d.c.attendance.now()
	if who == nil {
		return
	}
	if who.Present != d.alone.present || !d.alone.heard {
		d.alone.present, d.alone.heard, d.dirty = who.Present, true, true
	}
	waiting := len(d.items) > 0
	switch {
	case who.Present > 0 && d.alone.told:
		d.log.Info("workers are there again", "workers", who.Present)
		d.alone.since, d.alone.told = time.Time{}, false
	case who.Present > 0 || !waiting:
		d.alone.since = time.Time{}
	case d.alone.since.IsZero():
		d.alone.since = now
	case !d.alone.told && now.Sub(d.alone.since) >= aloneAfter:
		d.alone.told = true
		d.log.Warn("no worker takes items of the service; the query goes on when one is started", "service", d.at.query.Service, "last_seen", lastSeen(who.Last, now))
	}
}

func lastSeen(last, now time.Time) string {
	if last.IsZero() {
		return "never, since this coordinator leads"
	}
	return now.Sub(last).Round(time.Second).String() + " ago"
}
