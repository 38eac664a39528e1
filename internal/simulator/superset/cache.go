package superset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxEntries bounds the cache; beyond them the oldest goes.
const maxEntries = 200_000

// entry is a stored result.
type entry struct {
	key     string
	stored  time.Time
	queried time.Time
	expires time.Time // zero: never
	rows    *rowset
	bytes   int64
	applied []string // filter columns; nil: it was stored without
	dataset int64
	forced  bool
}

// Cached is an entry of the cache, as Cache lists it.
type Cached struct {
	Key     string     `json:"key"`
	Dataset int64      `json:"dataset"`
	Stored  time.Time  `json:"stored"`
	Expires *time.Time `json:"expires,omitempty"` // nil: never
	Rows    int        `json:"rows"`
	Bytes   int64      `json:"bytes"` // about
	Forced  bool       `json:"forced"`
}

// cache is the data cache. Safe for concurrent use.
type cache struct {
	mu      sync.Mutex // guards all below
	entries map[string]*entry
	order   []string // of first storing; what was removed stays in it until it comes to the front
}

func newCache() *cache { return &cache{entries: map[string]*entry{}} }

func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries, c.order = map[string]*entry{}, nil
}

// get finds what is stored and has not expired.
func (c *cache) get(mode CacheMode, key string, now time.Time) *entry {
	if mode == CacheNull || mode == CacheDown {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e != nil && !e.expires.IsZero() && !now.Before(e.expires) {
		return nil
	}
	return e
}

// put stores unless the backend does not; it never says.
func (c *cache) put(config *Config, e *entry) {
	if config.Cache == CacheNull || config.Cache == CacheDown || (config.Cache == CacheOversize && e.bytes > config.CacheValueBytes) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[e.key] == nil {
		c.order = append(c.order, e.key)
	}
	c.entries[e.key] = e
	for len(c.order) > maxEntries {
		delete(c.entries, c.order[0])
		c.order = c.order[1:]
	}
}

func (c *cache) remove(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e == nil {
		return false
	}
	delete(c.entries, key)
	c.order = slices.DeleteFunc(c.order, func(k string) bool { return k == key })
	return true
}

// Cache lists what is stored, expired entries included, by key.
func (s *Server) Cache() []Cached {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	list := make([]Cached, 0, len(s.cache.entries))
	for _, e := range s.cache.entries {
		c := Cached{Key: e.key, Dataset: e.dataset, Stored: e.stored, Rows: e.rows.count, Bytes: e.bytes, Forced: e.forced}
		if !e.expires.IsZero() {
			c.Expires = &e.expires
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Cached) int { return strings.Compare(a.Key, b.Key) })
	return list
}

// Forget removes an entry of the cache, and tells whether there was one.
func (s *Server) Forget(key string) bool { return s.cache.remove(key) }

// cacheKey digests what a result depends on: the dataset as it was last changed, the query object, and the clauses that apply to the caller. Who
// asks, from which chart or dashboard, and whether by force is not in it.
func cacheKey(set *Dataset, q *query, clauses []string, limit int) string {
	members := map[string]json.RawMessage{}
	for _, name := range []string{
		"columns", "groupby", "metrics", "filters", "extras", "orderby", "row_offset", "post_processing", "annotation_layers", "time_range",
		"granularity", "is_timeseries", "series_limit", "series_limit_metric", "series_columns", "time_offsets", "order_desc",
	} {
		if raw, ok := q.members[name]; ok {
			members[name] = json.RawMessage(compact(raw))
		}
	}
	text, err := json.Marshal(map[string]any{"datasource": set.ID, "changed_on": set.ChangedOn, "query": members, "rls": clauses, "row_limit": limit})
	if err != nil {
		panic(err) // what was JSON is JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// timeout is for how long a result is stored, in seconds: the nearest that says so.
func (s *state) timeout(c *chartRequest, set *Dataset) int64 {
	if c.Timeout != nil {
		return *c.Timeout
	}
	if chart := s.world.chart(c.slice); chart != nil && chart.CacheTimeout != nil {
		return *chart.CacheTimeout
	}
	if set.CacheTimeout != nil {
		return *set.CacheTimeout
	}
	return s.config.CacheTimeout
}
