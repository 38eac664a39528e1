package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/messages"
)

const (
	takeAtOnce = 32
	busyWait   = time.Second     // room is kept for items that may come
	idleWait   = 5 * time.Second // no room is kept
	retryTake  = 500 * time.Millisecond
)

// intake takes the items of one service and holds its slots.
type intake struct {
	worker  *Worker
	service string
	onStop  func(f func()) (forget func() bool) // calls f when no more items are taken

	mu       sync.Mutex // guards all below
	slots    *lease.Semaphore
	want     *messages.Service
	patience time.Duration // the queue's with an item in hand: the shortest heard of
	shorter  chan struct{} // closed and renewed when patience changes
}

func newIntake(w *Worker, svc *messages.Service) *intake {
	return &intake{worker: w, service: svc.Name, want: svc, patience: svc.AckWait(), shorter: make(chan struct{})}
}

// update takes in a changed record of the service. The queue may get the patience that goes with it earlier or later than
// the record is heard of, or never, so the shortest one rules: a sign of life too many costs little, one too few costs a
// second request.
func (in *intake) update(svc *messages.Service) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.want = svc
	if wait := svc.AckWait(); wait < in.patience {
		in.patience = wait
		close(in.shorter)
		in.shorter = make(chan struct{})
	}
	if in.slots == nil {
		return
	}
	if err := errors.Join(in.slots.SetSlots(svc.Slots), in.slots.SetTTL(svc.LeaseTTL)); err != nil {
		in.worker.log.Error("slots not changed", "service", in.service, "error", err)
	}
}

// beat is the time between signs of life for an item in hand, until shorter is closed.
func (in *intake) beat() (every time.Duration, shorter <-chan struct{}) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.patience / 3, in.shorter
}

// unheard is how long the queue leaves an item with a worker that it does not hear from.
func (in *intake) unheard() time.Duration {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.patience
}

func (in *intake) open() (*lease.Semaphore, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	log := in.worker.log.With("service", in.service)
	slots, err := lease.New(in.worker.ports.Leases, lease.Name{Service: in.service}, lease.Config{
		Slots: in.want.Slots, Holder: in.worker.cfg.ID, TTL: in.want.LeaseTTL,
		OnError: func(err error) {
			if errors.Is(err, lease.ErrConflict) {
				log.Debug("another worker was faster at a slot", "error", err)
				return
			}
			log.Warn("lease", "error", err)
		},
	})
	in.slots = slots
	return slots, err
}

// run takes items until ctx ends; the items run under work. The slots live until all items that use them have ended.
func (in *intake) run(ctx, work context.Context) {
	log := in.worker.log.With("service", in.service)
	slots, err := in.open()
	if err != nil {
		log.Error("the service is not served", "error", err)
		return
	}
	in.onStop = func(f func()) func() bool { return context.AfterFunc(ctx, f) }
	keeping, letGo := context.WithCancel(context.WithoutCancel(ctx))
	var watch, items sync.WaitGroup
	watch.Go(func() {
		if err := slots.Run(keeping); err != nil {
			log.Error("the lease ended", "error", err)
		}
	})
	var queue Queue
	for ctx.Err() == nil {
		if queue == nil {
			if queue, err = in.worker.ports.Queues.Queue(ctx, in.service); err != nil {
				in.complain(ctx, err)
				queue = nil
				continue
			}
		}
		if err := in.take(ctx, work, queue, &items); err != nil {
			queue = nil
			in.complain(ctx, err)
		}
	}
	items.Wait()
	letGo()
	watch.Wait()
}

func (in *intake) complain(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	level := in.worker.log.Warn
	if errors.Is(err, messages.ErrUnreachable) || errors.Is(err, messages.ErrNotFound) {
		level = in.worker.log.Debug // the connection says so itself, once; a service that was only put under load has no queue
	}
	level("no items, trying again", "service", in.service, "error", err)
	pause(ctx, retryTake)
}

// take starts as many items as there is room for, each as it comes. While there is work it asks for no more than it can
// run at once, so that no item waits here while another worker has room; when there is none, it waits for one without
// keeping room that another service could use.
func (in *intake) take(ctx, work context.Context, queue Queue, items *sync.WaitGroup) error {
	room := in.worker.room
	if err := room.Acquire(ctx, 1); err != nil {
		return nil //nolint:nilerr // ctx has ended
	}
	n := 1
	for n < takeAtOnce && room.TryAcquire(1) {
		n++
	}
	taken, err := queue.Take(ctx, n, busyWait, func(d Delivery) {
		items.Go(func() {
			defer room.Release(1)
			in.handle(work, d)
		})
	})
	room.Release(int64(n - taken))
	if err != nil || taken > 0 {
		return err
	}
	_, err = queue.Take(ctx, 1, idleWait, func(d Delivery) {
		items.Go(func() {
			alive := in.keepAlive(d)
			err := room.Acquire(work, 1)
			alive()
			if err != nil {
				in.handBack(d)
				return
			}
			defer room.Release(1)
			in.handle(work, d)
		})
	})
	return err
}

func (in *intake) handBack(d Delivery) {
	if err := d.HandBack(); err != nil {
		in.worker.log.Warn("item not handed back; it comes again by itself", "error", err)
	}
}

// handle runs one item and sees to its end.
func (in *intake) handle(work context.Context, d Delivery) {
	item := d.Item()
	work, span := in.span(work, d)
	log := in.logOf(work, item)
	log.Debug("item taken", "redelivered", d.Redelivered())
	in.worker.busy.add(1)
	defer in.worker.busy.add(-1)
	in.worker.ports.Observer.ItemTaken(in.service, d.Redelivered())
	ending := endingLeft
	defer func() { in.worker.ports.Observer.ItemEnded(in.service, ending) }()
	alive := in.keepAlive(d)
	c := newChunk(in, d, log)
	err := c.runWatched(work, d.Deliveries())
	ends := endingOf(err)
	span(err, slog.String("ending", ends), slog.Int("requests", c.requests))
	if stopped, ok := errors.AsType[*interrupted](err); ok {
		if err = in.tell(work, stopped.message); err == nil {
			in.worker.ports.Observer.Interrupted(in.service, stopped.message.Kind)
		}
	} else if errors.Is(err, errDropped) {
		err = nil
	}
	// Not before that is told: without a sign of life the item would be given to another worker meanwhile.
	alive()
	if err == nil {
		ending = ends
		log.Debug("item done", "ending", ending)
		if err = d.Done(work); err != nil {
			log.Warn("item not acknowledged; it comes again and is found done", "error", err)
		}
		return
	}
	if errors.Is(context.Cause(work), ErrStopping) {
		ending = endingHandedBack
		in.handBack(d)
		return
	}
	log.Warn("item left for another try", "error", err)
}

// span begins the span of an item in this worker's hands, in the trace that the item is of.
func (in *intake) span(ctx context.Context, d Delivery) (context.Context, func(error, ...slog.Attr)) {
	item, tracer := d.Item(), in.worker.ports.Tracer
	return tracer.Start(tracer.Join(ctx, item.Trace), "chunk",
		slog.String("query", item.Query), slog.Int("run", item.Run), slog.String("position", string(item.Position)),
		slog.String("service", item.Service), slog.String("worker", in.worker.cfg.ID), slog.Int("deliveries", d.Deliveries()))
}

// logOf is the log of an item's run.
func (in *intake) logOf(ctx context.Context, item *messages.Item) *slog.Logger {
	log := in.worker.log.With("query", item.Query, "run", item.Run, "position", item.Position, "service", item.Service)
	if id := messages.TraceID(in.worker.ports.Tracer.Parent(ctx)); id != "" {
		log = log.With("trace_id", id)
	}
	return log
}

// tell stores an interruption. It is given up when the store stays away for as long as a result would wait for it: then the item
// comes again.
func (in *intake) tell(work context.Context, m *messages.Interruption) error {
	ctx, cancel := context.WithTimeout(work, in.worker.cfg.Commit)
	defer cancel()
	return in.worker.ports.Results.PublishInterruption(ctx, m)
}

// keepAlive tells the queue that the item is being worked on, until the function that it returns is called.
func (in *intake) keepAlive(d Delivery) (done func()) {
	end := make(chan struct{})
	var beats sync.WaitGroup
	beats.Go(func() {
		every, shorter := in.beat()
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
			case <-shorter: // the last sign of life may be too old already
				every, shorter = in.beat()
				tick.Reset(every)
			}
			if err := d.InProgress(); err != nil {
				in.worker.log.Debug("no sign of life sent", "error", err)
			}
		}
	})
	return func() {
		close(end)
		beats.Wait()
	}
}
