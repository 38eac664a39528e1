package braid

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/httpapi"
	"github.com/braidhq/braid/internal/metrics"
	"github.com/braidhq/braid/internal/tracing"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/quota"
)

// TelemetryConfig configures OpenTelemetry. The zero value of each field is its default.
type TelemetryConfig struct {
	Name     string // of this program in traces, such as braid-worker; braid
	Instance string // of this process in traces; default: host and random letters
	Version  string
	// Endpoint is the base URL of an OpenTelemetry collector that takes OTLP over HTTP, such as http://127.0.0.1:4318; empty: nothing is
	// traced. It need not be there: what it does not take is dropped, and counted.
	Endpoint string
	Ratio    float64 // of the traces that begin in this process, how many are kept; the others are as their parent says
	Log      *slog.Logger
}

// Telemetry is what a process tells of itself, in metrics and traces. All that runs in the process shares one. A nil *Telemetry tells
// nothing.
type Telemetry struct {
	metrics *metrics.Process
	tracer  *tracing.Tracer
	log     *slog.Logger
}

// OpenTelemetry makes metrics, and traces where there is an endpoint. Close it after use.
func OpenTelemetry(ctx context.Context, cfg TelemetryConfig) (*Telemetry, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Name == "" {
		cfg.Name = "braid"
	}
	if cfg.Instance == "" {
		cfg.Instance = processID()
	}
	told := &seldom{every: time.Minute}
	tracer, err := tracing.New(ctx, tracing.Config{
		Endpoint: cfg.Endpoint, Ratio: cfg.Ratio, Service: cfg.Name, Version: cfg.Version, Instance: cfg.Instance,
		OnError: func(err error) {
			if told.now() {
				cfg.Log.Warn("spans not sent to the OpenTelemetry collector; they are dropped", "error", err)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	t := &Telemetry{tracer: tracer, log: cfg.Log}
	observing := metrics.Config{Version: cfg.Version, Log: cfg.Log}
	if tracer != nil {
		observing.Spans = tracer.Spans
	}
	t.metrics = metrics.New(observing)
	return t, nil
}

// Metrics answers with the metrics in Prometheus' text format; nil when there are none.
func (t *Telemetry) Metrics() http.Handler {
	if t == nil {
		return nil
	}
	return t.metrics.Handler()
}

// Subscribed counts somebody who follows a stream of events of the API, until the function that it returns is called.
func (t *Telemetry) Subscribed() (left func()) {
	if t == nil {
		return func() {}
	}
	return t.metrics.Subscribed()
}

// Close sends what is left of traces, as far as the collector takes it within some seconds.
func (t *Telemetry) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.tracer.Close(ctx)
}

func (t *Telemetry) onWorker(p *worker.Ports) {
	if t != nil {
		p.Observer, p.Tracer = t.metrics.Worker(), t.tracer
	}
}

func (t *Telemetry) onCoordinator(p *coordinator.Ports) {
	if t != nil {
		p.Observer, p.Tracer = t.metrics.Coordinator(), t.tracer
	}
}

// request is the hook of requests that are sent upstream; nil when nothing is traced.
func (t *Telemetry) request() func(ctx context.Context, method, url string) (context.Context, func(int, error)) {
	if t == nil || t.tracer == nil {
		return nil
	}
	return t.tracer.Request
}

// connected tells of the connection of a process.
func (t *Telemetry) connected(b *bus.Bus) {
	if t != nil {
		t.metrics.Connected(b.Connected)
	}
}

// watch tells of the whole system, as a coordinator sees it.
func (t *Telemetry) watch(b *bus.Bus) {
	if t == nil {
		return
	}
	t.connected(b)
	t.metrics.Watch(func(ctx context.Context) (*metrics.System, error) {
		o, err := b.Overview(ctx)
		if err != nil {
			return nil, err
		}
		s := &metrics.System{Now: b.Now(), Queries: o.Queries, Gates: o.Gates, Workers: o.Workers}
		for _, q := range o.Queues {
			s.Queues = append(s.Queues, metrics.Queue(q))
		}
		for _, ledger := range o.Quotas {
			s.Pools = append(s.Pools, quota.Standing(ledger, s.Now))
		}
		for _, u := range o.Streams {
			s.Stores = append(s.Stores, metrics.Store{Stream: u.Name, Bytes: u.Bytes, Limit: u.Limit, Messages: u.Messages})
		}
		return s, nil
	})
}

// observe is the hook of requests to the API.
func (t *Telemetry) observe() httpapi.Observe {
	if t == nil {
		return nil
	}
	return func(ctx context.Context, r *http.Request, known func() bool) (context.Context, string, func(httpapi.Served)) {
		begun := time.Now()
		end := func(string, int) {}
		if !polled(r.URL.Path) { // a probe every few seconds tells nothing that metrics do not
			traceparent := r.Header.Get("Traceparent")
			ctx, end = t.tracer.Serve(ctx, r.Method, r.URL.Path, traceparent, traceparent != "" && known())
		}
		return ctx, messages.TraceID(t.tracer.Parent(ctx)), func(s httpapi.Served) {
			end(s.Route, s.Status)
			t.metrics.Request(s.Route, r.Method, s.Status, time.Since(begun), s.Stream)
		}
	}
}

func polled(path string) bool { return path == "/healthz" || path == "/readyz" || path == "/metrics" }

var (
	_ worker.Observer      = metrics.Worker{}
	_ worker.Tracer        = (*tracing.Tracer)(nil)
	_ coordinator.Observer = metrics.Coordinator{}
	_ coordinator.Tracer   = (*tracing.Tracer)(nil)
)
