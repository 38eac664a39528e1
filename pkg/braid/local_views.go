package braid

import (
	"context"

	"github.com/braidhq/braid/pkg/messages"
)

// Grid counts where the positions of a query's plan stand.
func (l *Local) Grid(ctx context.Context, id string, from, to, bins int) (*messages.Grid, error) {
	id, err := l.id(ctx, id)
	if err != nil {
		return nil, err
	}
	return l.engine.Grid(ctx, id, from, to, bins)
}

// Series tells how a query went over time.
func (l *Local) Series(ctx context.Context, id string, points int) (*messages.Series, error) {
	id, err := l.id(ctx, id)
	if err != nil {
		return nil, err
	}
	return l.engine.Series(ctx, id, points)
}

// Chunks lists positions of a query.
func (l *Local) Chunks(ctx context.Context, id string, state messages.ChunkState, from messages.Position, limit int) (*messages.ChunkList, error) {
	id, err := l.id(ctx, id)
	if err != nil {
		return nil, err
	}
	return l.engine.Chunks(ctx, id, state, from, limit)
}

// Chunk tells all that is known of one position.
func (l *Local) Chunk(ctx context.Context, id string, at messages.Position) (*messages.ChunkDetail, error) {
	id, err := l.id(ctx, id)
	if err != nil {
		return nil, err
	}
	return l.engine.Chunk(ctx, id, at)
}

// Preview gives the first rows that are stored of a query.
func (l *Local) Preview(ctx context.Context, id string, limit int) (*messages.Preview, error) {
	id, err := l.id(ctx, id)
	if err != nil {
		return nil, err
	}
	return l.engine.Preview(ctx, id, limit)
}

// Services tells how the services stand.
func (l *Local) Services(ctx context.Context) (*messages.ServiceList, error) {
	return l.engine.Services(ctx)
}

// Service tells how one service stands.
func (l *Local) Service(ctx context.Context, name string) (*messages.ServiceView, error) {
	return l.engine.Service(ctx, name)
}

// Workers lists the workers that are there.
func (l *Local) Workers(ctx context.Context) (*messages.WorkerList, error) {
	return l.engine.Workers(ctx)
}
