package worker

import (
	"context"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/quota"
	"github.com/braidhq/braid/pkg/retry"
	"github.com/braidhq/braid/pkg/service"
)

// Delivery is an item in this worker's hands.
type Delivery interface {
	Item() *messages.Item
	Redelivered() bool
	Deliveries() int                // of the item, this one included
	InDoubt() bool                  // the item may be in other hands too, or have been; that may come out while it is in hand
	Done(ctx context.Context) error // waits until the item is removed
	HandBack() error                // puts it back at once
	InProgress() error              // restarts the queue's patience
}

// Queue gives out the items of one service.
type Queue interface {
	// Take gives at most n items to on, each as it comes, and returns how many came: when all n have, when wait is over or
	// when ctx ends.
	Take(ctx context.Context, n int, wait time.Duration, on func(Delivery)) (int, error)
}

// Queues opens queues.
type Queues interface {
	Queue(ctx context.Context, service string) (Queue, error)
}

// Result collects the pages of one attempt at a chunk; nothing is a result before Commit. Not for concurrent use.
type Result interface {
	// Store keeps a page that is followed by another, whose cursor is next, in one write. It gives what is stored in the end:
	// the page of another attempt when one that goes on with the same walk was first. A page that is Ended keeps everybody
	// from going on with the walk.
	Store(ctx context.Context, page *messages.Page, next string, rows []byte) (*messages.Page, string, error)
	// Continue goes on behind last, the last stored page of a walk, and gives that walk's pages to on. When it fails the
	// result is of no use any more.
	Continue(ctx context.Context, last *messages.Page, on func(page *messages.Page, next string)) error
	Write(ctx context.Context, rows []byte) error // of the last page
	// Commit is all or nothing. The error wraps messages.ErrExists when the position has a result already.
	Commit(ctx context.Context, h *messages.ResultHeader) error
	Abort(ctx context.Context) error // drops what was written; what was stored stays
}

// Pages is what walks without a result have stored.
type Pages interface {
	// LastPage is the page that was stored last for a position. The error wraps messages.ErrNotFound when there is none.
	LastPage(ctx context.Context, query string, p messages.Position) (*messages.Page, error)
	RemovePages(ctx context.Context, query string, p messages.Position) error
}

// Results stores results and the events beside them. Publishing twice does no harm.
type Results interface {
	Pages
	NewResult(query, attempt string) Result
	HasResult(ctx context.Context, query string, p messages.Position) (bool, error)
	PublishInterruption(ctx context.Context, m *messages.Interruption) error
	PublishExecutions(ctx context.Context, m *messages.Executions) error
}

// Records is what all processes share. The watches call back with what is there and with each change, and return when ctx
// ends or when the watch is lost.
type Records interface {
	Suspects
	WatchServices(ctx context.Context, on func(*messages.Service, error)) error
	WatchGates(ctx context.Context, on func(*messages.Gate, error)) error
	WatchQueries(ctx context.Context, on func(id string, q *messages.Query, revision uint64, err error), caughtUp func()) error
	CloseGate(ctx context.Context, g *messages.Gate) error
	SaveWorker(ctx context.Context, w *messages.Worker, ttl time.Duration) error
	RemoveWorker(ctx context.Context, id, instance string) error
}

// Suspects remembers which runs of a position have begun and not ended, of positions whose items came back without a word.
type Suspects interface {
	// UpdateSuspect changes a position's record by compare-and-set; edit sees nil when there is none, and returns nil to leave
	// it. A record is kept for days at least.
	UpdateSuspect(ctx context.Context, query string, p messages.Position, edit func(*messages.Suspect) *messages.Suspect) error
}

// Quotas is the accounts of quota pools that all processes share.
type Quotas interface {
	// UpdateQuota is compare-and-set until nobody came between; edit sees nil when there is no account, and may be called several
	// times.
	UpdateQuota(ctx context.Context, pool, owner string, edit func(*messages.QuotaLedger) *messages.QuotaLedger) error
	// CountWorkers tells how many workers share the pools.
	CountWorkers(ctx context.Context) (int, error)
}

// Upstream is what the worker needs to run items of one collection.
type Upstream struct {
	Adapter   service.Adapter
	Gate      string // names the gate: the service at its address, so that a mirror's refusal does not close the service itself; default: the item's service
	Retry     retry.Policy
	QuotaWait time.Duration // assumed until a refused request may be tried again when the service says no time
	MaxPages  int           // most pages of one chunk
	PageRows  int64         // rows that an answer may have, as the request says; 0: not known
	RepeatEnd bool          // this service marks its end by naming the same next page again
	// CountedPages: we say which page is wanted, by its number or offset, and the service names none.
	CountedPages bool
	// Pools gives the quotas that a request which is sent now is charged to. Nil: there are none.
	Pools     func() ([]quota.Config, error)
	CursorTTL time.Duration // how long a cursor lives; 0: unknown, and then it is tried
}

// Upstreams finds the upstream of an item from the definition that its query pinned. A *service.ResponseError is a
// deterministic failure of the item; any other error is one of the store, and the item is left for later. Results are cached
// by the implementation.
type Upstreams interface {
	Upstream(ctx context.Context, item *messages.Item) (*Upstream, error)
}
