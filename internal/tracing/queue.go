package tracing

import (
	"context"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// queue keeps ended spans until they are sent. The SDK's own batcher does the same but does not tell how many it dropped.
type queue struct {
	sink  *counted
	spans chan sdktrace.ReadOnlySpan
	flush chan chan struct{}
	stop  chan struct{}
	once  sync.Once
	ended chan struct{}
}

// newQueue makes a queue that lives until its Shutdown, whatever becomes of ctx.
func newQueue(ctx context.Context, sink *counted) *queue {
	q := &queue{
		sink: sink, spans: make(chan sdktrace.ReadOnlySpan, queueSize), flush: make(chan chan struct{}),
		stop: make(chan struct{}), ended: make(chan struct{}),
	}
	go q.run(context.WithoutCancel(ctx))
	return q
}

// OnStart does nothing.
func (*queue) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd takes a span, and drops it when there is no room: whoever ends a span never waits.
func (q *queue) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	select {
	case q.spans <- s:
	default:
		q.sink.dropped.Add(1)
	}
}

func (q *queue) run(ctx context.Context) {
	defer close(q.ended)
	tick := time.NewTicker(batchEvery)
	defer tick.Stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // an export under way is cut some time after the stop
		<-q.stop
		timer := time.NewTimer(closeWithin)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-ctx.Done():
		}
	}()
	batch := make([]sdktrace.ReadOnlySpan, 0, batchSize)
	send := func() {
		if len(batch) > 0 {
			_ = q.sink.ExportSpans(ctx, batch) // it counts what it could not send
			batch = batch[:0]
		}
	}
	drain := func() {
		for len(q.spans) > 0 {
			if batch = append(batch, <-q.spans); len(batch) == batchSize {
				send()
			}
		}
		send()
	}
	for {
		select {
		case s := <-q.spans:
			if batch = append(batch, s); len(batch) == batchSize {
				send()
			}
		case <-tick.C:
			send()
		case done := <-q.flush:
			drain()
			close(done)
		case <-q.stop:
			drain()
			return
		}
	}
}

// ForceFlush sends what is there now.
func (q *queue) ForceFlush(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case q.flush <- done:
	case <-q.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Shutdown sends what is left and ends the exporter.
func (q *queue) Shutdown(ctx context.Context) error {
	q.once.Do(func() { close(q.stop) })
	select {
	case <-q.ended:
		return q.sink.Shutdown(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
