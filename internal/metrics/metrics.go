package metrics

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Config of a Process. The zero value of each field is its default.
type Config struct {
	Version string
	// Spans tells how many spans of traces were sent, and how many dropped. Nil: nothing is traced.
	Spans func() (sent, dropped int64)
	Log   *slog.Logger
}

// Process is the metrics of one process, with whatever of a coordinator and of workers is in it. It is safe for concurrent use.
type Process struct {
	registry *prometheus.Registry
	handler  http.Handler
	services *bounded
	gates    *bounded

	worker      workerMetrics
	coordinator coordinatorMetrics
	api         apiMetrics
	system      *systemCollector
	connected   atomic.Pointer[func() bool]
}

const (
	maxInFlight   = 4 // scrapes at once
	scrapeTimeout = 10 * time.Second
)

// New makes the metrics of a process, all of them there from the beginning.
func New(cfg Config) *Process {
	if cfg.Version == "" {
		cfg.Version = "development"
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	p := &Process{registry: prometheus.NewRegistry(), services: newBounded(maxServices), gates: newBounded(maxServices)}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "braid_build_info", Help: "Always 1; the labels tell which build this is.",
	}, []string{"version", "goversion"})
	build.WithLabelValues(legible(cfg.Version), runtime.Version()).Set(1)
	p.registry.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	p.worker = newWorkerMetrics(p.registry)
	p.coordinator = newCoordinatorMetrics(p.registry)
	p.api = newAPIMetrics(p.registry)
	p.system = newSystemCollector(p, cfg.Log)
	p.registry.MustRegister(p.system, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "braid_nats_connected", Help: "1 while this process is connected to NATS, else 0.",
	}, p.isConnected))
	if cfg.Spans != nil {
		p.registry.MustRegister(
			prometheus.NewCounterFunc(prometheus.CounterOpts{
				Name: "braid_trace_spans_sent_total", Help: "Spans that the OpenTelemetry collector took.",
			}, func() float64 { sent, _ := cfg.Spans(); return float64(sent) }),
			prometheus.NewCounterFunc(prometheus.CounterOpts{
				Name: "braid_trace_spans_dropped_total", Help: "Spans that were dropped because the OpenTelemetry collector was away or too slow.",
			}, func() float64 { _, dropped := cfg.Spans(); return float64(dropped) }),
		)
	}
	p.handler = promhttp.HandlerFor(p.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: maxInFlight, Timeout: scrapeTimeout, ErrorHandling: promhttp.ContinueOnError,
		ErrorLog: scrapeLog{cfg.Log},
	})
	return p
}

// Handler answers GET with all metrics in Prometheus' text format.
func (p *Process) Handler() http.Handler { return p.handler }

// Gatherer gives the metrics to programs.
func (p *Process) Gatherer() prometheus.Gatherer { return p.registry }

// scrapeLog tells what went wrong while metrics were gathered.
type scrapeLog struct{ log *slog.Logger }

// Println is promhttp.Logger's.
func (l scrapeLog) Println(v ...any) {
	for _, one := range v {
		if err, ok := one.(error); ok {
			l.log.WarnContext(context.Background(), "metrics not gathered", "error", err)
		}
	}
}

// legible is a text that a label may hold.
func legible(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > maxLabel {
		text = strings.ToValidUTF8(text[:maxLabel], "")
	}
	return text
}
