package lease

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a Store in this process's memory: the twin of a replicated one for tests and for work in one process. Its
// expiries rest on package time alone, so that they follow the clock of a synctest bubble.
type Memory struct {
	markerLife time.Duration

	mu    sync.Mutex // guards all below
	last  uint64
	keys  map[string]record
	feeds map[*feed]struct{}
}

type record struct {
	value    []byte
	revision uint64
}

// feed is one watch. Entries wait in pending without bound, so that a slow watcher delays nobody.
type feed struct {
	prefix  string
	pending []Entry
	news    chan struct{} // holds one
}

// NewMemory makes an empty store. A key that expired is forgotten with its revision after markerLife; 0 means an hour.
func NewMemory(markerLife time.Duration) *Memory {
	if markerLife == 0 {
		markerLife = time.Hour
	}
	return &Memory{markerLife: markerLife, keys: map[string]record{}, feeds: map[*feed]struct{}{}}
}

// Put is Store.Put. Every error it gives means that nothing was written.
func (m *Memory) Put(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if ttl < 0 || ttl%time.Second != 0 {
		return 0, fmt.Errorf("ttl is %v; use whole seconds, or 0 for none", ttl)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if stands := m.keys[key].revision; stands != revision {
		return 0, fmt.Errorf("%w: %d, not %d", ErrConflict, stands, revision)
	}
	written := m.write(key, slices.Clone(value))
	if ttl > 0 {
		time.AfterFunc(ttl, func() { m.expire(key, written) })
	}
	return written, nil
}

// Get is Store.Get.
func (m *Memory) Get(ctx context.Context, key string) (Entry, error) {
	if err := ctx.Err(); err != nil {
		return Entry{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.keys[key]
	return Entry{Key: key, Value: slices.Clone(r.value), Revision: r.revision}, nil
}

// Watch is Store.Watch.
func (m *Memory) Watch(ctx context.Context, prefix string) (<-chan Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f := &feed{prefix: prefix, news: make(chan struct{}, 1)}
	m.mu.Lock()
	for key, r := range m.keys {
		f.tell(Entry{Key: key, Value: slices.Clone(r.value), Revision: r.revision})
	}
	m.feeds[f] = struct{}{}
	m.mu.Unlock()

	entries := make(chan Entry)
	go func() { // the receiver sees its end as the end of entries
		defer close(entries)
		m.serve(ctx, f, entries)
	}()
	return entries, nil
}

func (m *Memory) serve(ctx context.Context, f *feed, entries chan<- Entry) {
	defer func() {
		m.mu.Lock()
		delete(m.feeds, f)
		m.mu.Unlock()
	}()
	for {
		m.mu.Lock()
		pending := f.pending
		f.pending = nil
		m.mu.Unlock()
		for _, e := range pending {
			select {
			case entries <- e:
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-f.news:
		case <-ctx.Done():
			return
		}
	}
}

// expire writes the marker, unless the key was written since.
func (m *Memory) expire(key string, revision uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keys[key].revision != revision {
		return
	}
	marker := m.write(key, nil)
	time.AfterFunc(m.markerLife, func() { m.forget(key, marker) })
}

func (m *Memory) forget(key string, marker uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keys[key].revision == marker {
		delete(m.keys, key)
	}
}

// write changes a key and tells the feeds. The caller holds mu.
func (m *Memory) write(key string, value []byte) uint64 {
	m.last++
	m.keys[key] = record{value: value, revision: m.last}
	for f := range m.feeds {
		f.tell(Entry{Key: key, Value: slices.Clone(value), Revision: m.last})
	}
	return m.last
}

// tell adds to what the feed has to send. The caller holds Memory.mu.
func (f *feed) tell(e Entry) {
	if !strings.HasPrefix(e.Key, f.prefix) {
		return
	}
	f.pending = append(f.pending, e)
	select {
	case f.news <- struct{}{}:
	default: // it knows of news already
	}
}
