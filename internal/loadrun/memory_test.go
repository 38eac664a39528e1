package loadrun_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/braidhq/braid/internal/loadrun"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// memory is what a bus stores, in this process: its refusals are those of the streams. It is the twin for fake time; the real one is tested
// beside it.
type memory struct {
	mu       sync.Mutex // guards all below
	news     chan struct{}
	sequence uint64

	profiles   cells[load.Profile]
	runs       cells[load.Run]
	approvals  cells[load.Approval]
	progress   map[string]*load.Progress
	told       map[string][]time.Time // when progress was stored
	snapshots  map[string]*load.Snapshot
	pins       map[string]string
	selections map[string]*load.Selection
	services   map[string]*messages.Service

	queue   map[string]map[int]*queued
	ackWait map[string]time.Duration
	records map[string][]record
	closed  map[string]uint64 // sequence
	sealed  map[string]bool

	errands   int // requests to services, by way of workers
	answer    func(*load.LookUp) (*load.Snapshot, error)
	published map[string][]int // numbers in the order in which they were queued
	again     int              // of these, those that had a record for a second
	onSave    func(r *load.Run)
}

type record struct {
	sequence  uint64
	stored    time.Time
	admission *load.Admission
	execution *load.Execution
}

type queued struct {
	item       *load.Item
	enqueued   time.Time
	order      uint64
	deliveries int
	inHand     bool
}

func newMemory() *memory {
	return &memory{
		news: make(chan struct{}), profiles: cells[load.Profile]{}, runs: cells[load.Run]{}, approvals: cells[load.Approval]{},
		progress: map[string]*load.Progress{}, told: map[string][]time.Time{}, snapshots: map[string]*load.Snapshot{}, pins: map[string]string{},
		selections: map[string]*load.Selection{}, services: map[string]*messages.Service{}, queue: map[string]map[int]*queued{},
		ackWait: map[string]time.Duration{}, records: map[string][]record{}, closed: map[string]uint64{}, sealed: map[string]bool{},
		published: map[string][]int{},
	}
}

// cells are values under compare-and-set.
type cells[T any] map[string]cell[T]

type cell[T any] struct {
	value    T
	revision uint64
}

func (c cells[T]) save(m *memory, id string, v *T, revision uint64) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c[id].revision != revision {
		return 0, fmt.Errorf("%s: %w", id, messages.ErrConflict)
	}
	m.change()
	c[id] = cell[T]{*v, m.sequence}
	return m.sequence, nil
}

func (c cells[T]) load(m *memory, id string) (*T, uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	have, there := c[id]
	if !there {
		return nil, 0, fmt.Errorf("%s: %w", id, messages.ErrNotFound)
	}
	return &have.value, have.revision, nil
}

func (c cells[T]) list(m *memory) ([]*T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []*T
	for _, id := range slices.Sorted(maps.Keys(c)) {
		v := c[id].value
		all = append(all, &v)
	}
	return all, nil
}

// change counts a write and wakes whoever waits. m.mu is held.
func (m *memory) change() {
	m.sequence++
	close(m.news)
	m.news = make(chan struct{})
}

func (m *memory) SaveProfile(_ context.Context, p *load.Profile, revision uint64) (uint64, error) {
	return m.profiles.save(m, p.ID, p, revision)
}

func (m *memory) LoadProfile(_ context.Context, id string) (*load.Profile, uint64, error) {
	return m.profiles.load(m, id)
}

func (m *memory) ListProfiles(context.Context) ([]*load.Profile, error) { return m.profiles.list(m) }

func (m *memory) RemoveProfile(_ context.Context, id string, _ uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.profiles, id)
	return nil
}

func (m *memory) SaveRun(_ context.Context, r *load.Run, revision uint64) (uint64, error) {
	if _, err := r.Encode(); err != nil {
		return 0, err
	}
	if m.onSave != nil {
		m.onSave(r)
	}
	return m.runs.save(m, r.ID, r, revision)
}

func (m *memory) LoadRun(_ context.Context, id string) (*load.Run, uint64, error) {
	return m.runs.load(m, id)
}
func (m *memory) ListRuns(context.Context) ([]*load.Run, error) { return m.runs.list(m) }

func (m *memory) WatchRuns(ctx context.Context, on func(string, *load.Run, uint64), caughtUp func()) error {
	told := map[string]uint64{}
	for first := true; ; first = false {
		m.mu.Lock()
		var changed []cell[load.Run]
		for _, id := range slices.Sorted(maps.Keys(m.runs)) {
			if c := m.runs[id]; told[id] != c.revision {
				told[id] = c.revision
				changed = append(changed, c)
			}
		}
		news := m.news
		m.mu.Unlock()
		for _, c := range changed {
			on(c.value.ID, &c.value, c.revision)
		}
		if first {
			caughtUp()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-news:
		}
	}
}

func (m *memory) RemoveRun(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.runs, id)
	delete(m.records, id)
	m.change()
	return nil
}

func (m *memory) SaveApproval(_ context.Context, a *load.Approval, revision uint64) (uint64, error) {
	return m.approvals.save(m, a.ID, a, revision)
}

func (m *memory) LoadApproval(_ context.Context, id string) (*load.Approval, uint64, error) {
	return m.approvals.load(m, id)
}

func (m *memory) ListApprovals(context.Context) ([]*load.Approval, error) { return m.approvals.list(m) }

func (m *memory) SaveRunProgress(_ context.Context, p *load.Progress) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.progress[p.Run] = p
	m.told[p.Run] = append(m.told[p.Run], time.Now())
	return nil
}

func (m *memory) LoadRunProgress(_ context.Context, run string) (*load.Progress, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.progress[run]; p != nil {
		return p, nil
	}
	return nil, messages.ErrNotFound
}

func (m *memory) PutSnapshot(_ context.Context, s *load.Snapshot) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.snapshots[s.ID] = s
	return nil
}

func (m *memory) Snapshot(_ context.Context, id string) (*load.Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.snapshots[id]; s != nil {
		return s, nil
	}
	return nil, messages.ErrNotFound
}

func (m *memory) PinSnapshot(_ context.Context, profile string, revision int, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pins[fmt.Sprint(profile, revision)] = id
	return nil
}

func (m *memory) PinnedSnapshot(_ context.Context, profile string, revision int) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if id := m.pins[fmt.Sprint(profile, revision)]; id != "" {
		return id, nil
	}
	return "", messages.ErrNotFound
}

func (m *memory) PutSelection(_ context.Context, run string, s *load.Selection) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.selections[run] = s
	return nil
}

func (m *memory) Selection(_ context.Context, run string) (*load.Selection, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.selections[run]; s != nil {
		return s, nil
	}
	return nil, messages.ErrNotFound
}

func (m *memory) PutDefinition(context.Context, string, []byte) error { return nil }

func (m *memory) UpdateService(_ context.Context, name string, edit func(*messages.Service) *messages.Service) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := edit(m.services[name]); s != nil {
		if err := s.Validate(); err != nil {
			return err
		}
		m.services[name] = s
	}
	return nil
}

func (m *memory) LookUp(_ context.Context, l *load.LookUp) (*load.Snapshot, error) {
	m.mu.Lock()
	m.errands++
	answer := m.answer
	m.mu.Unlock()
	return answer(l)
}

func (m *memory) ServeLookUps(context.Context, func(string) bool, func(context.Context, *load.LookUp) (*load.Snapshot, error)) error {
	return nil
}

func (m *memory) EnsureRunQueue(_ context.Context, r *load.Run, ackWait time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.queue[r.ID] == nil {
		m.queue[r.ID] = map[int]*queued{}
	}
	m.ackWait[r.ID] = ackWait
	return nil
}

func (m *memory) PublishLoadItems(_ context.Context, items []*load.Item) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, item := range items {
		if _, err := item.Encode(); err != nil {
			return err
		}
		if q := m.queue[item.Run]; q[item.Number] == nil {
			m.change()
			q[item.Number] = &queued{item: item, enqueued: time.Now(), order: m.sequence}
			m.published[item.Run] = append(m.published[item.Run], item.Number)
			for _, r := range m.records[item.Run] {
				if e := r.execution; e != nil && e.Number == item.Number && time.Since(r.stored) > time.Second {
					m.again++
				}
			}
		}
	}
	return nil
}

func (m *memory) PurgeRun(_ context.Context, run string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queue[run] = map[int]*queued{}
	m.change()
	return nil
}

// take gives the next item of a run into hand; nil when there is none.
func (m *memory) take(run string) (item *load.Item, attempt int, enqueued time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var next *queued
	for _, q := range m.queue[run] {
		if !q.inHand && (next == nil || q.order < next.order) {
			next = q
		}
	}
	if next == nil {
		return nil, 0, time.Time{}
	}
	next.inHand = true
	next.deliveries++
	return next.item, next.deliveries, next.enqueued
}

// ack removes an item; dropped has it delivered again.
func (m *memory) ack(run string, number int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.queue[run], number)
}

func (m *memory) dropped(run string, number int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if q := m.queue[run][number]; q != nil {
		q.inHand = false
		m.change()
	}
}

func (m *memory) Admit(_ context.Context, a *load.Admission, _ int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, have := range m.records[a.Run] {
		if b := have.admission; b != nil && b.Number == a.Number && b.Attempt == a.Attempt && b.Repeat == a.Repeat {
			return messages.ErrExists
		}
	}
	if m.closed[a.Run] > 0 {
		return load.ErrIntakeClosed
	}
	m.change()
	m.records[a.Run] = append(m.records[a.Run], record{sequence: m.sequence, stored: time.Now(), admission: a})
	return nil
}

func (m *memory) CloseIntake(_ context.Context, run string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed[run] == 0 {
		m.change()
		m.closed[run] = m.sequence
	}
	return nil
}

func (m *memory) IntakeClosed(_ context.Context, run string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed[run] > 0, nil
}

func (m *memory) PublishExecution(_ context.Context, e *load.Execution) error {
	if _, err := e.Encode(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, have := range m.records[e.Run] {
		if b := have.execution; b != nil && b.Number == e.Number && b.Attempt == e.Attempt {
			return messages.ErrExists
		}
	}
	if m.sealed[e.Run] {
		return load.ErrSealed
	}
	m.change()
	m.records[e.Run] = append(m.records[e.Run], record{sequence: m.sequence, stored: time.Now(), execution: e})
	return nil
}

func (m *memory) SealRun(_ context.Context, run string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sealed[run] = true
	return nil
}

func (m *memory) TrackRun(ctx context.Context, run string, on loadrun.RunTracker) error {
	m.mu.Lock()
	there := len(m.records[run])
	m.mu.Unlock()
	for next, caught := 0, false; ; {
		m.mu.Lock()
		more, news := slices.Clone(m.records[run][min(next, len(m.records[run])):]), m.news
		m.mu.Unlock()
		for _, r := range more {
			if !caught && next >= there {
				on.CaughtUp()
				caught = true
			}
			if ctx.Err() != nil {
				return nil
			}
			if next++; r.admission != nil {
				on.Admission(r.admission, r.sequence)
			} else {
				on.Execution(r.execution, r.sequence, r.stored)
			}
		}
		if !caught {
			on.CaughtUp()
			caught = true
		}
		select {
		case <-ctx.Done():
			return nil
		case <-news:
		}
	}
}

func (m *memory) Execution(_ context.Context, run string, number int) (*load.Execution, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.records[run] {
		if r.execution != nil && r.execution.Number == number {
			e := *r.execution
			return &e, nil
		}
	}
	return nil, messages.ErrNotFound
}
