package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// apiMetrics is what the HTTP API counts.
type apiMetrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	watchers prometheus.Gauge
	routes   *bounded
}

const maxRoutes = 200

func newAPIMetrics(r prometheus.Registerer) apiMetrics {
	return apiMetrics{
		requests: registered(r, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "braid_api_requests_total", Help: "Requests to the HTTP API, by the pattern of their route and the HTTP status.",
		}, []string{"route", "method", "code"})),
		duration: registered(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "braid_api_request_duration_seconds", Help: "Time from the header of a request to the API until its answer was written; streams of events are not in it.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"route"})),
		watchers: registered(r, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "braid_api_event_streams", Help: "Clients that follow a stream of events now.",
		})),
		routes: newBounded(maxRoutes),
	}
}

// Request counts one request to the API. The route is the pattern that it matched, empty when there was none; stream says that it was
// a stream of events, which takes as long as somebody listens.
func (p *Process) Request(route, method string, status int, took time.Duration, stream bool) {
	label := "none"
	if route != "" {
		label = p.api.routes.label(route)
	}
	method = oneOf(method, http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions)
	p.api.requests.WithLabelValues(label, method, statusClass(status)).Inc()
	if !stream {
		p.api.duration.WithLabelValues(label).Observe(took.Seconds())
	}
}

// Subscribed counts somebody who follows a stream of events until the function that it returns is called.
func (p *Process) Subscribed() (left func()) {
	p.api.watchers.Inc()
	return p.api.watchers.Dec
}
