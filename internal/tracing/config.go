package tracing

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Config of a Tracer.
type Config struct {
	Endpoint string            // base URL of a collector, such as http://127.0.0.1:4318; empty: nothing is traced
	Headers  map[string]string // sent to the collector, such as a token
	Ratio    float64           // of the traces that begin here, how many are kept; those that come from somebody known are as their parent says
	Service  string            // service.name
	Version  string            // service.version
	Instance string            // service.instance.id
	// OnError hears of what the collector refused or did not take. It is called by many at a time.
	OnError func(error)
}

const (
	queueSize     = 4096 // spans that wait to be sent
	batchSize     = 512
	exportTimeout = 10 * time.Second
	batchEvery    = 2 * time.Second
	maxSpanText   = 1 << 10 // of one attribute
	closeWithin   = 5 * time.Second
)

// ErrConfig is wrapped by what is wrong with a Config.
var ErrConfig = errors.New("tracing")

func (c Config) check() (*url.URL, error) {
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%w: the endpoint is no URL of a collector; write it as http://host:4318", ErrConfig)
	}
	if u.User != nil || u.RawQuery != "" {
		return nil, fmt.Errorf("%w: the endpoint has a name, a password or a query in it; use OTEL_EXPORTER_OTLP_HEADERS for what authenticates", ErrConfig)
	}
	if c.Ratio < 0 || c.Ratio > 1 || c.Ratio != c.Ratio {
		return nil, fmt.Errorf("%w: the ratio is %v; use 0 to 1", ErrConfig, c.Ratio)
	}
	return u, nil
}

// Tracer makes spans. A nil *Tracer makes none. It is safe for concurrent use.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	sink     *counted
}

// New makes a tracer; nil when there is no endpoint. The collector need not be there. Errors wrap ErrConfig.
func New(ctx context.Context, cfg Config) (*Tracer, error) {
	if cfg.Endpoint == "" {
		return nil, nil //nolint:nilnil // a nil tracer traces nothing
	}
	u, err := cfg.check()
	if err != nil {
		return nil, err
	}
	path := strings.TrimSuffix(u.Path, "/") + "/v1/traces"
	opts := []otlptracehttp.Option{
		otlptracehttp.WithEndpoint(u.Host), otlptracehttp.WithURLPath(path), otlptracehttp.WithTimeout(exportTimeout),
		otlptracehttp.WithHeaders(cfg.Headers), otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true, InitialInterval: time.Second, MaxInterval: 5 * time.Second, MaxElapsedTime: exportTimeout}),
	}
	if u.Scheme == "http" {
		opts = append(opts, otlptracehttp.WithInsecure())
	}
	exporter, err := otlptrace.New(ctx, otlptracehttp.NewClient(opts...))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	sink := &counted{next: exporter, onError: cfg.OnError}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(newQueue(ctx, sink)),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(cfg.Ratio))),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", cfg.Service), attribute.String("service.version", cfg.Version),
			attribute.String("service.instance.id", cfg.Instance), attribute.String("service.namespace", "braid"),
		)),
		sdktrace.WithRawSpanLimits(sdktrace.SpanLimits{
			AttributeValueLengthLimit: maxSpanText, AttributeCountLimit: 64, EventCountLimit: 64, LinkCountLimit: 16,
			AttributePerEventCountLimit: 16, AttributePerLinkCountLimit: 16,
		}),
	)
	return &Tracer{provider: provider, tracer: provider.Tracer("github.com/braidhq/braid", trace.WithInstrumentationVersion(cfg.Version)), sink: sink}, nil
}

// Close sends what is left, as far as the collector takes it within some seconds.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send the last spans: %w", err)
	}
	return nil
}

// Spans tells how many spans were sent, and how many were dropped because the collector was away or too slow.
func (t *Tracer) Spans() (sent, dropped int64) {
	if t == nil {
		return 0, 0
	}
	return t.sink.sent.Load(), t.sink.dropped.Load()
}

// counted is an exporter that counts.
type counted struct {
	next          sdktrace.SpanExporter
	onError       func(error)
	sent, dropped atomic.Int64
}

// ExportSpans sends, and counts what was not taken as dropped: work does not end because a collector is away.
func (c *counted) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := c.next.ExportSpans(ctx, spans); err != nil {
		c.dropped.Add(int64(len(spans)))
		if c.onError != nil {
			c.onError(err)
		}
		return nil
	}
	c.sent.Add(int64(len(spans)))
	return nil
}

// Shutdown ends the exporter.
func (c *counted) Shutdown(ctx context.Context) error { return c.next.Shutdown(ctx) }
