package bus

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// JetStream lets tests damage what is stored, and look at it without this package's eyes.
func (b *Bus) JetStream() jetstream.JetStream { return b.js }

// Conn is the connection itself.
func (b *Bus) Conn() *nats.Conn { return b.nc }

// PartSubject, PageSubject, PagePieceSubject, ResultSubject and ItemSubject are where things are stored.
var (
	PartSubject      = partSubject
	PageSubject      = pageSubject
	PagePieceSubject = pagePieceSubject
	ResultSubject    = resultSubject
	ItemSubject      = itemSubject
)

// Unready is how an error of making streams and buckets is told.
var Unready = translateAsset

// Mistake sets the time that the bus goes by, which then asks the server no more by itself.
func (b *Bus) Mistake(by time.Duration) {
	b.hush()
	b.keeping.Wait()
	b.reckoned.Store(&reckoning{server: b.Now().Add(by).Round(0), local: time.Now()})
}

// Reckon asks the server for its time.
func (b *Bus) Reckon(ctx context.Context) bool { return b.reckon(ctx) }
