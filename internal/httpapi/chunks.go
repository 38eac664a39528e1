package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/pkg/messages"
)

const (
	chunksPath = queryPath + "/chunks"
	chunkPath  = chunksPath + "/{position}"
)

type chunksInput struct {
	One
	State string `query:"state" maxLength:"20" doc:"Only those that are pending, in_flight, done, empty, split or failed"`
	From  string `query:"from" maxLength:"400" doc:"The first position, such as 17 or 17.0.1"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most so many; next says where to go on"`
}

type chunksOutput struct{ Body *messages.ChunkList }

type chunkInput struct {
	One
	Position string `path:"position" maxLength:"400" doc:"The position in the plan, such as 17, or 17.0.1 of what was split"`
}

type chunkOutput struct{ Body *messages.ChunkDetail }

func (a *api) routeChunks() {
	huma.Register(a.huma, a.operation("list-chunks", http.MethodGet, chunksPath, "List positions of a query with what is known of them"), a.chunks)
	huma.Register(a.huma, a.operation("show-chunk", http.MethodGet, chunkPath, "Tell all that is known of one position: what it asks for, its attempts, pages and interruptions"), a.chunk)
}

func (a *api) chunks(ctx context.Context, in *chunksInput) (*chunksOutput, error) {
	list, err := view(a, &in.One, "list chunks", func(id string) (*messages.ChunkList, error) {
		return a.ports.Views.Chunks(ctx, id, messages.ChunkState(in.State), messages.Position(in.From), in.Limit)
	})
	if err != nil {
		return nil, err
	}
	return &chunksOutput{list}, nil
}

func (a *api) chunk(ctx context.Context, in *chunkInput) (*chunkOutput, error) {
	detail, err := view(a, &in.One, "show chunk", func(id string) (*messages.ChunkDetail, error) {
		return a.ports.Views.Chunk(ctx, id, messages.Position(in.Position))
	})
	if err != nil {
		return nil, err
	}
	return &chunkOutput{detail}, nil
}
