package braid

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/messages"
)

// EventKind is what an Event tells.
type EventKind string

// The kinds of events.
const (
	EventStatus  EventKind = "status"  // how the query stands
	EventRemoved EventKind = "removed" // it was removed: the last event
	EventEnd     EventKind = "end"     // it has settled, and goes on only when somebody resumes it: the last event
)

// Event is one event of a query that is watched.
type Event struct {
	ID     string // what a later Watch goes on behind; empty where the server does not tell events by itself
	Kind   EventKind
	Query  string              // the whole id
	Status *messages.Status    // of EventStatus
	State  messages.QueryState // of EventEnd
}

const (
	eventRetry    = 2 * time.Second // until the server says another time
	maxEventRetry = time.Minute
	// eventSilence is after how long without a sign of life a stream is taken for lost: a server sends one every 15 s.
	eventSilence  = 50 * time.Second
	eventOutage   = 5 * time.Minute // without a stream; then Watch gives up
	pollEvery     = time.Second     // where the server tells no events by itself
	maxEventBytes = 1 << 20
	maxEventID    = 64
)

var errSilent = errors.New("the server sends nothing any more")

// Watch tells how a query stands and each change of it, until it has settled or is removed: the last event is of the kind EventEnd or
// EventRemoved. It begins behind the event with the id last, as far as the server remembers, or with how the query stands when last is
// empty; nothing at all comes when the event that it names was the last one. A stream that breaks off is taken up where it was, and a server that tells
// no events is asked again and again. The one error, with a nil event, is that of a server that refuses or cannot be reached: at once
// when there was no stream yet, and after some minutes when there was.
func (c *Client) Watch(ctx context.Context, id, last string) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		path, err := queryPath(id, "")
		if err != nil {
			yield(nil, err)
			return
		}
		w := &watch{client: c, path: path, last: last, retry: eventRetry, yield: yield}
		for over := false; !over; {
			over = w.follow(ctx)
		}
	}
}

// watch follows one query over as many connections as it takes.
type watch struct {
	client *Client
	path   string
	last   string // id of the last event
	retry  time.Duration
	lost   time.Time // since when there is no stream; zero: there is one, or was none yet
	had    bool      // a stream, or an answer
	done   bool      // the last event was told, or nobody listens any more
	yield  func(*Event, error) bool
	take   func(kind EventKind, data string) error // tells one event; nil: as one of a query
}

// tell passes on an event, and notes when it was the last.
func (w *watch) tell(e *Event) {
	if !w.yield(e, nil) || e.Kind != EventStatus {
		w.done = true
	}
}

func (w *watch) fail(err error) bool {
	w.yield(nil, err)
	return true
}

// follow opens one stream and tells its events. It tells whether the watch is over.
func (w *watch) follow(ctx context.Context) bool {
	err := w.stream(ctx)
	var said *ServerError
	switch {
	case w.done:
		return true
	case ctx.Err() != nil:
		return w.fail(context.Cause(ctx))
	case w.take == nil && errors.As(err, &said) && contract.KindAt(said.Type).Slug == contract.NoRoute:
		return w.poll(ctx)
	case errors.Is(err, messages.ErrNotFound) && w.had:
		w.tell(&Event{Kind: EventRemoved, Query: strings.TrimPrefix(w.path, queriesPath+"/")})
		return true
	case errors.As(err, &said) && said.Status < http.StatusInternalServerError && said.Status != http.StatusTooManyRequests, err != nil && !w.had:
		return w.fail(err)
	}
	now := time.Now()
	if w.lost.IsZero() {
		w.lost = now
	}
	if err != nil && now.Sub(w.lost) > eventOutage {
		return w.fail(err)
	}
	if !sleep(ctx, w.retry) {
		return w.fail(context.Cause(ctx))
	}
	return false
}

// stream tells the events of one connection. The error is nil when the server ended it.
func (w *watch) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	request, err := w.client.request(ctx, http.MethodGet, w.path+"/events", nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "text/event-stream, application/problem+json")
	if w.last != "" {
		request.Header.Set("Last-Event-ID", w.last)
	}
	silence := time.AfterFunc(eventSilence, func() { cancel(errSilent) })
	defer silence.Stop()
	response, err := w.client.http.Do(request)
	if err != nil {
		return w.client.broken(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	switch {
	case response.StatusCode == http.StatusNoContent:
		w.done = true
		return nil
	case response.StatusCode != http.StatusOK:
		return w.client.refusal(response)
	case !isMedia(response, "text/event-stream"):
		return w.client.stranger(response)
	}
	w.had, w.lost = true, time.Time{}
	return w.read(ctx, response.Body, func() { silence.Reset(eventSilence) })
}

// read parses a stream of events (WHATWG HTML, 9.2.6), each of bounded size.
func (w *watch) read(ctx context.Context, body io.Reader, alive func()) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxEventBytes)
	kind, data, id := "", "", w.last
	for lines.Scan() {
		alive()
		line := strings.TrimSuffix(lines.Text(), "\r")
		if line == "" {
			w.last = id // only now: an event that broke off was not seen
			if err := w.dispatch(EventKind(kind), data); err != nil || w.done {
				return err
			}
			kind, data = "", ""
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			kind = value
		case "data":
			if data += value; len(data) > maxEventBytes {
				return fmt.Errorf("%w at %s: an event has more than %d bytes", ErrServer, w.client.base, maxEventBytes)
			}
		case "id":
			if len(value) <= maxEventID && !strings.ContainsRune(value, 0) {
				id = value
			}
		case "retry":
			if ms, err := strconv.Atoi(value); err == nil && ms >= 0 {
				w.retry = min(max(time.Duration(ms)*time.Millisecond, 10*time.Millisecond), maxEventRetry)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return w.client.broken(ctx, err)
	}
	return nil
}

// dispatch tells one event. Kinds that this build does not know are passed over.
func (w *watch) dispatch(kind EventKind, data string) error {
	if data == "" {
		return nil
	}
	if w.take != nil {
		return w.take(kind, data)
	}
	e := &Event{ID: w.last, Kind: kind}
	var err error
	switch kind {
	case EventStatus:
		if e.Status, err = decodeStatus([]byte(data)); err == nil {
			e.Query = e.Status.Query.ID
			w.path = queriesPath + "/" + url.PathEscape(e.Query) // a newer query is not the latest one that was asked for
		}
	case EventRemoved, EventEnd:
		var named struct {
			ID    string
			State messages.QueryState
		}
		err = json.Unmarshal([]byte(data), &named)
		e.Query, e.State = named.ID, named.State
	default:
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w at %s: event %.20q: %w", ErrServer, w.client.base, kind, err)
	}
	w.tell(e)
	return nil
}

// poll asks again and again how the query stands, for servers that tell no events.
func (w *watch) poll(ctx context.Context) bool {
	id := strings.TrimPrefix(w.path, queriesPath+"/")
	var last *messages.Status
	for {
		status, err := w.client.Status(ctx, id)
		var said *ServerError
		switch {
		case ctx.Err() != nil:
			return w.fail(context.Cause(ctx))
		case errors.Is(err, messages.ErrNotFound) && last != nil:
			w.tell(&Event{Kind: EventRemoved, Query: id})
			return true
		case err != nil && (last == nil || errors.As(err, &said) && said.Status < http.StatusInternalServerError || time.Since(w.lost) > eventOutage):
			return w.fail(err)
		case err == nil:
			id, w.lost = status.Query.ID, time.Now()
			if last == nil || changed(last, status) {
				w.tell(&Event{Kind: EventStatus, Query: id, Status: status})
			}
			last = status
			if q := status.Query; !w.done && !q.State.Active() && !q.ResumesByItself() {
				w.tell(&Event{Kind: EventEnd, Query: id, State: q.State})
			}
		}
		if w.done {
			return true
		}
		if !sleep(ctx, pollEvery) {
			return w.fail(context.Cause(ctx))
		}
	}
}

func changed(a, b *messages.Status) bool {
	if a.Query.State != b.Query.State || a.Query.Run != b.Query.Run || !a.Query.Updated.Equal(b.Query.Updated) {
		return true
	}
	return a.Progress != nil && b.Progress != nil && !a.Progress.Updated.Equal(b.Progress.Updated) || (a.Progress == nil) != (b.Progress == nil)
}

// sleep waits; false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
