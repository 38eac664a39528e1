package feed

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/braidhq/braid/pkg/messages"
)

// Kind is what an event tells.
type Kind string

// The kinds of events, as they stand on the wire.
const (
	Status  Kind = "status"  // how a query stands
	Removed Kind = "removed" // a query is gone
	End     Kind = "end"     // a query has settled: nothing more comes unless somebody resumes it
)

// Event is one event of one query. It never changes, and is shared by all readers.
type Event struct {
	Kind  Kind
	Query string

	revision uint64 // of the last change of the query that it tells of
	through  uint64 // all changes of all queries up to here are told by this event and those before it
	number   uint64 // in the order of events
	kept     bool   // the first with its state and run: never passed over
	settled  bool
	size     int64 // roughly, in bytes
	lines    func() []byte
}

// Bytes gives the lines of the event on the wire (WHATWG HTML, 9.2), without its id. It is encoded once, and not to be changed.
func (e *Event) Bytes() []byte { return e.lines() }

// ID is the event's id in a stream of its query alone.
func (e *Event) ID() string {
	id := strconv.FormatUint(e.revision, 10)
	if e.Kind == End {
		id += endSuffix
	}
	return id
}

// Through is the event's id in a stream of all queries.
func (e *Event) Through() string { return strconv.FormatUint(e.through, 10) }

func encoded(kind Kind, data any) func() []byte {
	return sync.OnceValue(func() []byte {
		text, err := json.Marshal(data)
		if err != nil {
			panic(err) // records and progress are plain data, which came as JSON
		}
		return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", kind, text)
	})
}

func statusEvent(q *messages.Query, p *messages.Progress, revision uint64) *Event {
	if p == nil {
		p = &messages.Progress{V: messages.Version, Query: q.ID, Run: q.Run, Updated: q.Created} // as whoever asks is told before the first
	}
	if len(p.Quotas) > 0 && !q.NeedsQuota() {
		ended := *p
		ended.Quotas, p = nil, &ended // as they stood before the last spends were told of
	}
	status := messages.Status{Query: q, Progress: p}
	return &Event{
		Kind: Status, Query: q.ID, revision: revision, settled: !q.State.Active() && !q.ResumesByItself(),
		size: statusSize(q), lines: encoded(Status, status),
	}
}

func removedEvent(id string, revision uint64) *Event {
	data := struct {
		ID string `json:"id"`
	}{id}
	return &Event{Kind: Removed, Query: id, revision: revision, kept: true, size: eventOverhead, lines: encoded(Removed, data)}
}

func endEvent(id string, state messages.QueryState, revision uint64) *Event {
	data := struct {
		ID    string              `json:"id"`
		State messages.QueryState `json:"state"`
	}{id, state}
	return &Event{Kind: End, Query: id, revision: revision, settled: true, size: eventOverhead, lines: encoded(End, data)}
}

const eventOverhead = 1 << 10 // of a record without its texts, with its progress and as an event

// statusSize is about what a status takes, as it is kept and as it is encoded.
func statusSize(q *messages.Query) int64 {
	size := 2*eventOverhead + 2*len(q.URL)
	for _, p := range q.Only {
		size += 2 * len(p)
	}
	if q.Stop != nil {
		size += 2 * (len(q.Stop.Reason) + len(q.Stop.Hint))
	}
	return int64(size)
}
