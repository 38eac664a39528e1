package worker

import (
	"context"
	"log/slog"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

const (
	recordEvery   = time.Second
	recordBacklog = 4096
)

// recorder publishes what was sent upstream, in batches. It is for the ledger and for people: when it cannot keep up, it
// drops and says so.
type recorder struct {
	worker  string
	results Results
	log     *slog.Logger
	entries chan entry
}

type entry struct {
	query string
	run   int
	what  messages.Execution
}

func newRecorder(worker string, results Results, log *slog.Logger) *recorder {
	return &recorder{worker: worker, results: results, log: log, entries: make(chan entry, recordBacklog)}
}

func (r *recorder) add(item *messages.Item, e messages.Execution) {
	select {
	case r.entries <- entry{item.Query, item.Run, e}:
	default:
		r.log.Warn("execution not recorded: too many are waiting", "query", item.Query, "position", item.Position)
	}
}

// run publishes until ctx ends, and then what is left.
func (r *recorder) run(ctx context.Context) error {
	batches := map[string]*messages.Executions{}
	tick := time.NewTicker(recordEvery)
	defer tick.Stop()
	for {
		select {
		case e := <-r.entries:
			r.collect(ctx, batches, e)
		case <-tick.C:
			r.flush(ctx, batches)
		case <-ctx.Done():
			r.finish(ctx, batches)
			return nil
		}
	}
}

// finish publishes what is left after ctx has ended.
func (r *recorder) finish(ctx context.Context, batches map[string]*messages.Executions) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	for len(r.entries) > 0 {
		r.collect(ctx, batches, <-r.entries)
	}
	r.flush(ctx, batches)
}

func (r *recorder) collect(ctx context.Context, batches map[string]*messages.Executions, e entry) {
	batch := batches[e.query]
	if batch != nil && (batch.Run != e.run || len(batch.Executions) == messages.MaxExecutions) {
		r.publish(ctx, batch)
		batch = nil
	}
	if batch == nil {
		batch = &messages.Executions{V: messages.Version, Query: e.query, Run: e.run, Worker: r.worker}
		batches[e.query] = batch
	}
	batch.Executions = append(batch.Executions, e.what)
}

func (r *recorder) flush(ctx context.Context, batches map[string]*messages.Executions) {
	for query, batch := range batches {
		r.publish(ctx, batch)
		delete(batches, query)
	}
}

func (r *recorder) publish(ctx context.Context, batch *messages.Executions) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := r.results.PublishExecutions(ctx, batch); err != nil {
		r.log.Warn("executions not recorded", "query", batch.Query, "count", len(batch.Executions), "error", err)
	}
}
