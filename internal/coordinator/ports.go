package coordinator

import (
	"context"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// Queries stores the records of queries.
type Queries interface {
	// CreateQuery stores a new query and its spec; the error wraps messages.ErrConflict when the id is taken.
	CreateQuery(ctx context.Context, q *messages.Query, spec []byte) error
	// SaveQuery is compare-and-set; the error wraps messages.ErrConflict when revision is not the last.
	SaveQuery(ctx context.Context, q *messages.Query, revision uint64) (uint64, error)
	// LoadQuery's error wraps messages.ErrNotFound.
	LoadQuery(ctx context.Context, id string) (*messages.Query, uint64, error)
	LoadSpec(ctx context.Context, q *messages.Query) ([]byte, error)
	// RemoveQuery's error wraps messages.ErrConflict when the record is another one by now.
	RemoveQuery(ctx context.Context, q *messages.Query) error
}

// Catalogue shows the records of all queries, and their cached progress.
type Catalogue interface {
	// ListQueries leaves out records that cannot be read.
	ListQueries(ctx context.Context) ([]*messages.Query, error)
	// ListStandings is ListQueries with the progress of each; nil where none was saved yet.
	ListStandings(ctx context.Context) ([]*messages.Status, error)
	// WatchQueries calls on with each record and each change, a removed one as nil, and caughtUp once in between. It
	// returns when ctx ends, or when the watch is lost.
	WatchQueries(ctx context.Context, on func(id string, q *messages.Query, revision uint64, err error), caughtUp func()) error
	SaveProgress(ctx context.Context, p *messages.Progress) error
	LoadProgress(ctx context.Context, id string) (*messages.Progress, error)
}

// Items is the queue of what workers are to do.
type Items interface {
	// EnsureQueue makes a service's queue; pending bounds the items in workers' hands.
	EnsureQueue(ctx context.Context, service string, pending int, ackWait time.Duration) error
	// PublishItems queues items; one that is queued already is as good as published. The refused are those in whose place
	// another one was queued. After an error some may be queued.
	PublishItems(ctx context.Context, items []*messages.Item) (refused []messages.Refused, err error)
	PurgeItems(ctx context.Context, service, query string) error
}

// Results is what workers have made durable.
type Results interface {
	Trackers
	Rows
	Stock
}

// Stock is what is stored of all queries together.
type Stock interface {
	// ResultStore tells when the result stream was made, and how many results it holds.
	ResultStore(ctx context.Context) (created time.Time, results uint64, err error)
	// EachPart and EachResult give all that is stored when they are called; h is nil when it cannot be read.
	EachPart(ctx context.Context, on func(messages.StoredPart)) error
	EachResult(ctx context.Context, on func(query string, h *messages.ResultHeader, bytes int64)) error
	RemoveParts(ctx context.Context, subjects string) error
	// RemoveLeftovers removes what is stored of a query whose record is gone.
	RemoveLeftovers(ctx context.Context, query string) error
}

// Trackers begin at the first message of the query, call caughtUp once all that was there and can be read has been seen, and
// return when ctx ends or when the stream can no longer be followed.
type Trackers interface {
	// TrackResults gives to bad what is stored in the place of a result and is none; the error wraps messages.ErrVersion
	// when a newer Braid has written it.
	TrackResults(ctx context.Context, query string, on func(*messages.ResultHeader), bad func(messages.Position, error), caughtUp func()) error
	TrackInterruptions(ctx context.Context, query string, on func(*messages.Interruption), bad func(error), caughtUp func()) error
	// TrackPages leaves out what cannot be read.
	TrackPages(ctx context.Context, query string, on func(*messages.Page), caughtUp func()) error
}

// Rows reads stored results and removes them. Removing what is not there any more is no error.
type Rows interface {
	// Result reads a position's rows as JSON lines; the error wraps messages.ErrNotFound, messages.ErrDamaged or
	// messages.ErrVersion.
	Result(ctx context.Context, query string, p messages.Position) (*messages.ResultHeader, []byte, error)
	// RemoveDamaged removes what is stored for a position when it is damaged, and nothing that was stored in its place meanwhile.
	RemoveDamaged(ctx context.Context, query string, p messages.Position) error
	// RemoveAttempt removes a position's result when it is that attempt's.
	RemoveAttempt(ctx context.Context, query string, p messages.Position, attempt string) error
	// RemoveOrphans removes the parts of attempts and the pages of walks that keep does not want.
	RemoveOrphans(ctx context.Context, query string, keep func(id string) bool) error
}

// Services stores what workers need to know of services.
type Services interface {
	PutDefinition(ctx context.Context, digest string, text []byte) error
	Definition(ctx context.Context, digest string) ([]byte, error)
	// UpdateService changes a record by compare-and-set; edit sees nil when there is none, and returns nil to leave it.
	UpdateService(ctx context.Context, name string, edit func(*messages.Service) *messages.Service) error
}

// Workers shows who is there to take items.
type Workers interface {
	// WatchWorkers calls on with each worker that is there and with each word of one, with nil when one has gone, and caughtUp once
	// in between. It returns when ctx ends, or when the watch is lost.
	WatchWorkers(ctx context.Context, on func(id string, w *messages.Worker), caughtUp func()) error
}

// Quotas shows the accounts of quota pools.
type Quotas interface {
	// PoolQuotas reads all accounts of a pool, in no order.
	PoolQuotas(ctx context.Context, pool string) ([]*messages.QuotaLedger, error)
}

// Definitions finds the service definition of a name as it is to be pinned. The error names the nearest known names.
type Definitions interface {
	Pinned(name string) ([]byte, error)
}
