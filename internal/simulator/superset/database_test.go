package superset

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
)

func TestDatabaseServesInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase(1)
		if err := d.take(t.Context()); err != nil {
			t.Fatal(err)
		}
		var order []int
		impatient, giveUp := context.WithCancel(t.Context())
		for i := range 5 {
			ctx := t.Context()
			if i == 2 {
				ctx = impatient
			}
			go func() {
				if err := d.take(ctx); err != nil {
					if i != 2 || !errors.Is(err, context.Canceled) {
						t.Errorf("%d: %v", i, err)
					}
					return
				}
				order = append(order, i)
				d.give()
			}()
			synctest.Wait() // in this order
		}
		giveUp()
		synctest.Wait()
		d.give()
		synctest.Wait()
		if !slices.Equal(order, []int{0, 1, 3, 4}) || d.busy != 0 || len(d.waiting) != 0 {
			t.Errorf("order %v, busy %d, waiting %d", order, d.busy, len(d.waiting))
		}
		if total, most := d.counts(); total != 5 || most != 1 {
			t.Errorf("executed %d, %d at once", total, most)
		}
		for range 2 {
			if err := d.take(t.Context()); err == nil {
				d.resize(2)
			}
		}
		if d.busy != 2 {
			t.Errorf("with more slots: %d", d.busy)
		}
	})
}
