package fetch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestOneShareAloneGrowsBeyondTheRoomAndTheOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := NewRoom(100)
		fits, grows, waits, leaves := share{room: room}, share{room: room}, share{room: room}, share{room: room}
		for _, err := range []error{fits.take(t.Context(), 80), grows.take(t.Context(), 20), grows.take(t.Context(), 50), grows.take(t.Context(), 1_000)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		served := make(chan error, 1)
		go func() { served <- waits.take(t.Context(), 30) }()
		synctest.Wait()
		unwanted := errors.New("nobody wants it any more")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(unwanted)
		if err := leaves.take(ctx, 30); !errors.Is(err, unwanted) {
			t.Errorf("the wait ended with %v, want the cause of its context", err)
		}
		select {
		case <-served:
			t.Fatal("two shares were beyond the room at once")
		default:
		}
		grows.giveBack()
		if err := <-served; err != nil {
			t.Error(err)
		}
		for _, s := range []*share{&fits, &waits, &leaves} {
			s.giveBack()
		}
		if !room.free.TryAcquire(100) || len(room.beyond) != 0 {
			t.Error("the room is not whole again")
		}
	})
}
