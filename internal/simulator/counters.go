package simulator

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of what is remembered.
const (
	maxRememberedAnswers = 1 << 20 // requests whose repetition is noticed
	maxRepeatedURLs      = 100
	maxCountedURLs       = 1_000
	maxRememberedURL     = 10_000 // bytes of one URL
)

// Counters is what a Simulator saw since it started or was last reset. Control requests are never in it.
type Counters struct {
	Requests int64 `json:"requests"` // service requests that arrived, refused ones too
	WithKey  int64 `json:"with_key"` // of these, with an X-Api-Key header
	OK       int64 `json:"ok"`       // whole, faultless 200 answers (a slow body and an empty page are faultless)
	Refused  int64 `json:"refused"`  // 429 for want of quota
	// SentWhileBlocked counts the refusals whose request arrived after an earlier refusal of the same key had been
	// answered, with nothing admitted in between. It is an upper bound of what a client sent knowing better: a request
	// may have been on its way.
	SentWhileBlocked int64               `json:"sent_while_blocked"`
	TooLong          int64               `json:"too_long"`       // 414
	Denied           int64               `json:"denied"`         // 403 of the gateway: key missing or unknown
	OverInFlight     int64               `json:"over_in_flight"` // refused by MaxInFlight
	Gone             int64               `json:"gone"`           // clients that left before their answer was whole
	Faults           map[FaultKind]int64 `json:"faults"`
	ByStatus         map[int]int64       `json:"by_status"` // 0: the connection was reset; 499: the client left first

	// InFlight is the number of requests between being read and being answered. A request leaves it before the last
	// byte of its answer is sent, so a client that waits for an answer is never counted twice.
	InFlight               int `json:"in_flight"`
	MostInFlight           int `json:"most_in_flight"`
	MostInFlightAfterQuota int `json:"most_in_flight_after_quota"` // seen by requests arriving after the first refusal was answered

	// Repeated counts OK answers to a request (method, URL, body) that already had one.
	Repeated     int64    `json:"repeated"`
	RepeatedURLs []string `json:"repeated_urls"` // the first 100, each once

	Rows  int64 `json:"rows"`  // rows in OK answers
	Bytes int64 `json:"bytes"` // bytes of all bodies as sent

	// ByURL counts arrivals by method, path and query, of the first 1,000 different ones; LeftOff counts the arrivals of others.
	ByURL   map[string]int64 `json:"by_url"`
	LeftOff int64            `json:"by_url_left_off"`

	// ByService counts by the name of the fake service, "" for paths of none; ByPath by path without its query, of the
	// first 1,000 different ones.
	ByService map[string]ServiceCounters `json:"by_service"`
	ByPath    map[string]int64           `json:"by_path"`
}

// ServiceCounters are the Counters of one fake service.
type ServiceCounters struct {
	Requests       int64 `json:"requests"`
	WithCredential int64 `json:"with_credential"` // carried any credential, in any place
	OK             int64 `json:"ok"`
	Refused        int64 `json:"refused"`
	Rows           int64 `json:"rows"`
	InFlight       int   `json:"in_flight"`
	MostInFlight   int   `json:"most_in_flight"`
}

// Exchange is one service request in the log.
type Exchange struct {
	Time    time.Time `json:"time"`
	Method  string    `json:"method"`
	URL     string    `json:"url"` // path and query, cut at 10,000 bytes
	Service string    `json:"service,omitempty"`
	Host    string    `json:"host"`  // as the client named it
	Keyed   bool      `json:"keyed"` // with the credential that this path asks for
	// Credentials names every place in which the request carried one, for tests of leaks: "header X-Api-Key",
	// "header Authorization: bearer", "header Cookie", "query api_key". Their values are never kept.
	Credentials []string      `json:"credentials,omitempty"`
	Status      int           `json:"status"` // as in Counters.ByStatus
	Fault       FaultKind     `json:"fault,omitempty"`
	Attempt     int           `json:"attempt,omitempty"` // how often this URL was admitted, this time included
	Rows        int64         `json:"rows"`
	Duration    time.Duration `json:"duration_ns"`
}

// Statuses of the log for requests that got no answer.
const (
	statusReset      = 0
	statusClientGone = 499
)

// sight is the memory of one Simulator. Safe for concurrent use.
type sight struct {
	logSize int

	mu         sync.Mutex // guards all below
	counters   Counters
	afterQuota bool // a quota refusal has been answered
	answered   map[uint64]bool
	log        []Exchange // ring
	logNext    int        // where the next entry goes once the ring is full
}

func newSight(logSize int) *sight {
	s := &sight{logSize: logSize}
	s.reset()
	return s
}

// reset forgets everything but the requests that are in flight.
func (s *sight) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.counters.InFlight
	flying := map[string]int{}
	for name, c := range s.counters.ByService {
		flying[name] = c.InFlight
	}
	s.counters = Counters{
		InFlight: now, MostInFlight: now,
		Faults: map[FaultKind]int64{}, ByStatus: map[int]int64{}, ByURL: map[string]int64{},
		ByService: map[string]ServiceCounters{}, ByPath: map[string]int64{},
	}
	for name, n := range flying {
		s.counters.ByService[name] = ServiceCounters{InFlight: n, MostInFlight: n}
	}
	s.afterQuota = false
	s.answered = map[uint64]bool{}
	s.log, s.logNext = nil, 0
}

// arrive counts a request in and returns how many are in flight with it.
func (s *sight) arrive(e *Exchange) int {
	e.URL = e.URL[:min(len(e.URL), maxRememberedURL)]
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.counters
	c.Requests++
	if e.Keyed {
		c.WithKey++
	}
	c.InFlight++
	c.MostInFlight = max(c.MostInFlight, c.InFlight)
	if s.afterQuota {
		c.MostInFlightAfterQuota = max(c.MostInFlightAfterQuota, c.InFlight)
	}
	name := e.Method + " " + e.URL
	if _, known := c.ByURL[name]; known || len(c.ByURL) < maxCountedURLs {
		c.ByURL[name]++
	} else {
		c.LeftOff++
	}
	path, _, _ := strings.Cut(e.URL, "?")
	if _, known := c.ByPath[path]; known || len(c.ByPath) < maxCountedURLs {
		c.ByPath[path]++
	}
	own := c.ByService[e.Service]
	own.Requests++
	own.InFlight++
	own.MostInFlight = max(own.MostInFlight, own.InFlight)
	if len(e.Credentials) > 0 {
		own.WithCredential++
	}
	c.ByService[e.Service] = own
	return c.InFlight
}

// ending is how a request ended, in the words of the gateway.
type ending struct {
	gate     gate // the gate that refused it, if any
	insisted bool
	identity uint64 // of method, URL and body
	whole    bool   // the client has a whole answer
	bytes    int64
}

// gate names what refused a request before it reached the service.
type gate int

const (
	gateOpen gate = iota
	gateTooLong
	gateDenied
	gateInFlight
	gateQuota
)

// finish counts a request out.
func (s *sight) finish(e Exchange, end ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.counters
	c.InFlight--
	c.ByStatus[e.Status]++
	c.Bytes += end.bytes
	if e.Fault != "" {
		c.Faults[e.Fault]++
	}
	if e.Status == statusClientGone {
		c.Gone++
	}
	s.countGate(end)
	own := c.ByService[e.Service]
	own.InFlight--
	if end.gate == gateQuota {
		own.Refused++
	}
	if e.Status == 200 && end.whole && !e.Fault.spoils() {
		c.OK++
		c.Rows += e.Rows
		own.OK++
		own.Rows += e.Rows
		s.countRepeat(e, end.identity)
	}
	c.ByService[e.Service] = own
	s.remember(e)
}

func (s *sight) countGate(end ending) {
	c := &s.counters
	switch end.gate {
	case gateOpen:
	case gateTooLong:
		c.TooLong++
	case gateDenied:
		c.Denied++
	case gateInFlight:
		c.OverInFlight++
	case gateQuota:
		c.Refused++
		s.afterQuota = true
		if end.insisted {
			c.SentWhileBlocked++
		}
	}
}

func (s *sight) countRepeat(e Exchange, identity uint64) {
	if !s.answered[identity] {
		if len(s.answered) < maxRememberedAnswers {
			s.answered[identity] = true
		}
		return
	}
	c := &s.counters
	c.Repeated++
	if name := e.Method + " " + e.URL; len(c.RepeatedURLs) < maxRepeatedURLs && !slices.Contains(c.RepeatedURLs, name) {
		c.RepeatedURLs = append(c.RepeatedURLs, name)
	}
}

func (s *sight) remember(e Exchange) {
	if len(s.log) < s.logSize {
		s.log = append(s.log, e)
		return
	}
	s.log[s.logNext] = e
	s.logNext = (s.logNext + 1) % s.logSize
}

// snapshot is a copy of the counters.
func (s *sight) snapshot() Counters {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counters
	c.Faults = maps.Clone(c.Faults)
	c.ByStatus = maps.Clone(c.ByStatus)
	c.ByURL = maps.Clone(c.ByURL)
	c.ByService = maps.Clone(c.ByService)
	c.ByPath = maps.Clone(c.ByPath)
	c.RepeatedURLs = append([]string{}, c.RepeatedURLs...)
	return c
}

// latest is a copy of the log, oldest first, at most n entries.
func (s *sight) latest(n int) []Exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries := append([]Exchange{}, s.log[s.logNext:]...)
	entries = append(entries, s.log[:s.logNext]...)
	return entries[max(0, len(entries)-n):]
}
