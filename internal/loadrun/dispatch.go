package loadrun

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/braidhq/braid/pkg/load"
)

// publishAtOnce is how many items are queued before news is heard again.
const publishAtOnce = 256

// walk goes through a run's numbers in the order in which they are queued: those of the preflight, and then the others, each ascending (LR-1.2).
type walk struct {
	total int
	first []int // of the preflight
	apart map[int]bool
	begun int           // of first, those that were passed
	next  int           // of the others, the next number
	place int           // of next among the others
	every time.Duration // with an arrival rate: between two of the others
}

func newWalk(r *load.Run, checks map[int]bool) walk {
	w := walk{total: r.Total, first: slices.Sorted(maps.Keys(checks)), apart: checks}
	if r.Profile.Arrival != nil {
		w.every = time.Duration(float64(time.Second) / r.Profile.Arrival.PerSecond)
	}
	w.settle()
	return w
}

// settle steps over numbers of the preflight.
func (w *walk) settle() {
	for w.next < w.total {
		if _, apart := w.apart[w.next]; !apart {
			return
		}
		w.next++
	}
}

func (w *walk) step() {
	w.next, w.place = w.next+1, w.place+1
	w.settle()
}

func (w *walk) done() bool { return w.begun == len(w.first) && w.next >= w.total }

// intended is when the next of the others should begin.
func (w *walk) intended(started time.Time) time.Time {
	return started.Add(time.Duration(w.place) * w.every)
}

// nextDue tells how long to wait before something is to be queued, if anything is left that may be.
func (d *course) nextDue() (wait time.Duration, have bool) {
	r := d.at.run
	switch {
	case !d.caught || r == nil || d.walk.done():
		return 0, false
	case d.walk.begun < len(d.walk.first):
		return 0, true
	case r.State != load.Running:
		return 0, false
	case d.walk.every > 0:
		return d.walk.intended(r.Started).Sub(d.c.ports.Now()), true
	}
	return 0, true
}

// publish queues the next items that are due and that nobody has in hand or has done.
func (d *course) publish(ctx context.Context) error {
	w := d.walk // what is not queued is walked again
	batch := d.gather(&w)
	if len(batch) > 0 {
		if err := d.c.ports.Queue.PublishLoadItems(ctx, batch); err != nil {
			return fmt.Errorf("queue executions: %w", err)
		}
	}
	d.walk = w
	return nil
}

func (d *course) gather(w *walk) []*load.Item {
	r, now := d.at.run, d.c.ports.Now()
	var batch []*load.Item
	add := func(n int, intended time.Time) {
		if d.fold.Recorded(n) || d.flying[n] != nil {
			return
		}
		batch = append(batch, &load.Item{V: load.Version, Run: r.ID, Number: n, Intended: intended, WarmUp: n < r.Profile.WarmUp})
	}
	for steps := 0; steps < 16*publishAtOnce && len(batch) < publishAtOnce && !w.done(); steps++ {
		if w.begun < len(w.first) {
			add(w.first[w.begun], time.Time{})
			w.begun++
			continue
		}
		if r.State != load.Running {
			break
		}
		var intended time.Time
		if w.every > 0 {
			if intended = w.intended(r.Started); intended.After(now) {
				break
			}
		}
		add(w.next, intended)
		w.step()
	}
	return batch
}
