package worker

import (
	"context"
	"log/slog"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// Observer hears what the worker does, to count it. Its methods are called by many at a time, and nothing waits for them.
type Observer interface {
	// Begun is a worker that runs so many items at most; ended is called when it has stopped.
	Begun(concurrency int) (ended func())
	// ItemTaken and ItemEnded are the beginning and the end of each item; the endings are done, interrupted, dropped, handed_back and left.
	ItemTaken(service string, redelivered bool)
	ItemEnded(service, ending string)
	Stored(service string, h *messages.ResultHeader)
	// Requested is one call of the service, in which so many requests were sent.
	Requested(service string, e *messages.Execution, requests int)
	SlotTaken(service string, wait time.Duration)
	SlotLeft(service string)
	GateClosed(service string)
	Interrupted(service string, kind messages.InterruptionKind)
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

func (unobserved) Begun(int) func()                              { return func() {} }
func (unobserved) ItemTaken(string, bool)                        {}
func (unobserved) ItemEnded(string, string)                      {}
func (unobserved) Stored(string, *messages.ResultHeader)         {}
func (unobserved) Requested(string, *messages.Execution, int)    {}
func (unobserved) SlotTaken(string, time.Duration)               {}
func (unobserved) SlotLeft(string)                               {}
func (unobserved) GateClosed(string)                             {}
func (unobserved) Interrupted(string, messages.InterruptionKind) {}

// untraced is a Tracer that makes no spans.
type untraced struct{}

func (untraced) Join(ctx context.Context, _ string) context.Context { return ctx }
func (untraced) Parent(context.Context) string                      { return "" }

func (untraced) Start(ctx context.Context, _ string, _ ...slog.Attr) (context.Context, func(error, ...slog.Attr)) {
	return ctx, func(error, ...slog.Attr) {}
}
