package loadrun

import (
	"context"
	"fmt"
	"time"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/load"
)

// unserved tells that for long no worker has taken part in the run: none has its adapter and its credentials, or none can read what it goes
// through. Whoever takes part holds one of the run's places, also while it waits for something to execute, so that a run which waits for its turn
// behind others is not taken for one that nobody serves. Where the places cannot be read, the workers cannot either, and the time begins anew.
func (d *course) unserved(ctx context.Context) bool {
	now, patience := d.c.ports.Now(), d.c.cfg.UnservedAfter
	if d.c.ports.Places == nil || now.Sub(d.looked) < patience/10 {
		return false
	}
	d.looked = now
	if d.served.IsZero() {
		d.served = now
	}
	held, err := d.placeHeld(ctx)
	if err != nil && ctx.Err() == nil {
		d.log.Debug("the run's places cannot be read", "error", err)
	}
	if held || err != nil {
		d.served = d.c.ports.Now()
		return false
	}
	return now.Sub(d.served) >= patience
}

func (d *course) placeHeld(ctx context.Context) (bool, error) {
	name := lease.Name{Service: d.at.run.Environment, Capacity: load.PlacesOf(d.at.id)}
	for n := range load.MaxPlaces {
		place, err := d.c.ports.Places.Get(ctx, name.Slot(n))
		if err != nil {
			return false, err
		}
		if len(place.Value) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// unservedReason says it for people.
func (d *course) unservedReason() string {
	return fmt.Sprintf("for %s no worker has taken part in it: see that one runs that has the adapter and the credentials of %s; the log of a worker that cannot says why",
		d.c.ports.Now().Sub(d.served).Round(time.Second), d.at.run.Environment)
}
