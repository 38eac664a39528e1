package worker

import (
	"context"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

const (
	presenceTTL   = 15 * time.Second
	presenceEvery = presenceTTL / 3

	farewellWithin = time.Second
)

// presence says that the worker is there until ctx ends. Nothing that is correct depends on it.
func (w *Worker) presence(ctx context.Context) error {
	started, instance := w.ports.Now(), w.ports.NewID()
	for {
		me := &messages.Worker{
			V: messages.Version, ID: w.cfg.ID, Host: w.cfg.Host, Version: w.cfg.Version,
			Concurrency: w.cfg.Concurrency, Running: w.busy.value(), Started: started, Seen: w.ports.Now(), Instance: instance,
		}
		if err := w.ports.Records.SaveWorker(ctx, me, presenceTTL); err != nil && ctx.Err() == nil {
			w.log.Warn("presence not recorded", "error", err)
		}
		if !pause(ctx, presenceEvery) {
			w.farewell(ctx, instance)
			return nil
		}
	}
}

// farewell says that the worker has gone, so that it is told from one that died. Untold, its presence expires.
func (w *Worker) farewell(ctx context.Context, instance string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewellWithin)
	defer cancel()
	if err := w.ports.Records.RemoveWorker(ctx, w.cfg.ID, instance); err != nil {
		w.log.Debug("presence not taken back; it expires", "error", err)
	}
}
