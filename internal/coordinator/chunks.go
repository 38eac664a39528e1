package coordinator

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

const (
	mostEvents   = 20_000 // that are looked through for one position
	mostAttempts = 200
	mostPages    = 1000
)

// Chunks lists positions of a query that stand so, from a position on, in order: those of the plan, and behind one that is split what it
// is split into. An empty state is each, an empty from the first. A child without a result is in flight when an item of the plan's
// position that it came from is.
func (c *Coordinator) Chunks(ctx context.Context, id string, state messages.ChunkState, from messages.Position, limit int) (*messages.ChunkList, error) {
	if state != "" && state.Check() != nil {
		return nil, query.Parameterf("state", "%v", state.Check())
	}
	if err := within("limit", limit, 1, MaxListed); err != nil {
		return nil, err
	}
	if from == "" {
		from = messages.PositionAt(0)
	}
	if _, err := messages.ParsePosition(string(from)); err != nil {
		return nil, query.Parameterf("from", "%v; write it as 17, or 17.0.1", err)
	}
	w, err := c.watch(ctx, id)
	if err != nil {
		return nil, err
	}
	list := &messages.ChunkList{V: messages.Version, Query: w.query.ID, Chunks: []messages.Chunk{}}
	var found []listed
	w.picture.look(w, c.ports.Now(), func(r *reading, reading bool) {
		list.Reading = reading
		found = r.chart.list(state, from, limit+1, w.spans)
	})
	if len(found) > limit {
		list.Next, found = found[limit].position, found[:limit]
	}
	headers, err := c.headers(ctx, w.query.ID, found)
	if err != nil {
		return nil, err
	}
	for _, l := range found {
		list.Chunks = append(list.Chunks, chunkOf(l, headers[l.position], w.query.Run))
	}
	return list, nil
}

// headers reads what the results of positions say.
func (c *Coordinator) headers(ctx context.Context, id string, found []listed) (map[messages.Position]*messages.ResultHeader, error) {
	var have []messages.Position
	for _, l := range found {
		if l.mark != unmarked {
			have = append(have, l.position)
		}
	}
	if c.ports.Glances == nil || len(have) == 0 {
		return nil, nil
	}
	headers, err := c.ports.Glances.ResultHeaders(ctx, id, have)
	if err != nil {
		return nil, fmt.Errorf("chunks of %s: %w", id, err)
	}
	byPosition := make(map[messages.Position]*messages.ResultHeader, len(headers))
	for _, h := range headers {
		byPosition[h.Position] = h
	}
	return byPosition, nil
}

// chunkOf says of a position what its result says, when that is one of the run's or stays.
func chunkOf(l listed, h *messages.ResultHeader, run int) messages.Chunk {
	chunk := messages.Chunk{Position: l.position, State: l.state()}
	if h == nil || markOf(h) == markFailed && h.Run < run {
		return chunk
	}
	chunk.Rows, chunk.Pages, chunk.Requests, chunk.Bytes, chunk.Run, chunk.Worker = h.Rows, h.Pages, h.Requests, h.Bytes, h.Run, h.Worker
	chunk.Started, chunk.Finished, chunk.SlotWait, chunk.Upstream = h.Started, h.Finished, h.SlotWait, h.Upstream
	if h.Failure != nil {
		chunk.Class, chunk.Message = h.Failure.Class, h.Failure.Message
	}
	return chunk
}

// Chunk tells all that is known of one position. A position that the plan does not have, or that no split made, wraps messages.ErrNotFound.
func (c *Coordinator) Chunk(ctx context.Context, id string, at messages.Position) (*messages.ChunkDetail, error) {
	if _, err := messages.ParsePosition(string(at)); err != nil {
		return nil, query.Parameterf("position", "%v; write it as 17, or 17.0.1", err)
	}
	w, err := c.watch(ctx, id)
	if err != nil {
		return nil, err
	}
	l := listed{position: at}
	counts, partly := false, false
	w.picture.look(w, c.ports.Now(), func(r *reading, partial bool) {
		l.mark, counts, partly = r.chart.own(at), r.chart.done.Counts(at), partial
	})
	l.flying = l.mark == unmarked && flies(w.spans, at.Index())
	if at.Index() >= w.query.Chunks || !counts && !partly {
		return nil, fmt.Errorf("position %s of query %s: %w: the plan has %d positions, and a split one has two below it",
			at, w.query.ID, messages.ErrNotFound, w.query.Chunks)
	}
	return c.detail(ctx, w, l, partly)
}

func (c *Coordinator) detail(ctx context.Context, w *watched, l listed, reading bool) (*messages.ChunkDetail, error) {
	id := w.query.ID
	detail := &messages.ChunkDetail{
		V: messages.Version, Query: id, Attempts: []messages.Execution{}, StoredPages: []messages.ChunkPage{}, Interruptions: []*messages.Interruption{},
	}
	var h *messages.ResultHeader
	if c.ports.Glances != nil {
		found, err := c.ports.Glances.ResultHeaders(ctx, id, []messages.Position{l.position})
		if err != nil {
			return nil, fmt.Errorf("chunk %s of %s: %w", l.position, id, err)
		}
		if len(found) > 0 {
			h = found[0]
			l.mark, l.flying = markOf(h), false
			if l.mark == markFailed && h.Run < w.query.Run {
				l.mark, l.flying, h = unmarked, flies(w.spans, l.position.Index()), nil
			}
		}
	}
	if l.position.IsChild() && reading && h == nil {
		return nil, fmt.Errorf("position %s of query %s: %w so far: what is stored is still being read; ask again", l.position, id, messages.ErrNotFound)
	}
	detail.Chunk = chunkOf(l, h, w.query.Run)
	if h != nil {
		detail.Failure = h.Failure
	}
	if first, second, ok := l.position.Children(); ok && l.mark == markSplit {
		detail.Children = []messages.Position{first, second}
	}
	if err := c.asked(ctx, w, detail); err != nil {
		return nil, err
	}
	if c.ports.Glances == nil {
		return detail, nil
	}
	if err := c.pagesOf(ctx, detail, h); err != nil {
		return nil, err
	}
	return detail, c.eventsOf(ctx, detail, h == nil)
}

// asked tells what the position asks for. It is left out when this build plans the query differently.
func (c *Coordinator) asked(ctx context.Context, w *watched, detail *messages.ChunkDetail) error {
	p, err := w.open(ctx, c)
	if err != nil {
		if unrunnable(err) {
			return nil
		}
		return err
	}
	chunk, ok := p.chunkAt(detail.Position)
	if !ok {
		return nil
	}
	detail.Asks = messages.Text(p.describe(chunk))
	if p.definition.Adapter != "" {
		return nil
	}
	request, err := p.collection.Request(chunk.Values)
	if err != nil {
		return fmt.Errorf("chunk %s of %s: %w", detail.Position, detail.Query, err)
	}
	detail.URL = messages.Text(request.URL)
	return nil
}

// pagesOf lists the stored pages of a position's walks, by walk and number, and behind those of the result's walk its last page.
func (c *Coordinator) pagesOf(ctx context.Context, detail *messages.ChunkDetail, h *messages.ResultHeader) error {
	var rows int64 // of the stored pages that are the result's
	order := map[string]int{}
	err := c.ports.Glances.PagesAt(ctx, detail.Query, detail.Position, func(page *messages.Page) {
		if page.Ended || len(detail.StoredPages) >= mostPages {
			return
		}
		if _, known := order[page.Walk]; !known {
			order[page.Walk] = len(order)
		}
		if h != nil && page.Walk == h.Walk && page.Page < h.StoredPages {
			rows += page.Rows
		}
		detail.StoredPages = append(detail.StoredPages, messages.ChunkPage{
			Page: page.Page, Walk: page.Walk, Rows: page.Rows, Bytes: page.Bytes, Request: page.Request, At: page.Fetched,
		})
	})
	if err != nil {
		return fmt.Errorf("pages of chunk %s of %s: %w", detail.Position, detail.Query, err)
	}
	if h != nil && h.Failure == nil && h.LastPage != nil && len(detail.StoredPages) < mostPages {
		last := messages.ChunkPage{Page: h.StoredPages, Walk: h.Walk, Rows: max(h.Rows-rows, 0), Request: h.LastPage, At: h.LastPage.Sent}
		var bytes int64
		for _, page := range detail.StoredPages {
			if page.Walk == h.Walk && page.Page < h.StoredPages {
				bytes += page.Bytes
			}
		}
		last.Bytes = max(h.Bytes-bytes, 0)
		if _, known := order[h.Walk]; !known {
			order[h.Walk] = len(order)
		}
		detail.StoredPages = append(detail.StoredPages, last)
	}
	slices.SortStableFunc(detail.StoredPages, func(a, b messages.ChunkPage) int {
		return cmp.Or(cmp.Compare(order[a.Walk], order[b.Walk]), cmp.Compare(a.Page, b.Page))
	})
	return nil
}

// eventsOf tells what workers told of a position, as far as it is among the newest events of the query.
// Of a chunk without a result they tell too how many requests it has taken.
func (c *Coordinator) eventsOf(ctx context.Context, detail *messages.ChunkDetail, unfinished bool) error {
	attempts, counted := 0, len(detail.StoredPages)
	err := c.ports.Glances.Events(ctx, detail.Query, mostEvents, func(m *messages.Interruption) {
		if m.Position == detail.Position {
			detail.Interruptions = newest(detail.Interruptions, m, mostTold)
			counted += m.Requests
		}
	}, func(m *messages.Executions) {
		for _, e := range m.Executions {
			if e.Position == detail.Position {
				detail.Attempts = newest(detail.Attempts, e, mostAttempts)
				attempts++
			}
		}
	})
	if err != nil {
		return fmt.Errorf("events of chunk %s of %s: %w", detail.Position, detail.Query, err)
	}
	if unfinished { // attempts are told of later than interruptions, and not told of where a worker died
		detail.Requests = max(attempts, counted)
	}
	slices.SortStableFunc(detail.Attempts, func(a, b messages.Execution) int { return a.Sent.Compare(b.Sent) })
	slices.SortStableFunc(detail.Interruptions, func(a, b *messages.Interruption) int { return a.At.Compare(b.At) })
	return nil
}

// newest appends, and drops the oldest of too many.
func newest[T any](list []T, one T, most int) []T {
	if list = append(list, one); len(list) > most {
		return list[1:]
	}
	return list
}
