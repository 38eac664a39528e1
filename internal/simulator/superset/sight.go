package superset

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// ChartData is the name of the route POST /api/v1/chart/data.
const ChartData = "chart_data"

// Request is the record of one request. Times are by the server's monotonic clock, since its start.
type Request struct {
	Ordinal      int    `json:"ordinal"`       // from 1, over all routes
	RouteOrdinal int    `json:"route_ordinal"` // from 1, of the route
	Route        string `json:"route"`
	Identity     string `json:"identity,omitempty"` // user name; guest:NAME of a guest
	Role         string `json:"role,omitempty"`     // the identity's first
	Chart        int64  `json:"chart,omitempty"`
	Dashboard    int64  `json:"dashboard,omitempty"`
	PayloadHash  string `json:"payload_hash,omitempty"` // SHA-256 of the body as sent
	Force        bool   `json:"force,omitempty"`
	// Attempt counts the requests of one identity with one payload, from 1.
	Attempt       int           `json:"attempt"`
	InFlight      int           `json:"in_flight"`       // at arrival, this one included
	InFlightRoute int           `json:"in_flight_route"` // likewise, of the route
	Arrived       time.Duration `json:"arrived"`
	// Left is when the last piece of the answer was about to be written: whoever has read it all finds the request no longer in flight.
	Left      time.Duration `json:"left"` // 0: not yet
	Status    int           `json:"status"`
	Bytes     int64         `json:"bytes"` // of the body as written
	Fault     Action        `json:"fault,omitempty"`
	Abandoned bool          `json:"abandoned,omitempty"` // the client went away
	Queries   []Truth       `json:"queries,omitempty"`
}

// Truth is what really happened to a query object, whatever the answer says.
type Truth struct {
	Key   string `json:"key"`
	State string `json:"state"` // hit, miss, bypassed or disabled
}

// RouteStats counts one route.
type RouteStats struct {
	Requests    int `json:"requests"`
	InFlight    int `json:"in_flight"`
	MaxInFlight int `json:"max_in_flight"`
}

// Mark is a moment with a name. Requests are those that arrived since.
type Mark struct {
	Name     string         `json:"name"`
	Ordinal  int            `json:"ordinal"` // requests before it
	Requests int            `json:"requests"`
	Routes   map[string]int `json:"routes"`
}

// Stats is what the server saw since its start or Reset. The counters are exact; the log is the latest requests alone.
type Stats struct {
	Requests     int                   `json:"requests"`
	InFlight     int                   `json:"in_flight"`
	MaxInFlight  int                   `json:"max_in_flight"` // over all routes
	Routes       map[string]RouteStats `json:"routes"`
	Statuses     map[int]int           `json:"statuses"`   // of requests that ended
	Logins       map[string]int        `json:"logins"`     // that succeeded, by identity
	Refreshes    map[string]int        `json:"refreshes"`  // likewise
	GuestTokens  map[string]int        `json:"guests"`     // likewise, by who ordered
	Identities   map[string]int        `json:"identities"` // requests of chart/data
	ForcedWrites int                   `json:"forced_writes"`
	Executed     int                   `json:"executed"` // queries that reached the database
	MaxDatabase  int                   `json:"max_database"`
	Marks        []Mark                `json:"marks"`
	Log          []*Request            `json:"log,omitempty"` // in order of arrival
}

// Since gives the mark of a name; its zero value where there is none.
func (s *Stats) Since(mark string) Mark {
	for _, m := range s.Marks {
		if m.Name == mark {
			return m
		}
	}
	return Mark{}
}

// Bounds of what is remembered.
const (
	maxMarks    = 1000
	maxPayloads = 1 << 20
)

// sight is what a server has seen. Safe for concurrent use.
type sight struct {
	size int

	mu       sync.Mutex // guards all below
	stats    Stats
	log      []*Request // a ring once it is full
	next     int
	attempts map[string]int
}

func newSight(size int) *sight {
	s := &sight{size: size}
	s.reset()
	return s
}

// reset keeps what is in flight: those requests leave later.
func (s *sight) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.stats
	s.stats = Stats{
		InFlight: old.InFlight, MaxInFlight: old.InFlight, Routes: map[string]RouteStats{}, Statuses: map[int]int{}, Logins: map[string]int{},
		Refreshes: map[string]int{}, GuestTokens: map[string]int{}, Identities: map[string]int{},
	}
	for name, route := range old.Routes {
		if route.InFlight > 0 {
			s.stats.Routes[name] = RouteStats{InFlight: route.InFlight, MaxInFlight: route.InFlight}
		}
	}
	s.log, s.next, s.attempts = nil, 0, map[string]int{}
}

// arrived enters a request and fills in its place among the others.
func (s *sight) arrived(r *Request, now func() time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Arrived = now() // under the lock, so that the log is in this order
	s.stats.Requests++
	s.stats.InFlight++
	s.stats.MaxInFlight = max(s.stats.MaxInFlight, s.stats.InFlight)
	route := s.stats.Routes[r.Route]
	route.Requests++
	route.InFlight++
	route.MaxInFlight = max(route.MaxInFlight, route.InFlight)
	s.stats.Routes[r.Route] = route
	for i := range s.stats.Marks {
		s.stats.Marks[i].Requests++
		s.stats.Marks[i].Routes[r.Route]++
	}
	r.Ordinal, r.RouteOrdinal, r.InFlight, r.InFlightRoute = s.stats.Requests, route.Requests, s.stats.InFlight, route.InFlight
	if len(s.log) < s.size {
		s.log = append(s.log, r)
		return
	}
	s.log[s.next] = r
	s.next = (s.next + 1) % s.size
}

// known completes the record with what was found of the request after it had arrived.
func (s *sight) known(r *Request, change func(r *Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(r)
	if r.Route == ChartData {
		s.stats.Identities[r.Identity]++
	}
	key := r.Identity + "\x00" + r.Route + "\x00" + r.PayloadHash
	if r.Attempt = s.attempts[key] + 1; r.Attempt > 1 || len(s.attempts) < maxPayloads {
		s.attempts[key] = r.Attempt
	}
}

func (s *sight) left(r *Request, now func() time.Duration, change func(r *Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(r)
	r.Left = now()
	s.stats.InFlight--
	s.stats.Statuses[r.Status]++
	route := s.stats.Routes[r.Route]
	route.InFlight--
	s.stats.Routes[r.Route] = route
}

// note changes counters or the record of a request.
func (s *sight) note(change func(s *Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.stats)
}

// snapshot is a copy; with the log if last is above 0.
func (s *sight) snapshot(last int) *Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.stats
	c.Routes, c.Statuses, c.Logins = maps.Clone(c.Routes), maps.Clone(c.Statuses), maps.Clone(c.Logins)
	c.Refreshes, c.GuestTokens, c.Identities = maps.Clone(c.Refreshes), maps.Clone(c.GuestTokens), maps.Clone(c.Identities)
	c.Marks = slices.Clone(c.Marks)
	for i := range c.Marks {
		c.Marks[i].Routes = maps.Clone(c.Marks[i].Routes)
	}
	skip := max(0, len(s.log)-last)
	for i := skip; i < len(s.log); i++ {
		r := *s.log[(s.next+i)%len(s.log)]
		r.Queries = slices.Clone(r.Queries)
		c.Log = append(c.Log, &r)
	}
	return &c
}

// route gives the counters of one route.
func (s *sight) route(name string) RouteStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats.Routes[name]
}

func (s *sight) mark(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Marks = slices.DeleteFunc(s.stats.Marks, func(m Mark) bool { return m.Name == name })
	if len(s.stats.Marks) >= maxMarks {
		s.stats.Marks = s.stats.Marks[1:]
	}
	s.stats.Marks = append(s.stats.Marks, Mark{Name: name, Ordinal: s.stats.Requests, Routes: map[string]int{}})
}

// Stats is a copy of what the server saw, its whole log included.
func (s *Server) Stats() *Stats { return s.statsWith(maxLogSize) }

func (s *Server) statsWith(last int) *Stats {
	stats := s.seen.snapshot(last)
	stats.Executed, stats.MaxDatabase = s.database.counts()
	return stats
}

// Counters is Stats without the log.
func (s *Server) Counters() *Stats { return s.statsWith(0) }

// Mark names this moment: Stats counts what arrives after it. The same name again moves it.
func (s *Server) Mark(name string) { s.seen.mark(name) }
