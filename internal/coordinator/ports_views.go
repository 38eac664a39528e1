package coordinator

import (
	"context"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/messages"
)

// Glances reads some of what is stored of a query, without rows. What cannot be read is left out.
type Glances interface {
	// ResultHeaders reads the headers of the results of at most mostChunks positions, in no order.
	ResultHeaders(ctx context.Context, query string, positions []messages.Position) ([]*messages.ResultHeader, error)
	// PagesAt gives the stored pages of a position in the order in which they were stored.
	PagesAt(ctx context.Context, query string, p messages.Position, on func(*messages.Page)) error
	// Events gives about the newest most events of a query in the order in which they were stored.
	Events(ctx context.Context, query string, most uint64, on func(*messages.Interruption), ran func(*messages.Executions)) error
}

// Boards shows what processes tell one another of services and of themselves. Lists are in no order.
type Boards interface {
	ListServices(ctx context.Context) ([]*messages.Service, error)
	EachHolder(ctx context.Context, on func(lease.SlotName, lease.Holding)) error
	// Gate gives nil when the service's was never closed.
	Gate(ctx context.Context, service string) (*messages.Gate, error)
	ListWorkers(ctx context.Context) ([]*messages.Worker, error)
}

// Names lists the services that there are definitions of.
type Names interface {
	Names() []string
}
