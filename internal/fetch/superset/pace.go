package superset

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// loginEvery keeps logins below the five in a second that Superset lets one address make, whichever workers make them.
const loginEvery = 250 * time.Millisecond

// pace gives times to log in at. Workers agree by the time of the last one that was given, in the store; without the store, this process keeps
// to it alone. Safe for concurrent use.
type pace struct {
	client *Client
	key    string
	wait   func(ctx context.Context, d time.Duration) error

	mu   sync.Mutex // guards last
	last time.Time
}

func newPace(c *Client) *pace {
	return &pace{client: c, key: storeKey("pace", c.environment.Name, c.environment.BaseURL, ""), wait: wait}
}

// login waits until one may log in.
func (p *pace) login(ctx context.Context) error {
	at, err := p.shared(ctx)
	if err != nil {
		at = p.client.now()
	}
	p.mu.Lock()
	at = p.after(p.last, at)
	p.last = at
	p.mu.Unlock()
	if d := at.Sub(p.client.now()); d > 0 {
		return p.wait(ctx, d)
	}
	return context.Cause(ctx)
}

// after gives the first time at or behind at that is far enough from the last one.
func (p *pace) after(last, at time.Time) time.Time {
	if earliest := last.Add(loginEvery + p.client.jitter(loginEvery/5)); last.Sub(at) < time.Minute && earliest.After(at) {
		return earliest
	}
	return at
}

// shared takes the next time of all workers'. The time of a login is no secret, and stands as it is.
func (p *pace) shared(ctx context.Context) (time.Time, error) {
	store := p.client.cfg.Tokens
	if store == nil {
		return p.client.now(), nil
	}
	for {
		value, revision, err := store.Load(ctx, p.key)
		if err != nil {
			return time.Time{}, err
		}
		at := p.client.now()
		if len(value) == 8 {
			at = p.after(time.UnixMilli(int64(binary.BigEndian.Uint64(value))), at) //nolint:gosec // a time that was written below
		}
		value = binary.BigEndian.AppendUint64(nil, uint64(at.UnixMilli())) //nolint:gosec // after 1970
		_, err = store.Save(ctx, p.key, value, revision, time.Minute)
		switch {
		case err == nil:
			return at, nil
		case !errors.Is(err, messages.ErrConflict) || ctx.Err() != nil:
			return time.Time{}, err
		}
	}
}
