package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/internal/httpapi/feed"
)

const (
	eventsPath      = queryPath + "/events"
	allEventsPath   = "/v1/events"
	eventStreamType = "text/event-stream"

	keepAliveEvery = 15 * time.Second
	// firstWait is how long it may take until the feed knows how things stand.
	firstWait = 10 * time.Second
	// placeWait is how long an answer waits for the feed to see a query that was made just now, so that it can still be 204.
	placeWait = time.Second
	// retryLine says after how many milliseconds a client that lost its stream asks again.
	retryLine     = "retry: 2000\n\n"
	keepAliveLine = ": keep-alive\n\n"
	stoppingLine  = ": the server is stopping\nretry: 2000\n\n"
)

// Behind is the input of a route that tells events.
type Behind struct {
	LastEventID string `header:"Last-Event-ID" maxLength:"64" doc:"Id of the last event that was seen: those behind it that are still remembered are sent again; without it, and with one that is not known, the stream begins with how things stand"`
	LastID      string `query:"last_event_id" maxLength:"64" doc:"The same, for clients that cannot set the header"`
}

func (in *Behind) mark() feed.Mark {
	if in.LastEventID != "" {
		return feed.ParseMark(in.LastEventID)
	}
	return feed.ParseMark(in.LastID)
}

type watchInput struct {
	One
	Behind
}

func (a *api) routeEvents() {
	one := a.operation("watch-query", http.MethodGet, eventsPath, "Follow a query by server-sent events")
	one.Description = "Each event `status` has the query with its progress: at once, and then at each change, at most four a second, and fewer where hundreds follow; a change of state or run is always told. " +
		"`removed` says that the query is gone. `end` is the last event of a query that has settled; the stream then ends, and who asks again with its id gets 204."
	a.describeEvents(&one)
	one.Responses["204"] = &huma.Response{Description: "The query has settled, and the last event was seen"}
	huma.Register(a.huma, one, a.watchQuery)
	all := a.operation("watch-queries", http.MethodGet, allEventsPath, "Follow all queries by server-sent events")
	all.Description = "The events `status` and `removed` of all queries. It begins with how the queries stand that have not settled, and the last thousand of the others."
	a.describeEvents(&all)
	huma.Register(a.huma, all, a.watchQueries)
}

func (*api) describeEvents(op *huma.Operation) {
	op.Responses["200"] = &huma.Response{Description: "Server-sent events", Content: map[string]*huma.MediaType{
		eventStreamType: {Schema: &huma.Schema{Type: huma.TypeString}},
	}}
}

func (a *api) watchQuery(ctx context.Context, in *watchInput) (*huma.StreamResponse, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("watch query", err)
	}
	if err := a.feedReady(ctx); err != nil {
		return nil, err
	}
	// Whether the query is there is asked of the store: the feed hears of a new one a moment later.
	status, err := a.ports.Views.Status(ctx, id)
	if err != nil {
		return nil, a.failure("watch query", err)
	}
	id = status.Query.ID
	reader := a.ports.Feed.Query(id, in.mark())
	over, err := a.placed(ctx, reader, id)
	if err != nil {
		reader.Close()
		return nil, a.failure("watch query", err)
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer reader.Close()
		r, w := humago.Unwrap(ctx)
		if over {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		defer a.subscribed()()
		stream(w, r, reader, (*feed.Event).ID)
	}}, nil
}

func (a *api) watchQueries(ctx context.Context, in *Behind) (*huma.StreamResponse, error) {
	if err := a.feedReady(ctx); err != nil {
		return nil, err
	}
	reader := a.ports.Feed.All(in.mark())
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer reader.Close()
		r, w := humago.Unwrap(ctx)
		defer a.subscribed()()
		stream(w, r, reader, (*feed.Event).Through)
	}}, nil
}

// feedReady waits until the feed knows how things stand.
func (a *api) feedReady(ctx context.Context) error {
	if a.ports.Feed == nil {
		return problem(contract.NotReady, "this server tells no events; ask for the queries again and again instead")
	}
	timer := time.NewTimer(firstWait)
	defer timer.Stop()
	select {
	case <-a.ports.Feed.Ready():
		return nil
	case <-timer.C:
		return problem(contract.NotReady, "the server has not read yet how the queries stand; ask again")
	case <-ctx.Done():
		return a.failure("watch", context.Cause(ctx))
	}
}

// placed waits a moment until the feed has seen a query that is there. One that was removed in between is not found.
func (a *api) placed(ctx context.Context, reader *feed.Subscription, id string) (over bool, err error) {
	timer := time.NewTimer(placeWait)
	defer timer.Stop()
	for {
		known, over := reader.Place()
		if known {
			return over, nil
		}
		select {
		case <-reader.Changed():
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-timer.C:
			// Either the feed is behind, and tells it later, or the query is gone and the feed had seen that before we asked.
			_, err := a.ports.Views.Status(ctx, id)
			return false, err
		}
	}
}

// stream sends what the reader gets until it is over, the client is gone, or the server stops. The events themselves are shared by all
// readers; the ids are not: they say how much of this stream was seen.
func stream(w http.ResponseWriter, r *http.Request, reader *feed.Subscription, id func(*feed.Event) string) {
	header := w.Header()
	header.Set("Content-Type", eventStreamType)
	header.Set("X-Accel-Buffering", "no") // a proxy that collects answers would hold events back
	if r.Method == http.MethodHead {
		return
	}
	control := http.NewResponseController(w)
	send := func(line string, events []*feed.Event) error {
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
		for _, e := range events {
			if _, err := io.WriteString(w, "id: "+id(e)+"\n"); err != nil {
				return err
			}
			if _, err := w.Write(e.Bytes()); err != nil {
				return err
			}
		}
		return control.Flush()
	}
	line := retryLine
	keepAlive := time.NewTicker(keepAliveEvery)
	defer keepAlive.Stop()
	for {
		events, over := reader.Take()
		if over && len(events) == 0 {
			line += stoppingLine
		}
		if len(events) > 0 || line != "" {
			if err := send(line, events); err != nil && !errors.Is(err, http.ErrNotSupported) {
				return // the client is gone, or does not read
			}
			keepAlive.Reset(keepAliveEvery)
		}
		if over {
			return
		}
		line = wait(r.Context(), reader, keepAlive.C, len(events) > 0)
		if r.Context().Err() != nil {
			return
		}
	}
}

// wait returns when there may be something to send, with the line that goes with it. Behind an event the next one keeps its distance.
func wait(ctx context.Context, reader *feed.Subscription, keepAlive <-chan time.Time, behindEvent bool) string {
	if behindEvent {
		gap := time.NewTimer(feed.Gap)
		defer gap.Stop()
		select {
		case <-gap.C:
		case <-reader.Stopped():
			return ""
		case <-ctx.Done():
			return ""
		}
	}
	select {
	case <-reader.Changed():
	case <-ctx.Done():
	case <-keepAlive:
		return keepAliveLine
	}
	return ""
}
