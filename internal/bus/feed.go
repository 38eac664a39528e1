package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/pkg/journal"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// feedConsumer is the durable consumer of each stream that the ledger reads. It is the ledger's position: whoever goes on with it reads
// behind what was acknowledged last.
const feedConsumer = "ledger"

const (
	feedAckWait = 15 * time.Second // a batch that takes longer comes again, and does no harm
	feedPending = 1000             // told and not acknowledged, at most
	feedAhead   = 100              // messages that the client holds
)

// feedSpec says where a feed's records are.
type feedSpec struct {
	stream      string
	subjects    []string
	headersOnly bool
	whole       bool // every message of the stream is of the feed: what is not told was removed
	read        func(r *journal.Record, msg jetstream.Msg)
}

func feedOf(feed journal.Feed) (feedSpec, error) {
	switch feed { //nolint:exhaustive // the other file has the others
	case journal.Queries:
		return feedSpec{stream: streamOf(bucketQueries), subjects: []string{"$KV." + bucketQueries + "." + queryKey + "*"}, read: readQueryRecord}, nil
	case journal.Results:
		return feedSpec{stream: streamResults, subjects: []string{"braid.result.>"}, headersOnly: true, whole: true, read: readResultRecord}, nil
	case journal.Events:
		return feedSpec{stream: streamEvents, subjects: []string{"braid.event.>"}, whole: true, read: readEventRecord}, nil
	}
	return feedOfLoad(feed)
}

// Journal gives the records of all streams to one reader, which may be in any process: a record that it has acknowledged is told to
// nobody any more. It is safe for concurrent use.
type Journal struct {
	bus *Bus

	mu     sync.Mutex
	missed map[journal.Feed]uint64
}

// Journal gives the journal of all streams.
func (b *Bus) Journal() *Journal {
	return &Journal{bus: b, missed: map[journal.Feed]uint64{}}
}

var _ journal.Source = (*Journal)(nil)

// Open makes the consumer of a feed where there is none, and reads from it.
func (j *Journal) Open(ctx context.Context, feed journal.Feed) (journal.Reader, error) {
	spec, err := feedOf(feed)
	if err != nil {
		return nil, err
	}
	renewed := j.bus.renewed()
	ctx, cancel := j.bus.permitted(ctx)
	defer cancel()
	consumer, err := j.bus.js.CreateOrUpdateConsumer(ctx, spec.stream, jetstream.ConsumerConfig{
		Durable: feedConsumer, FilterSubjects: spec.subjects, DeliverPolicy: jetstream.DeliverAllPolicy, HeadersOnly: spec.headersOnly,
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: feedAckWait, MaxAckPending: feedPending, MaxDeliver: -1,
		Description: "the position of Braid's ledger",
	})
	if err != nil {
		return nil, fmt.Errorf("open the feed of %s: %w", feed, j.bus.explained(translateAsset(ctx, err)))
	}
	incoming, err := consumer.Messages(jetstream.PullMaxMessages(feedAhead), jetstream.PullExpiry(10*time.Second), jetstream.PullHeartbeat(pullHeartbeat))
	if err != nil {
		return nil, fmt.Errorf("open the feed of %s: %w", feed, translate(err))
	}
	delivered := consumer.CachedInfo().Delivered
	r := &feedReader{
		feed: feed, spec: spec, incoming: incoming, done: make(chan struct{}), gaps: gaps{consumer: delivered.Consumer, stream: delivered.Stream},
		missed: func(n uint64) { j.miss(feed, n) }, bus: j.bus,
	}
	go r.endWith(renewed)
	return r, nil
}

// endWith ends the reading when the connection is made anew.
func (r *feedReader) endWith(renewed <-chan struct{}) {
	select {
	case <-renewed:
		r.incoming.Stop()
	case <-r.done:
	}
}

func (j *Journal) miss(feed journal.Feed, n uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.missed[feed] += n
}

func (j *Journal) missedOf(feed journal.Feed) uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.missed[feed]
}

// Lag asks the server how far the feed's consumer is.
func (j *Journal) Lag(ctx context.Context, feed journal.Feed) (journal.Lag, error) {
	spec, err := feedOf(feed)
	if err != nil {
		return journal.Lag{}, err
	}
	lag, err := j.lag(ctx, feed, spec)
	if err != nil {
		return journal.Lag{}, fmt.Errorf("ask for the lag of the feed of %s: %w", feed, j.bus.explained(translateAsset(ctx, err)))
	}
	return lag, nil
}

func (j *Journal) lag(ctx context.Context, feed journal.Feed, spec feedSpec) (journal.Lag, error) {
	stream, err := j.bus.js.Stream(ctx, spec.stream)
	if err != nil {
		return journal.Lag{}, err
	}
	info := stream.CachedInfo()
	lag := journal.Lag{KeptFor: info.Config.MaxAge, Drops: info.Config.Discard == jetstream.DiscardOld}
	if info.Config.MaxBytes > 0 {
		lag.Room = float64(info.State.Bytes) / float64(info.Config.MaxBytes)
	}
	consumer, err := stream.Consumer(ctx, feedConsumer)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		lag.Unread = info.State.Msgs // nobody has read anything yet
		lag.Oldest = info.State.FirstTime
		return lag, nil
	}
	if err != nil {
		return journal.Lag{}, err
	}
	state := consumer.CachedInfo()
	lag.Unread = state.NumPending + uint64(max(state.NumAckPending, 0))
	lag.Missed = j.missedOf(feed)
	if lag.Unread == 0 {
		return lag, nil
	}
	for _, subject := range spec.subjects {
		request, err := json.Marshal(map[string]any{"seq": max(state.AckFloor.Stream+1, info.State.FirstSeq), "next_by_subj": subject})
		if err != nil {
			return journal.Lag{}, err
		}
		found, err := j.bus.read(ctx, spec.stream, request)
		if err != nil {
			return journal.Lag{}, err
		}
		if found != nil && (lag.Oldest.IsZero() || found.Time.Before(lag.Oldest)) {
			lag.Oldest = found.Time
		}
	}
	return lag, nil
}

// feedReader reads with one pull subscription. For one goroutine.
type feedReader struct {
	feed     journal.Feed
	spec     feedSpec
	incoming jetstream.MessagesContext
	done     chan struct{}
	gaps     gaps
	missed   func(uint64)
	bus      *Bus
	snapshot *load.Snapshot // that was read last
}

// Next waits for a record. A connection that was made anew ends the reading: the server may know nothing of its pull.
func (r *feedReader) Next(ctx context.Context) (*journal.Record, error) {
	msg, err := r.incoming.Next(jetstream.NextContext(ctx))
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, jetstream.ErrMsgIteratorClosed):
		return nil, fmt.Errorf("read the feed of %s: %w", r.feed, errRenewed)
	case err != nil:
		return nil, fmt.Errorf("read the feed of %s: %w", r.feed, translate(err))
	}
	meta, err := msg.Metadata()
	if err != nil {
		return nil, fmt.Errorf("read the feed of %s: %w", r.feed, err)
	}
	if gone := r.gaps.before(meta); gone > 0 && r.spec.whole {
		r.missed(gone)
	}
	record := &journal.Record{Feed: r.feed, Sequence: meta.Sequence.Stream, Stored: meta.Timestamp, Subject: msg.Subject(), Ack: msg.Ack}
	r.spec.read(record, msg)
	r.addCharts(ctx, record)
	return record, nil
}

// Close ends the reading. What the client holds goes back at once, for whoever reads next; what was told and not acknowledged is told again
// when its time is over.
func (r *feedReader) Close() {
	close(r.done)
	defer r.incoming.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), tidyWait)
	defer cancel()
	r.incoming.Drain()
	for {
		msg, err := r.incoming.Next(jetstream.NextContext(ctx))
		if err != nil {
			return // that was all, or the server is away
		}
		_ = msg.Nak() // else it comes again later
	}
}

// gaps finds what was removed from a stream before the consumer came to it. The consumer counts what it tells, whoever reads: between two
// messages with consecutive counts it has passed over what was not there any more.
type gaps struct {
	consumer, stream uint64 // of the last message
	unsure           bool   // somebody else was told something since
}

func (g *gaps) before(meta *jetstream.MsgMetadata) (gone uint64) {
	if meta.Sequence.Consumer != g.consumer+1 {
		g.unsure = true
	}
	g.consumer = meta.Sequence.Consumer
	if meta.NumDelivered > 1 || meta.Sequence.Stream <= g.stream {
		return 0 // told again
	}
	if !g.unsure {
		gone = meta.Sequence.Stream - g.stream - 1
	}
	g.stream, g.unsure = meta.Sequence.Stream, false
	return gone
}

// isRemoval tells of a marker in the place of a key's value.
func isRemoval(msg jetstream.Msg) bool {
	return len(msg.Data()) == 0 || slices.Contains([]string{"DEL", "PURGE"}, msg.Headers().Get("KV-Operation"))
}

func readQueryRecord(r *journal.Record, msg jetstream.Msg) {
	id := strings.TrimPrefix(msg.Subject(), "$KV."+bucketQueries+"."+queryKey)
	if isRemoval(msg) {
		r.RemovedQuery = id
		return
	}
	r.Query, r.Bad = messages.DecodeQuery(msg.Data())
	if r.Bad == nil && r.Query.ID != id {
		r.Query, r.Bad = nil, fmt.Errorf("%w: the record of %s under %s", messages.ErrInvalid, r.Query.ID, msg.Subject())
	}
}

func readResultRecord(r *journal.Record, msg jetstream.Msg) {
	r.Result, r.Bad = messages.DecodeResultHeader([]byte(msg.Headers().Get(resultHeader)))
	if r.Bad == nil && resultSubject(r.Result.Query, r.Result.Position) != msg.Subject() {
		r.Result, r.Bad = nil, fmt.Errorf("%w: a result of %s/%s under %s", messages.ErrInvalid, r.Result.Query, r.Result.Position, msg.Subject())
	}
}

func readEventRecord(r *journal.Record, msg jetstream.Msg) {
	query, kind, _ := strings.Cut(strings.TrimPrefix(msg.Subject(), "braid.event."), ".")
	of := query
	switch kind {
	case eventExecution:
		if r.Executions, r.Bad = messages.DecodeExecutions(msg.Data()); r.Bad == nil {
			of = r.Executions.Query
		}
	case eventInterruption:
		if r.Interruption, r.Bad = messages.DecodeInterruption(msg.Data()); r.Bad == nil {
			of = r.Interruption.Query
		}
	}
	if of != query {
		r.Executions, r.Interruption, r.Bad = nil, nil, fmt.Errorf("%w: an event of %s under %s", messages.ErrInvalid, of, msg.Subject())
	}
}
