package braid

import (
	"context"
	"errors"
	"time"
)

// ErrNoLeader says that nobody runs queries: those that are submitted wait.
var ErrNoLeader = errors.New("no coordinator leads: queries wait until one does; see that a coordinator runs, or wait some seconds where one takes over")

// leaderWait is how long it may take to learn who leads: who asks for our health does not wait long.
const leaderWait = 500 * time.Millisecond

// Led tells whether commands can be carried out, as Ready does, and are: that some coordinator leads. Else the error wraps ErrNoLeader,
// or says why that cannot be told.
func (l *Local) Led(ctx context.Context) error {
	if err := l.Ready(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, leaderWait)
	defer cancel()
	name, err := l.bus.LeaderName(ctx)
	if err == nil && name == "" {
		err = ErrNoLeader
	}
	return err
}
