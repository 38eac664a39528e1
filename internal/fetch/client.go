package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/braidhq/braid/pkg/service"
)

// Config is what a Client needs beside the definition.
type Config struct {
	// Credentials finds the secret of a credential; nil finds none. It is asked for each request, by many at a time, so
	// a secret that was replaced is used at once.
	Credentials func(service.Credential) (secret string, found bool, err error)
	Now         func() time.Time // nil: the system's clock
	UserAgent   string           // empty: braid
	InFlight    int              // requests in flight at most; 0: as the definition says
	// Saw is told of each answer, before it is judged: its URL without a secret, its status, and its headers with the
	// secrets that were sent hidden. Nil: nobody is.
	Saw func(url string, status int, header http.Header)
	// Trace begins the span of a request that is sent, to a URL without a secret; end takes the status of the answer, 0 when there was
	// none, and what went wrong with the connection. Nothing of the trace is sent. Nil: nothing is traced.
	Trace func(ctx context.Context, method, url string) (_ context.Context, end func(status int, err error))
	// Transport is shared by the clients of one service and comes from NewTransport. Nil: a pool of this client's own.
	Transport *http.Transport
	// Room bounds the memory for bodies of all clients that share it. Nil: each body has the bound of its definition alone.
	Room *Room
}

func (c Config) withDefaults(d *service.Definition) Config {
	if c.Credentials == nil {
		c.Credentials = func(service.Credential) (string, bool, error) { return "", false, nil }
	}
	if c.Trace == nil {
		c.Trace = func(ctx context.Context, _, _ string) (context.Context, func(int, error)) {
			return ctx, func(int, error) {}
		}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.UserAgent == "" {
		c.UserAgent = "braid"
	}
	if c.InFlight == 0 {
		c.InFlight = max(0, int(d.Limits.InFlight)) // one without a bound has no size of its own
	}
	if c.Transport == nil {
		c.Transport = NewTransport(TransportConfig{Connect: d.Timeouts.Connect, InFlight: c.InFlight})
	}
	return c
}

func (c Config) validate() error {
	if c.InFlight < 0 {
		return errors.New("the config's InFlight is negative; give the number of requests in flight, or 0 for the definition's")
	}
	if !c.Transport.DisableCompression {
		return errors.New("the config's Transport would decompress without a bound; make it with NewTransport")
	}
	return nil
}

// Client fetches the pages of one collection. It is a service.Adapter and safe for concurrent use.
type Client struct {
	collection *service.Collection
	definition *service.Definition
	cfg        Config
}

var _ service.Adapter = (*Client)(nil)

// New makes a client for a collection.
func New(collection *service.Collection, cfg Config) (*Client, error) {
	if collection == nil {
		return nil, errors.New("make a client: no collection")
	}
	definition := collection.Definition()
	cfg = cfg.withDefaults(definition)
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("make a client of %s: %w", definition.Name, err)
	}
	return &Client{collection: collection, definition: definition, cfg: cfg}, nil
}

// FetchPage sends one request: that of the task, a JSON service.Request, with what the collection's paging makes of it for
// the page that at asks for. Where pages link to each other that is the task's method, header and body, sent to the URL that
// is the cursor. The request is sent once; a redirect that a listed host answers with is followed, which is a request of
// its own. The definition's timeouts bound the call beside the context.
//
// A response that is not a page, and a failure of the connection, is a *service.ResponseError. When ctx ended, the
// error wraps its cause and is none.
func (c *Client) FetchPage(ctx context.Context, task json.RawMessage, at service.Walk) (service.Page, error) {
	request, err := c.decodeTask(task)
	if err == nil {
		request, err = c.collection.PageRequest(request, at)
	}
	if err != nil {
		return service.Page{}, err
	}
	ctx, watch := watchOver(ctx, c.definition.Timeouts)
	defer watch.stop()
	e := &exchange{client: c, watch: watch, at: at, request: request, share: share{room: c.cfg.Room}}
	defer e.share.giveBack()
	page, err := e.run(ctx)
	if err != nil {
		return service.Page{}, e.tell(err)
	}
	page.Metered = e.metered
	return page, nil
}

// CloseIdleConnections closes the connections of the pool, shared or not, that carry no request.
func (c *Client) CloseIdleConnections() { c.cfg.Transport.CloseIdleConnections() }
