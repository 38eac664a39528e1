package braid

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

// Grid counts where the positions of a query's plan stand.
func (c *Client) Grid(ctx context.Context, id string, from, to, bins int) (*messages.Grid, error) {
	values := url.Values{"from": {strconv.Itoa(from)}, "to": {strconv.Itoa(to)}, "bins": {strconv.Itoa(bins)}}
	path, err := queryPath(id, "/grid?"+values.Encode())
	if err != nil {
		return nil, err
	}
	return call(ctx, c, http.MethodGet, path, nil, maxAnswerBytes, messages.DecodeGrid)
}

// Series tells how a query went over time.
func (c *Client) Series(ctx context.Context, id string, points int) (*messages.Series, error) {
	path, err := queryPath(id, "/series?points="+strconv.Itoa(points))
	if err != nil {
		return nil, err
	}
	return call(ctx, c, http.MethodGet, path, nil, maxListBytes, messages.DecodeSeries)
}

// Chunks lists positions of a query.
func (c *Client) Chunks(ctx context.Context, id string, state messages.ChunkState, from messages.Position, limit int) (*messages.ChunkList, error) {
	values := url.Values{"limit": {strconv.Itoa(limit)}}
	if state != "" {
		values.Set("state", string(state))
	}
	if from != "" {
		values.Set("from", string(from))
	}
	path, err := queryPath(id, "/chunks?"+values.Encode())
	if err != nil {
		return nil, err
	}
	return call(ctx, c, http.MethodGet, path, nil, maxListBytes, messages.DecodeChunkList)
}

// Chunk tells all that is known of one position.
func (c *Client) Chunk(ctx context.Context, id string, at messages.Position) (*messages.ChunkDetail, error) {
	if _, err := messages.ParsePosition(string(at)); err != nil {
		return nil, query.Parameterf("position", "%v; write it as 17, or 17.0.1", err)
	}
	path, err := queryPath(id, "/chunks/"+string(at))
	if err != nil {
		return nil, err
	}
	return call(ctx, c, http.MethodGet, path, nil, maxListBytes, messages.DecodeChunkDetail)
}

// Preview gives the first rows that are stored of a query.
func (c *Client) Preview(ctx context.Context, id string, limit int) (*messages.Preview, error) {
	path, err := queryPath(id, "/rows?limit="+strconv.Itoa(limit))
	if err != nil {
		return nil, err
	}
	return call(ctx, c, http.MethodGet, path, nil, maxListBytes, messages.DecodePreview)
}

// Services tells how the services stand.
func (c *Client) Services(ctx context.Context) (*messages.ServiceList, error) {
	return call(ctx, c, http.MethodGet, apiPath+"services", nil, maxListBytes, messages.DecodeServiceList)
}

// Service tells how one service stands.
func (c *Client) Service(ctx context.Context, name string) (*messages.ServiceView, error) {
	if err := messages.CheckName(name); err != nil {
		return nil, fmt.Errorf("service %.40q: %w", name, messages.ErrNotFound)
	}
	return call(ctx, c, http.MethodGet, apiPath+"services/"+name, nil, maxListBytes, messages.DecodeServiceView)
}

// Workers lists the workers that are there.
func (c *Client) Workers(ctx context.Context) (*messages.WorkerList, error) {
	return call(ctx, c, http.MethodGet, apiPath+"workers", nil, maxListBytes, messages.DecodeWorkerList)
}
