package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// workerMetrics is what workers count.
type workerMetrics struct {
	concurrency   prometheus.Gauge
	running       prometheus.Gauge
	taken         *prometheus.CounterVec
	redelivered   *prometheus.CounterVec
	ended         *prometheus.CounterVec
	chunks        *prometheus.CounterVec
	failures      *prometheus.CounterVec
	rows          *prometheus.CounterVec
	pages         *prometheus.CounterVec
	requests      *prometheus.CounterVec
	duration      *prometheus.HistogramVec
	bytes         *prometheus.CounterVec
	slotWait      *prometheus.HistogramVec
	slots         *prometheus.GaugeVec
	interruptions *prometheus.CounterVec
	refusals      *prometheus.CounterVec
}

func newWorkerMetrics(r prometheus.Registerer) workerMetrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return registered(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return registered(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels))
	}
	gauge := func(name, help string) prometheus.Gauge {
		return registered(r, prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help}))
	}
	return workerMetrics{
		concurrency: gauge("braid_worker_concurrency", "Most items that the workers of this process run at once."),
		running:     gauge("braid_worker_running_items", "Items in the hands of the workers of this process."),
		taken:       counter("braid_items_taken_total", "Items that workers took from the queue.", "service"),
		redelivered: counter("braid_items_redelivered_total", "Items taken that had been in some worker's hands before.", "service"),
		ended: counter("braid_items_ended_total",
			"Items that a worker brought to an end: done, interrupted, dropped (nobody asks for it any more), handed_back (to the queue, at a stop) or left (for another try).",
			"service", "ending"),
		chunks:   counter("braid_chunks_total", "Results that were stored, by outcome: rows, empty, split or failed.", "service", "outcome"),
		failures: counter("braid_chunk_failures_total", "Failures that were stored as results, by class.", "service", "class"),
		rows:     counter("braid_rows_total", "Rows of the results that were stored.", "service"),
		pages:    counter("braid_pages_total", "Pages of the results that were stored.", "service"),
		requests: counter("braid_upstream_requests_total",
			"Requests sent to services, by what the answer means (class) and its HTTP status (code; none: there was no answer).", "service", "class", "code"),
		duration: histogram("braid_upstream_request_duration_seconds", "Time from sending a request until its answer was read.",
			[]float64{.025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}, "service"),
		bytes: counter("braid_upstream_response_bytes_total", "Decoded bytes of the pages that services sent.", "service"),
		slotWait: histogram("braid_slot_wait_seconds", "Time that an item waited for a slot of its service.",
			[]float64{.001, .005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}, "service"),
		slots:         registered(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "braid_slots_in_use", Help: "Slots of the service that workers of this process hold."}, []string{"service"})),
		interruptions: counter("braid_interruptions_total", "Items that ended with an interruption, by kind.", "service", "kind"),
		refusals:      counter("braid_gate_closings_total", "Times that a worker closed a service's gate because a quota was refused.", "service"),
	}
}

func registered[C prometheus.Collector](r prometheus.Registerer, c C) C {
	r.MustRegister(c)
	return c
}

// Worker hears what workers of this process do; it is worker.Observer.
type Worker struct{ p *Process }

// Worker gives the workers' side of the metrics.
func (p *Process) Worker() Worker { return Worker{p} }

// Begun counts a worker that runs so many items at most; the function that it returns takes it out again.
func (w Worker) Begun(concurrency int) (ended func()) {
	w.p.worker.concurrency.Add(float64(concurrency))
	return func() { w.p.worker.concurrency.Sub(float64(concurrency)) }
}

// ItemTaken counts an item that is in hand from now on.
func (w Worker) ItemTaken(name string, redelivered bool) {
	label := w.p.services.label(name)
	w.p.worker.running.Inc()
	w.p.worker.taken.WithLabelValues(label).Inc()
	if redelivered {
		w.p.worker.redelivered.WithLabelValues(label).Inc()
	}
}

// ItemEnded counts an item that is not in hand any more.
func (w Worker) ItemEnded(name, ending string) {
	w.p.worker.running.Dec()
	ending = oneOf(ending, "done", "interrupted", "dropped", "handed_back", "left")
	w.p.worker.ended.WithLabelValues(w.p.services.label(name), ending).Inc()
}

// Stored counts a result.
func (w Worker) Stored(name string, h *messages.ResultHeader) {
	m, label := &w.p.worker, w.p.services.label(name)
	outcome := oneOf(string(h.Outcome), string(messages.OutcomeRows), string(messages.OutcomeEmpty), string(messages.OutcomeSplit), string(messages.OutcomeFailed))
	m.chunks.WithLabelValues(label, outcome).Inc()
	m.rows.WithLabelValues(label).Add(float64(max(0, h.Rows)))
	m.pages.WithLabelValues(label).Add(float64(max(0, h.Pages)))
	if h.Failure != nil {
		m.failures.WithLabelValues(label, classOf(h.Failure.Class)).Inc()
	}
}

// Requested counts a call of a service that sent so many requests; all but the last one were redirected.
func (w Worker) Requested(name string, e *messages.Execution, requests int) {
	m, label := &w.p.worker, w.p.services.label(name)
	if requests <= 0 {
		return
	}
	if requests > 1 {
		m.requests.WithLabelValues(label, "redirect", "3xx").Add(float64(requests - 1))
	}
	m.requests.WithLabelValues(label, classOf(e.Class), statusClass(e.Status)).Inc()
	m.duration.WithLabelValues(label).Observe(e.Upstream.Seconds())
	m.bytes.WithLabelValues(label).Add(float64(max(0, e.Bytes)))
}

// SlotTaken counts a slot that an item has waited for.
func (w Worker) SlotTaken(name string, wait time.Duration) {
	label := w.p.services.label(name)
	w.p.worker.slots.WithLabelValues(label).Inc()
	w.p.worker.slotWait.WithLabelValues(label).Observe(wait.Seconds())
}

// SlotLeft counts a slot that is given back, or lost.
func (w Worker) SlotLeft(name string) {
	w.p.worker.slots.WithLabelValues(w.p.services.label(name)).Dec()
}

// GateClosed counts a refusal for quota.
func (w Worker) GateClosed(name string) {
	w.p.worker.refusals.WithLabelValues(w.p.services.label(name)).Inc()
}

// Interrupted counts an item that ended with an interruption.
func (w Worker) Interrupted(name string, kind messages.InterruptionKind) {
	known := oneOf(string(kind), string(messages.QuotaExhausted), string(messages.ServiceInterrupted), string(messages.StoreFull),
		string(messages.HandedBack), string(messages.AllowanceSpent))
	w.p.worker.interruptions.WithLabelValues(w.p.services.label(name), known).Inc()
}

// classOf is a class that is known: those of answers, and those that a worker gives itself.
func classOf(class string) string {
	return oneOf(class,
		string(service.ClassOK), string(service.ClassNoData), string(service.ClassQuota), string(service.ClassTransient), string(service.ClassTooLarge),
		string(service.ClassCursorGone), string(service.ClassBadRequest), string(service.ClassAuth), string(service.ClassBadLink), string(service.ClassBadPage),
		messages.ClassPoison, messages.ClassSplit, "stopped", "lost")
}
