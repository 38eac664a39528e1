package braid

import (
	"context"

	"github.com/braidhq/braid/pkg/messages"
)

// LiveViews show how queries go on, and what they go on with. They answer at once: what is still being read says so, and who watches
// asks again. An error about a parameter wraps query.ErrInvalid.
type LiveViews interface {
	// Grid counts where the positions of a query's plan stand, from one to before another, in at most so many bins (1 to 4096); a to of
	// 0 is the plan's end.
	Grid(ctx context.Context, id string, from, to, bins int) (*messages.Grid, error)
	// Series tells how a query went over time, in at most so many steps (1 to 1000).
	Series(ctx context.Context, id string, points int) (*messages.Series, error)
	// Chunks lists at most limit (1 to 1000) positions that stand so, from one on; an empty state is each, an empty from the first.
	Chunks(ctx context.Context, id string, state messages.ChunkState, from messages.Position, limit int) (*messages.ChunkList, error)
	// Chunk tells all that is known of one position.
	Chunk(ctx context.Context, id string, at messages.Position) (*messages.ChunkDetail, error)
	// Preview gives the first rows that are stored of a query, at most limit (1 to 1000).
	Preview(ctx context.Context, id string, limit int) (*messages.Preview, error)
	// Services tells how the services stand that there are definitions of, or that queries have used.
	Services(ctx context.Context) (*messages.ServiceList, error)
	// Service tells how one of them stands.
	Service(ctx context.Context, name string) (*messages.ServiceView, error)
	// Workers lists the workers that are there.
	Workers(ctx context.Context) (*messages.WorkerList, error)
}
