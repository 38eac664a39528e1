package superset

import (
	"context"
	"sync"
)

// database executes so many queries at once; the others wait in turn. Safe for concurrent use.
type database struct {
	mu      sync.Mutex // guards all below
	slots   int        // 0: no bound
	busy    int
	most    int
	total   int
	waiting []chan struct{}
}

func newDatabase(slots int) *database { return &database{slots: slots} }

// take waits for a slot. Its error is the context's.
func (d *database) take(ctx context.Context) error {
	d.mu.Lock()
	if d.slots == 0 || d.busy < d.slots { // then nobody waits
		d.begin()
		d.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	d.waiting = append(d.waiting, turn)
	d.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, other := range d.waiting {
		if other == turn {
			d.waiting = append(d.waiting[:i], d.waiting[i+1:]...)
			return ctx.Err()
		}
	}
	d.busy-- // it was given the slot meanwhile
	d.admit()
	return ctx.Err()
}

func (d *database) give() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy--
	d.admit()
}

// admit lets those in who have waited longest. The mutex is held.
func (d *database) admit() {
	for len(d.waiting) > 0 && (d.slots == 0 || d.busy < d.slots) {
		close(d.waiting[0])
		d.waiting = d.waiting[1:]
		d.begin()
	}
}

func (d *database) begin() {
	d.busy++
	d.total++
	d.most = max(d.most, d.busy)
}

func (d *database) resize(slots int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.slots = slots
	d.admit()
}

func (d *database) counts() (total, most int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.total, d.most
}

func (d *database) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.total, d.most = 0, d.busy
}
