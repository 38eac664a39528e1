package lease

import (
	crand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// MaxSlots is the largest number of slots a semaphore can have.
const MaxSlots = 10_000

// Config sets a Semaphore. Slots and Holder are required; the zero value of all else is its default.
type Config struct {
	Slots  int           // how many may be held at once over all processes; 1 to MaxSlots
	Holder string        // names this worker in the values it writes; at most 128 bytes
	TTL    time.Duration // a dead holder's slot is free after this; whole seconds, 1s to 1h. Default 30s
	Margin time.Duration // how long before the store's expiry the holder stops to trust; under TTL/2. Default 5s, at most TTL/6
	Jitter time.Duration // longest random wait before a slot that just became free is tried; 0 to 1s. Default 10ms

	Rand    *rand.Rand    // for jitter and the choice of slots; the semaphore alone uses it from New on. Default: random seed
	NewID   func() string // unique ids of leases, 1 to 128 bytes, over all processes and time; called from several goroutines. Default: 128 random bits
	OnError func(error)   // told of store errors that were survived, about one a second with the number of those left out; called from several goroutines. Default: nobody is
}

func (c Config) withDefaults() Config {
	if c.TTL == 0 {
		c.TTL = 30 * time.Second
	}
	if c.Jitter == 0 {
		c.Jitter = 10 * time.Millisecond
	}
	if c.Rand == nil {
		c.Rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	if c.NewID == nil {
		c.NewID = crand.Text
	}
	if c.OnError == nil {
		c.OnError = func(error) {}
	}
	return c
}

func (c Config) validate() error {
	return errors.Join(
		checkSlots(c.Slots, 1),
		check(c.Holder != "" && len(c.Holder) <= maxNameLen, "holder is %d bytes long; name this worker in 1 to %d bytes", len(c.Holder), maxNameLen),
		newTerm(c.TTL, c.Margin).validate(),
		check(c.Jitter >= 0 && c.Jitter <= time.Second, "jitter is %v; use 0 to 1s", c.Jitter),
	)
}

func checkSlots(n, least int) error {
	return check(n >= least && n <= MaxSlots, "slots is %d; use %d to %d", n, least, MaxSlots)
}

func check(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}
