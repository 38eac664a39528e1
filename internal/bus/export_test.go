package bus

import (
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
