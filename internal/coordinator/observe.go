package coordinator

import (
	"context"
	"log/slog"

	"github.com/braidhq/braid/pkg/messages"
)

// Observer hears what the coordinator does, to count it. Its methods are called by many at a time, and nothing waits for them.
type Observer interface {
	Leads(leads bool)
	Submitted(service string)
	// Settled is the end of a run; tripped says that a breaker ended it.
	Settled(service string, state messages.QueryState, tripped bool)
	Dispatched(service string, items int)
	Lost(service string) // a stored result that is damaged or gone
	Stalled(service string)
}

// Tracer makes the spans of traces. It is safe for concurrent use, and nothing waits for it.
type Tracer interface {
	// Join gives a context whose spans belong to the trace that a W3C traceparent names.
	Join(ctx context.Context, traceparent string) context.Context
	// Parent is the traceparent of the span in ctx; empty: there is none.
	Parent(ctx context.Context) string
	// Start begins a span; end ends it with what went wrong, if anything, and what is known only then.
	Start(ctx context.Context, name string, attrs ...slog.Attr) (_ context.Context, end func(err error, attrs ...slog.Attr))
}

// unobserved is an Observer that does not listen.
type unobserved struct{}

func (unobserved) Leads(bool)                                {}
func (unobserved) Submitted(string)                          {}
func (unobserved) Settled(string, messages.QueryState, bool) {}
func (unobserved) Dispatched(string, int)                    {}
func (unobserved) Lost(string)                               {}
func (unobserved) Stalled(string)                            {}

// untraced is a Tracer that makes no spans.
type untraced struct{}

func (untraced) Join(ctx context.Context, _ string) context.Context { return ctx }
func (untraced) Parent(context.Context) string                      { return "" }

func (untraced) Start(ctx context.Context, _ string, _ ...slog.Attr) (context.Context, func(error, ...slog.Attr)) {
	return ctx, func(error, ...slog.Attr) {}
}

func (p Ports) withDefaults() Ports {
	if p.Observer == nil {
		p.Observer = unobserved{}
	}
	if p.Tracer == nil {
		p.Tracer = untraced{}
	}
	return p
}

// logOf is the log of what becomes of a query.
func (c *Coordinator) logOf(q *messages.Query) *slog.Logger {
	log := c.log.With("query", q.ID)
	if id := messages.TraceID(q.Trace); id != "" {
		log = log.With("trace_id", id)
	}
	return log
}

// traceDispatch begins the span of a batch that is queued, in the trace of its query; the items go on from there.
func (d *driver) traceDispatch(ctx context.Context, batch []*messages.Item) (context.Context, func(error, ...slog.Attr)) {
	q, tracer := d.at.query, d.c.ports.Tracer
	if q == nil || q.Trace == "" {
		return ctx, func(error, ...slog.Attr) {}
	}
	ctx, end := tracer.Start(tracer.Join(ctx, q.Trace), "dispatch",
		slog.String("query", q.ID), slog.Int("run", q.Run), slog.String("service", q.Service), slog.Int("items", len(batch)))
	parent := tracer.Parent(ctx)
	for _, item := range batch {
		item.Trace = parent
	}
	return ctx, end
}
