package service

import (
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// Limits bounds requests and answers of a service or of one of its collections. Zero means no limit.
type Limits struct {
	URLBytes     int `yaml:"url_bytes"`     // whole URL as sent, escaped
	BodyBytes    int `yaml:"body_bytes"`    // request body
	RequestBytes int `yaml:"request_bytes"` // URL and body together
	Values       int `yaml:"values"`        // values of one parameter in a request
	PageRows     int `yaml:"page_rows"`     // rows asked per page
	// InFlight is how many requests in flight over all workers; of the service, not of a collection.
	InFlight      messages.InFlight `yaml:"in_flight"`
	ResponseBytes int64             `yaml:"response_bytes"` // largest page accepted
	ChunkRows     int64             `yaml:"chunk_rows"`     // soft target of rows in a chunk, by the estimate
}

func defaultLimits() Limits {
	return Limits{URLBytes: 2000, InFlight: 4, ResponseBytes: 256 << 20}
}

// Bounds of the limits themselves: a URL and a body must fit in an item.
const (
	maxURLBytes      = 64 << 10
	maxBodyBytes     = 512 << 10
	maxValues        = 1_000_000
	maxPageRows      = 10_000_000
	maxResponseBytes = 2 << 30
	maxChunkRows     = 1_000_000_000
)

func decodeLimits(n strictyaml.Node) Limits {
	limits := defaultLimits()
	if n.Kind() == strictyaml.Absent {
		return limits
	}
	n.Decode(&limits)
	checkRange(n.At("url_bytes"), int64(limits.URLBytes), 64, maxURLBytes)
	checkRange(n.At("body_bytes"), int64(limits.BodyBytes), 0, maxBodyBytes)
	if limits.RequestBytes != 0 {
		checkRange(n.At("request_bytes"), int64(limits.RequestBytes), 64, maxURLBytes+maxBodyBytes)
	}
	checkRange(n.At("values"), int64(limits.Values), 0, maxValues)
	checkRange(n.At("page_rows"), int64(limits.PageRows), 0, maxPageRows)
	checkRange(n.At("response_bytes"), limits.ResponseBytes, 1<<10, maxResponseBytes)
	checkRange(n.At("chunk_rows"), limits.ChunkRows, 0, maxChunkRows)
	return limits
}

func checkRange(n strictyaml.Node, value, least, most int64) {
	if value < least || value > most {
		n.Fail("%d is out of bounds, want %d to %d", value, least, most)
	}
}

// Timeouts of one request.
type Timeouts struct {
	Connect time.Duration `yaml:"connect"` // to have a connection
	Stall   time.Duration `yaml:"stall"`   // without a byte received
	Page    time.Duration `yaml:"page"`    // for the whole answer
}

func defaultTimeouts() Timeouts {
	return Timeouts{Connect: 10 * time.Second, Stall: time.Minute, Page: 10 * time.Minute}
}

func (t Timeouts) check(n strictyaml.Node) {
	for key, d := range map[string]time.Duration{"connect": t.Connect, "stall": t.Stall, "page": t.Page} {
		if d < time.Millisecond || d > 24*time.Hour {
			n.At(key).Fail("%s is out of bounds, want 1ms to 24h", d)
		}
	}
}

// Retry says how often and how patiently a transient error is tried again. Waits have full jitter.
type Retry struct {
	Attempts int           `yaml:"attempts"` // in all, the first one included
	Base     time.Duration `yaml:"base"`     // longest wait after the first attempt; doubles with each
	Cap      time.Duration `yaml:"cap"`      // longest wait of all
}

func defaultRetry() Retry { return Retry{Attempts: 4, Base: time.Second, Cap: time.Minute} }

func (r Retry) check(n strictyaml.Node) {
	checkRange(n.At("attempts"), int64(r.Attempts), 1, 100)
	if r.Base <= 0 || r.Base > r.Cap || r.Cap > 24*time.Hour {
		n.Fail("base is %s and cap is %s, want 0 < base <= cap <= 24h", r.Base, r.Cap)
	}
}
