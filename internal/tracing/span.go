package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/braidhq/braid/internal/logging"
)

// Join gives a context whose spans belong to the trace that a W3C traceparent names. One that cannot be read names none.
func (t *Tracer) Join(ctx context.Context, traceparent string) context.Context {
	if t == nil {
		return ctx
	}
	// Whatever span ctx has is not the parent of what was begun elsewhere.
	ctx = trace.ContextWithSpanContext(ctx, trace.SpanContext{})
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
}

// Parent is the traceparent of the span in ctx; empty: there is none.
func (t *Tracer) Parent(ctx context.Context) string {
	if t == nil {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// Start begins a span as a child of the one in ctx. end ends it: with what went wrong, if anything, and with what is known only then. An
// attribute query is written as braid.query.
func (t *Tracer) Start(ctx context.Context, name string, attrs ...slog.Attr) (_ context.Context, end func(err error, attrs ...slog.Attr)) {
	if t == nil {
		return ctx, func(error, ...slog.Attr) {}
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithAttributes(attributes(attrs)...))
	return ctx, func(err error, attrs ...slog.Attr) { finish(span, err, attributes(attrs)) }
}

// Request begins the span of one request that is sent to a service. The URL is written without what is behind its question mark.
// end takes the status of the answer, 0 when there was none, and the error of the connection.
func (t *Tracer) Request(ctx context.Context, method, address string) (_ context.Context, end func(status int, err error)) {
	if t == nil {
		return ctx, func(int, error) {}
	}
	sent, name := methodOf(method)
	attrs := []attribute.KeyValue{sent}
	if u, err := url.Parse(address); err == nil {
		attrs = append(attrs, attribute.String("server.address", u.Hostname()), attribute.String("url.scheme", u.Scheme), attribute.String("url.full", withoutValues(u)))
		if port := portOf(u); port > 0 {
			attrs = append(attrs, attribute.Int("server.port", port))
		}
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attrs...))
	return ctx, func(status int, err error) {
		var more []attribute.KeyValue
		if status > 0 {
			more = append(more, attribute.Int("http.response.status_code", status))
		}
		if err == nil && status >= 400 {
			more = append(more, attribute.String("error.type", strconv.Itoa(status)))
			span.SetStatus(codes.Error, "")
		}
		finish(span, err, more)
	}
}

// Serve begins the span of a request to our API. When the client sent a traceparent and is known, it is a child of the client's span. Of a
// client that nobody knows it is a root that has a link to the client's span: whether it is kept, and in which trace, is not for
// everybody to decide. end takes route and status.
func (t *Tracer) Serve(ctx context.Context, method, path, traceparent string, known bool) (_ context.Context, end func(route string, status int)) {
	if t == nil {
		return ctx, func(string, int) {}
	}
	attrs, name := methodOf(method)
	options := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attrs, attribute.String("url.path", text(logging.Clean(path)))),
	}
	ctx = t.Join(ctx, traceparent)
	if client := trace.SpanContextFromContext(ctx); !known && client.IsValid() {
		options = append(options, trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: client}))
	}
	ctx, span := t.tracer.Start(ctx, name, options...)
	return ctx, func(route string, status int) {
		if route != "" {
			span.SetName(name + " " + route)
			span.SetAttributes(attribute.String("http.route", route))
		}
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status >= 500 {
			span.SetStatus(codes.Error, "")
			span.SetAttributes(attribute.String("error.type", strconv.Itoa(status)))
		}
		span.End()
	}
}

// methodOf is the attribute of a request's method, and what its span is called: of the methods that RFC 9110 and RFC 5789 name, themselves.
// Any other, which clients are free to make up, is _OTHER and HTTP, as OpenTelemetry's conventions have it.
func methodOf(method string) (attr attribute.KeyValue, name string) {
	name = method
	switch method {
	case "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH":
	default:
		method, name = "_OTHER", "HTTP"
	}
	return attribute.String("http.request.method", method), name
}

func finish(span trace.Span, err error, attrs []attribute.KeyValue) {
	span.SetAttributes(attrs...)
	if err != nil {
		span.SetStatus(codes.Error, text(logging.Clean(err.Error())))
		span.SetAttributes(attribute.String("error.type", typeOf(err)))
	}
	span.End()
}

// typeOf names the kind of an error: few kinds, and never its text.
func typeOf(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return fmt.Sprintf("%T", err)
}

func attributes(attrs []slog.Attr) []attribute.KeyValue {
	made := make([]attribute.KeyValue, 0, len(attrs))
	for _, a := range attrs {
		key, value := "braid."+a.Key, a.Value.Resolve()
		switch value.Kind() {
		case slog.KindInt64:
			made = append(made, attribute.Int64(key, value.Int64()))
		case slog.KindBool:
			made = append(made, attribute.Bool(key, value.Bool()))
		case slog.KindFloat64:
			made = append(made, attribute.Float64(key, value.Float64()))
		case slog.KindDuration:
			made = append(made, attribute.Float64(key, value.Duration().Seconds()))
		case slog.KindTime:
			made = append(made, attribute.String(key, value.Time().UTC().Format(time.RFC3339Nano)))
		case slog.KindAny, slog.KindGroup, slog.KindLogValuer, slog.KindString, slog.KindUint64:
			made = append(made, attribute.String(key, text(logging.Clean(value.String()))))
		}
	}
	return made
}

// text is valid UTF-8, which a protobuf insists on, and not long.
func text(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxSpanText {
		return s
	}
	cut := maxSpanText
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}

// withoutValues writes a URL with the names of its parameters and none of their values.
func withoutValues(u *url.URL) string {
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	var names []string
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		if name, _, has := strings.Cut(part, "="); part != "" && has {
			names = append(names, name+"=REDACTED")
		} else if part != "" {
			names = append(names, "REDACTED")
		}
	}
	plain.RawQuery = strings.Join(names, "&")
	return text(plain.String())
}

func portOf(u *url.URL) int {
	if port, err := strconv.Atoi(u.Port()); err == nil {
		return port
	}
	switch u.Scheme {
	case "http":
		return 80
	case "https":
		return 443
	}
	return 0
}
