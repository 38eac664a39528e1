package lease

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Semaphore hands out the slots of one name to this process, in agreement with all others that use the same name over
// the same store. All methods are safe for concurrent use.
type Semaphore struct {
	store Store
	name  string // as keys begin
	cfg   Config

	mu       sync.Mutex // guards all fields below and those of Slot that say so; never held during a call of the store
	random   *rand.Rand
	slots    int
	rise     ramp
	risen    *time.Timer // looks at the waiters when the cap has risen; nil until that is waited for
	term     term        // of leases taken from now on
	views    map[int]*view
	queue    []*waiter // waiters without an offer, by ticket
	tickets  uint64
	troubles int       // store errors since the last success
	resting  time.Time // no slot is offered before

	complained time.Time // when OnError was last called
	unsaid     int       // errors since then
}

// view is what this process believes of one slot.
type view struct {
	revision uint64
	seen     time.Time // when the last change became known here
	looks    int       // reads since then for being overdue
	held     bool      // somebody's lease stands there
	busy     bool      // an attempt of this process is under way
	own      *Slot     // held by this process, and trusted
}

// State counts what a Semaphore knows.
type State struct {
	Slots   int // the cap
	InUse   int // slots held by anybody, or being tried for by this process
	Own     int // slots held by this process
	Waiting int // callers of Acquire without a slot to try for
}

// New makes the semaphore called name. Run must run for its slots to be handed out as they become free.
func New(store Store, name Name, cfg Config) (*Semaphore, error) {
	if err := name.Check(); err != nil {
		return nil, fmt.Errorf("make semaphore: %w", err)
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("make semaphore %s: %w", name, err)
	}
	return &Semaphore{
		store: store, name: name.String(), cfg: cfg,
		random: cfg.Rand, slots: cfg.Slots, term: newTerm(cfg.TTL, cfg.Margin), views: map[int]*view{},
	}, nil
}

// SetSlots changes the cap, 0 to MaxSlots. When it goes down, holders finish and nothing is granted until fewer than n
// slots are in use. When it goes up, a quarter of it is there at once and the rest within two seconds. Every process must be told; until
// then the old cap holds where it is not.
func (s *Semaphore) SetSlots(n int) error {
	if err := checkSlots(n, 0); err != nil {
		return fmt.Errorf("set slots of %s: %w", s.name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resize(n)
	s.match()
	return nil
}

// State tells what is known now. It asks no store.
func (s *Semaphore) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := State{Slots: s.slots, InUse: s.inUse(), Waiting: len(s.queue)}
	for _, v := range s.views {
		if v.own != nil {
			state.Own++
		}
	}
	return state
}

func (s *Semaphore) key(index int) string { return slotKeyOf(s.name, index) }

// indexOf reads a key as key writes it; others, and those beyond any cap, are no slots.
func (s *Semaphore) indexOf(key string) (int, bool) {
	text, ok := strings.CutPrefix(key, s.name+".")
	if !ok {
		return 0, false
	}
	index, err := strconv.Atoi(text)
	return index, err == nil && index >= 0 && index < MaxSlots && s.key(index) == key
}

// view finds the view of a slot. The caller holds mu.
func (s *Semaphore) view(index int) *view {
	v := s.views[index]
	if v == nil {
		v = &view{}
		s.views[index] = v
	}
	return v
}

// inUse counts slots of any index, so that a lowered cap waits for the holders above it. The caller holds mu.
func (s *Semaphore) inUse() int {
	n := 0
	for _, v := range s.views {
		if v.held || v.busy {
			n++
		}
	}
	return n
}

// rest offers no slot for d. The caller holds mu.
func (s *Semaphore) rest(d time.Duration) {
	if until := time.Now().Add(d); until.After(s.resting) {
		s.resting = until
		time.AfterFunc(d, s.wake)
	}
}

func (s *Semaphore) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.match()
}

// between draws a duration from low up to high. The caller holds mu.
func (s *Semaphore) between(low, high time.Duration) time.Duration {
	return low + time.Duration(s.random.Int64N(int64(high-low)+1))
}

// put writes the value of a lease with its term, or nil to set the slot free for good.
func (s *Semaphore) put(ctx context.Context, t term, index int, value []byte, revision uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, t.callTimeout())
	defer cancel()
	ttl := t.ttl
	if value == nil {
		ttl = 0
	}
	revision, err := s.store.Put(ctx, s.key(index), value, revision, ttl)
	if err != nil {
		return 0, fmt.Errorf("put %s: %w", s.key(index), err)
	}
	return revision, nil
}

func (s *Semaphore) get(ctx context.Context, t term, index int) (Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, t.callTimeout())
	defer cancel()
	entry, err := s.store.Get(ctx, s.key(index))
	if err != nil {
		return Entry{}, fmt.Errorf("get %s: %w", s.key(index), err)
	}
	return entry, nil
}
