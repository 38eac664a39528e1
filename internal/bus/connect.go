package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/pkg/messages"
)

// Config says which server to connect to and how.
type Config struct {
	URL         string  // of an external server or cluster, several separated by commas
	Server      *Server // the embedded one, instead of URL
	Name        string  // of this connection, for the server's operators
	Credentials string  // path of a NATS credentials file; empty: none
	NKey        string  // path of a file with the seed of an nkey; empty: none
	CA          string  // path of the certificates that the server's is to be signed by; empty: the system's
	Cert, Key   string  // paths of a certificate of ours and its key, for a server that asks for one; empty: none
	Inbox       string  // what the subjects of answers to us begin with, so that a user may hear no others'; empty: _INBOX
	Timeout     time.Duration
	Log         *slog.Logger
}

// Bus is a connection to JetStream. It is safe for concurrent use.
type Bus struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	log    *slog.Logger
	inline int // most bytes of a result's body that travel in the result itself
	closed chan struct{}
	full   chan<- error          // of the embedded server; nil for an external one
	role   string                // that the user is to have, for people; may be empty
	denied atomic.Pointer[error] // the last thing that the server did not permit
	pulse  pulse

	encoders encoders // of results

	reckoned atomic.Pointer[reckoning]
	hush     context.CancelFunc // ends keeping
	keeping  sync.WaitGroup     // the server's time

	mu     sync.Mutex    // guards all below
	barred chan struct{} // closed when the server does not permit something, and renewed
	anew   chan struct{} // closed when the connection that is, or was, up has been replaced by another
	since  time.Time     // when the connection that is, or was, up was made
}

const (
	reconnectWait = 250 * time.Millisecond
	// apiWait is how long one answer is waited for. What was asked of a server that dies is never answered, and whoever asked has
	// to ask again; a new leader of a stream is there within some 4 to 10 s.
	apiWait      = 5 * time.Second
	asyncPending = 1024
	headerRoom   = 64 << 10
	maxInline    = 512 << 10
	minPayload   = 256 << 10 // leaves a result's body three times the room of its headers
)

// Connect connects once and then reconnects for ever. Errors wrap messages.ErrUnreachable.
func Connect(ctx context.Context, cfg Config) (*Bus, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = 5 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	b := &Bus{
		log: cfg.Log, role: strings.TrimPrefix(cfg.Inbox, "_INBOX_"), closed: make(chan struct{}), barred: make(chan struct{}),
		pulse: newPulse(), anew: make(chan struct{}), since: time.Now(),
	}
	opts := []nats.Option{
		nats.Name(cfg.Name), nats.Timeout(cfg.Timeout), nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait), nats.ReconnectJitter(reconnectWait, time.Second),
		nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(2), nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { b.failed(err) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				cfg.Log.Warn("connection to NATS lost, connecting again", "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			cfg.Log.Info("connected to NATS again")
			b.renew()
		}),
		nats.ClosedHandler(func(*nats.Conn) { close(b.closed) }),
	}
	target, shown := cfg.URL, redact(cfg.URL)
	if cfg.Server != nil {
		b.full = cfg.Server.full
		target, shown = "", "the embedded server"
		opts = append(opts, nats.InProcessServer(cfg.Server.nats))
	}
	own, err := cfg.identity()
	if err != nil {
		return nil, err
	}
	opts = append(opts, own...)
	if err := checkAddress(target); err != nil {
		return nil, fmt.Errorf("%w: %w", messages.ErrUnreachable, err)
	}
	if b.nc, err = nats.Connect(target, opts...); err != nil {
		return nil, refusedBy(shown, cfg.laden(), err)
	}
	b.js, err = jetstream.New(b.nc, jetstream.WithDefaultTimeout(apiWait),
		jetstream.WithPublishAsyncMaxPending(asyncPending), jetstream.WithPublishAsyncTimeout(apiWait))
	if err == nil {
		err = b.greet(ctx)
	}
	if err != nil {
		b.nc.Close()
		if denied := b.denied.Load(); denied != nil {
			return nil, b.explained(err)
		}
		if advice := unreachable(err); advice != "" && advice != adviceNoStream {
			return nil, fmt.Errorf("%w at %s: JetStream: %s (%w)", messages.ErrUnreachable, shown, advice, err)
		}
		return nil, fmt.Errorf("%w at %s: JetStream: %w; start the server with JetStream enabled (nats-server -js)", messages.ErrUnreachable, shown, err)
	}
	if most := b.nc.MaxPayload(); most < minPayload {
		b.nc.Close()
		return nil, fmt.Errorf("the server at %s takes messages of at most %d bytes, and Braid's need %d; set max_payload in its configuration to %d or more, best to NATS' default of 1MB",
			shown, most, minPayload, minPayload)
	}
	b.inline = min(maxInline, int(b.nc.MaxPayload())-headerRoom)
	now := time.Now()
	b.reckoned.Store(&reckoning{server: now.Round(0), local: now})
	b.reckon(ctx)
	var keep context.Context
	keep, b.hush = context.WithCancel(context.WithoutCancel(ctx))
	b.keeping.Go(func() { b.keepTime(keep) })
	return b, nil
}

// greet asks whether JetStream is there.
func (b *Bus) greet(ctx context.Context) error {
	ctx, cancel := b.permitted(ctx)
	defer cancel()
	_, err := b.js.AccountInfo(ctx)
	return err
}

// Close drains the connection and waits until it is closed.
func (b *Bus) Close() {
	b.hush()
	b.keeping.Wait()
	if err := b.nc.Drain(); err != nil {
		b.nc.Close()
	}
	<-b.closed
}

// renewed gives a channel that is closed when the connection has been made anew.
func (b *Bus) renewed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.anew
}

func (b *Bus) renew() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.anew)
	b.anew, b.since = make(chan struct{}), time.Now()
}

// madeAt is when the connection that is, or was, up was made, by the server's time: it is compared with instants of other processes.
func (b *Bus) madeAt() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Now().Add(-time.Since(b.since))
}

// Connected tells whether the connection is up now.
func (b *Bus) Connected() bool { return b.nc.IsConnected() }

var errAddress = errors.New("not the URL of a NATS server; write it as nats://host:port")

// checkAddress refuses what the client would refuse with an error that repeats the URL, and a password in it.
func checkAddress(addresses string) error {
	for address := range strings.SplitSeq(addresses, ",") {
		if _, err := parseAddress(address); err != nil {
			return errAddress
		}
	}
	return nil
}

// parseAddress reads a URL as the client does: without a scheme it is nats://.
func parseAddress(address string) (*url.URL, error) {
	address = strings.TrimSpace(address)
	if !strings.Contains(address, "://") {
		address = "nats://" + address
	}
	return url.Parse(address)
}

// redact removes names, passwords and tokens from URLs before they are shown.
func redact(addresses string) string {
	var shown []string
	for address := range strings.SplitSeq(addresses, ",") {
		u, err := parseAddress(address)
		if err != nil {
			return "the given URL"
		}
		safe := url.URL{Scheme: u.Scheme, Host: u.Host} // a path means nothing, and has the password of whoever forgot a colon
		if u.User != nil {
			safe.User = url.User("xxxxx")
		}
		shown = append(shown, safe.String())
	}
	return strings.Join(shown, ",")
}
