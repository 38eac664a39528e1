// Package journal has the words in which the streams tell what happened to whoever keeps a record of it: one Record for each message, in
// the order of its stream, until it is acknowledged.
package journal

import (
	"context"
	"time"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// Feed is one stream of records, or one bucket.
type Feed string

// The feeds. That of a bucket tells the newest value of a key alone: what was overwritten before it was read is not told.
const (
	Queries Feed = "queries" // records of queries
	Results Feed = "results" // headers of results
	Events  Feed = "events"  // requests and interruptions
	Load    Feed = "load"    // executions and admissions of load runs
	Runs    Feed = "runs"    // records of load runs and profiles
)

// Feeds lists all feeds.
func Feeds() []Feed { return []Feed{Queries, Runs, Results, Events, Load} }

// Record is one message. Of the pointers at most one is set, Snapshot beside Run; none is when the key was removed, when the message cannot be read, or when
// it is of no interest.
type Record struct {
	Feed     Feed
	Sequence uint64 // in its stream; of a bucket, the revision
	Stored   time.Time
	Subject  string

	Query        *messages.Query
	Result       *messages.ResultHeader
	Executions   *messages.Executions
	Interruption *messages.Interruption
	Run          *load.Run
	Snapshot     *load.Snapshot // with Run: what it was started with, where that could be read
	Profile      *load.Profile
	Execution    *load.Execution
	Admission    *load.Admission

	RemovedQuery, RemovedRun, RemovedProfile string // id of what was removed
	Bad                                      error  // why it cannot be read

	// Ack says that the record is kept. What is not acknowledged is told again, after a while or by another process.
	Ack func() error
}

// Lag is how far behind a feed's reader is.
type Lag struct {
	Unread  uint64        // records that wait, those that were told and not acknowledged included
	Oldest  time.Time     // when the oldest of them was stored; zero: there is none, or it is not known
	Missed  uint64        // records that had left the stream before they were read, at most: since the reading began
	Room    float64       // of the stream's bound by bytes, the share that is used; 0: it has none
	KeptFor time.Duration // how long the stream keeps a record; 0: for ever
	Drops   bool          // the stream makes room by removing its oldest records
}

// Source gives the records of the feeds. Safe for concurrent use.
type Source interface {
	// Open begins to read behind what was acknowledged last, whoever did it. The error wraps messages.ErrUnreachable when NATS is not there.
	Open(ctx context.Context, feed Feed) (Reader, error)
	// Lag tells how far behind the reader of a feed is.
	Lag(ctx context.Context, feed Feed) (Lag, error)
}

// Reader reads one feed. For one goroutine.
type Reader interface {
	// Next waits for a record. Its error is ctx's, or one after which the reader must be opened again.
	Next(ctx context.Context) (*Record, error)
	Close()
}
