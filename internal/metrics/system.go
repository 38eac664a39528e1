package metrics

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/braidhq/braid/pkg/messages"
)

// System is what the store tells of the whole system at one moment.
type System struct {
	Now     time.Time // by the clock of the gates
	Queries []*messages.Query
	Queues  []Queue
	Gates   []*messages.Gate
	Pools   []messages.QuotaStanding
	Workers int
	Stores  []Store
}

// Queue is the items of a service that are not done.
type Queue struct {
	Service string
	Slots   int    // requests in flight at most
	Pending uint64 // waiting for a worker
	InHand  uint64 // with workers, not acknowledged
}

// Store is how full a stream is.
type Store struct {
	Stream   string
	Bytes    uint64
	Limit    int64 // in bytes; 0 or less: none of its own
	Messages uint64
}

const (
	lookWithin = 3 * time.Second
	lookAgain  = 2 * time.Second // an answer stands so long, however many scrape
)

// Watch adds what the store tells of the whole system. look is asked for each scrape, at most every 2 s. What cannot be learnt is left
// out of the answer, and braid_store_scrape_success is 0. Of several calls the last one counts.
func (p *Process) Watch(look func(context.Context) (*System, error)) { p.system.watch(look) }

// Connected adds whether there is a connection to NATS. Of several calls the last one counts.
func (p *Process) Connected(connected func() bool) { p.connected.Store(&connected) }

func (p *Process) isConnected() float64 {
	if connected := p.connected.Load(); connected != nil && (*connected)() {
		return 1
	}
	return 0
}

// systemCollector asks the store when metrics are gathered.
type systemCollector struct {
	process *Process
	log     *slog.Logger
	pools   *bounded
	streams *bounded

	success, queries, stopped, pending, inHand, slots, closed, until, left, limit, workers, bytes, most, messages *prometheus.Desc

	turn sync.Mutex                             // guards all below
	look func(context.Context) (*System, error) // nil: nobody tells
	last *System
	at   time.Time
}

func newSystemCollector(p *Process, log *slog.Logger) *systemCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &systemCollector{
		process: p, log: log, pools: newBounded(maxServices), streams: newBounded(16),
		success:  desc("braid_store_scrape_success", "1 when the store answered what was asked for these metrics, else 0: then what it tells of the whole system is missing."),
		queries:  desc("braid_queries", "Queries that are kept, by state.", "state"),
		stopped:  desc("braid_breaker_stopped_queries", "Queries that a breaker has stopped and that were not resumed since.", "service"),
		pending:  desc("braid_queue_pending_items", "Items of the service that wait for a worker.", "service"),
		inHand:   desc("braid_queue_unacked_items", "Items of the service in workers' hands.", "service"),
		slots:    desc("braid_slots_limit", "Requests that may be in flight at the service, over all workers.", "service"),
		closed:   desc("braid_gate_closed", "1 while the gate of the service is closed because a quota was refused, else 0.", "service"),
		until:    desc("braid_gate_until_timestamp_seconds", "Until when the gate of the service is, or was, closed.", "service"),
		left:     desc("braid_quota_units_left", "Units of a quota pool that are left; of several owners of the pool, those of the one with the smallest part left; missing where its limit is not known.", "pool"),
		limit:    desc("braid_quota_units_limit", "Units of a quota pool in a window, of the owner that braid_quota_units_left tells of; missing where it is not known.", "pool"),
		workers:  desc("braid_workers_present", "Workers that have said within the last seconds that they are there."),
		bytes:    desc("braid_store_bytes", "Bytes that a stream holds.", "stream"),
		most:     desc("braid_store_limit_bytes", "Bytes that a stream may hold; missing where it has no bound of its own.", "stream"),
		messages: desc("braid_store_messages", "Messages that a stream holds.", "stream"),
	}
}

// Describe names all metrics.
func (c *systemCollector) Describe(on chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.success, c.queries, c.stopped, c.pending, c.inHand, c.slots, c.closed, c.until, c.left, c.limit, c.workers, c.bytes, c.most, c.messages,
	} {
		on <- d
	}
}

// Collect tells what the store says.
func (c *systemCollector) Collect(on chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		on <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	s, told := c.current()
	if !told {
		return
	}
	if s == nil {
		gauge(c.success, 0)
		return
	}
	gauge(c.success, 1)
	gauge(c.workers, float64(s.Workers))
	c.tellQueries(s, gauge)
	c.tellQueues(s, gauge)
	c.tellGates(s, gauge)
	c.tellPools(s, gauge)
	stores := map[string]Store{}
	for _, store := range s.Stores {
		label := c.streams.label(store.Stream)
		have := stores[label]
		stores[label] = Store{Bytes: have.Bytes + store.Bytes, Limit: have.Limit + max(0, store.Limit), Messages: have.Messages + store.Messages}
	}
	for label, store := range stores {
		gauge(c.bytes, float64(store.Bytes), label)
		gauge(c.messages, float64(store.Messages), label)
		if store.Limit > 0 {
			gauge(c.most, float64(store.Limit), label)
		}
	}
}

func (c *systemCollector) watch(look func(context.Context) (*System, error)) {
	c.turn.Lock()
	defer c.turn.Unlock()
	c.look, c.at = look, time.Time{}
}

// current gives what the store says now, or said a moment ago; nil when it does not say. told: this process asks it.
func (c *systemCollector) current() (s *System, told bool) {
	c.turn.Lock()
	defer c.turn.Unlock()
	if c.look == nil {
		return nil, false
	}
	if time.Since(c.at) < lookAgain {
		return c.last, true
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookWithin)
	defer cancel()
	s, err := c.look(ctx)
	if err != nil {
		c.log.Debug("the store does not tell what metrics need", "error", err)
		s = nil
	}
	c.last, c.at = s, time.Now()
	return s, true
}

type gaugeFunc func(d *prometheus.Desc, value float64, labels ...string)

func (c *systemCollector) tellQueries(s *System, gauge gaugeFunc) {
	byState, stopped := map[string]int{}, map[string]int{}
	for _, state := range states() {
		byState[state] = 0
	}
	for _, q := range s.Queries {
		byState[stateOf(q.State)]++
		label := c.process.services.label(q.Service)
		stopped[label] += 0
		if q.State == messages.Interrupted && q.Stop != nil && q.Stop.Kind == messages.StopBreaker {
			stopped[label]++
		}
	}
	for state, n := range byState {
		gauge(c.queries, float64(n), state)
	}
	for label, n := range stopped {
		gauge(c.stopped, float64(n), label)
	}
}

func (c *systemCollector) tellQueues(s *System, gauge gaugeFunc) {
	sums := map[string]Queue{}
	for _, q := range s.Queues {
		label := c.process.services.label(q.Service)
		have := sums[label]
		sums[label] = Queue{Slots: have.Slots + q.Slots, Pending: have.Pending + q.Pending, InHand: have.InHand + q.InHand}
	}
	for label, q := range sums {
		gauge(c.pending, float64(q.Pending), label)
		gauge(c.inHand, float64(q.InHand), label)
		gauge(c.slots, float64(q.Slots), label)
	}
}

// tellGates tells of a service that has several addresses, each with its gate, the one that is closed longest.
func (c *systemCollector) tellGates(s *System, gauge gaugeFunc) {
	until := map[string]time.Time{}
	for _, g := range s.Gates {
		label := c.process.services.label(serviceOf(g.Service))
		if g.Until.After(until[label]) {
			until[label] = g.Until
		}
	}
	for label, t := range until {
		closed := 0.0
		if s.Now.Before(t) {
			closed = 1
		}
		gauge(c.closed, closed, label)
		gauge(c.until, float64(t.UnixMilli())/1000, label)
	}
}

// serviceOf is the service of a gate, whose name has the digest of its address behind it.
func serviceOf(gate string) string {
	at := strings.LastIndexByte(gate, '-')
	if at > 0 && len(gate)-at == 9 && strings.Trim(gate[at+1:], "0123456789abcdef") == "" {
		return gate[:at]
	}
	return gate
}

func (c *systemCollector) tellPools(s *System, gauge gaugeFunc) {
	scarcest := map[string]messages.QuotaStanding{}
	for _, pool := range s.Pools {
		label := c.pools.label(pool.Pool)
		have, known := scarcest[label]
		if !known || part(pool) < part(have) {
			scarcest[label] = pool
		}
	}
	for label, pool := range scarcest {
		if pool.Left != nil {
			gauge(c.left, float64(*pool.Left), label)
		}
		if pool.Limit > 0 {
			gauge(c.limit, float64(pool.Limit), label)
		}
	}
}

func part(pool messages.QuotaStanding) float64 {
	if pool.Limit <= 0 || pool.Left == nil {
		return 2 // any whose limit is known goes before
	}
	return float64(*pool.Left) / float64(pool.Limit)
}
