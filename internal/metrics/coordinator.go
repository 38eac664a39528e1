package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/braidhq/braid/pkg/messages"
)

// coordinatorMetrics is what a coordinator counts itself.
type coordinatorMetrics struct {
	leader     prometheus.Gauge
	terms      prometheus.Counter
	submitted  *prometheus.CounterVec
	settled    *prometheus.CounterVec
	dispatched *prometheus.CounterVec
	trips      *prometheus.CounterVec
	lost       *prometheus.CounterVec
	stalls     *prometheus.CounterVec
}

func newCoordinatorMetrics(r prometheus.Registerer) coordinatorMetrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return registered(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
	}
	return coordinatorMetrics{
		leader:     registered(r, prometheus.NewGauge(prometheus.GaugeOpts{Name: "braid_leader", Help: "1 while this process leads, else 0."})),
		terms:      registered(r, prometheus.NewCounter(prometheus.CounterOpts{Name: "braid_leader_terms_total", Help: "Times that this process began to lead."})),
		submitted:  counter("braid_queries_submitted_total", "Queries that this process stored as new.", "service"),
		settled:    counter("braid_queries_settled_total", "Runs of queries that ended under this leader, by the state that the query got.", "service", "state"),
		dispatched: counter("braid_items_dispatched_total", "Items that this leader queued, those that it queued again counted again.", "service"),
		trips:      counter("braid_breaker_trips_total", "Runs that a breaker stopped because too many chunks failed.", "service"),
		lost:       counter("braid_results_lost_total", "Stored results that were found damaged or gone.", "service"),
		stalls:     counter("braid_queue_stalls_total", "Times that a query heard nothing for long of what was outstanding, and queued it again.", "service"),
	}
}

// Coordinator hears what the coordinator of this process does; it is coordinator.Observer.
type Coordinator struct{ p *Process }

// Coordinator gives the coordinator's side of the metrics.
func (p *Process) Coordinator() Coordinator { return Coordinator{p} }

// Leads tells whether this process leads from now on.
func (c Coordinator) Leads(leads bool) {
	if !leads {
		c.p.coordinator.leader.Set(0)
		return
	}
	c.p.coordinator.leader.Set(1)
	c.p.coordinator.terms.Inc()
}

// Submitted counts a query that is new.
func (c Coordinator) Submitted(service string) {
	c.p.coordinator.submitted.WithLabelValues(c.p.services.label(service)).Inc()
}

// Settled counts the end of a run; tripped says that a breaker ended it.
func (c Coordinator) Settled(service string, state messages.QueryState, tripped bool) {
	label := c.p.services.label(service)
	c.p.coordinator.settled.WithLabelValues(label, stateOf(state)).Inc()
	if tripped {
		c.p.coordinator.trips.WithLabelValues(label).Inc()
	}
}

// Dispatched counts items that were queued.
func (c Coordinator) Dispatched(service string, items int) {
	c.p.coordinator.dispatched.WithLabelValues(c.p.services.label(service)).Add(float64(items))
}

// Lost counts a result that was found damaged or gone.
func (c Coordinator) Lost(service string) {
	c.p.coordinator.lost.WithLabelValues(c.p.services.label(service)).Inc()
}

// Stalled counts that a query heard nothing for long.
func (c Coordinator) Stalled(service string) {
	c.p.coordinator.stalls.WithLabelValues(c.p.services.label(service)).Inc()
}

func stateOf(state messages.QueryState) string { return oneOf(string(state), states()...) }

func states() []string {
	return []string{
		string(messages.Running), string(messages.Stopping), string(messages.Interrupted), string(messages.Failed),
		string(messages.Cancelled), string(messages.Complete),
	}
}
