package superset

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/service"
)

// Config is what a Client needs beside the definition.
type Config struct {
	// Credentials finds the secret of a credential, USER:PASSWORD; it is asked for anew with each login. Nil: none is found.
	Credentials func(service.Credential) (secret string, found bool, err error)
	Tokens      Tokens           // nil: this process logs in for itself alone
	Now         func() time.Time // of the clock that workers share; nil: the system's
	Worker      string           // names this process to those that wait for its login
	UserAgent   string           // empty: braid
	Transport   *http.Transport  // from NewTransport; nil: one of this client's own
	ScratchDir  string           // where long answers are kept while they are read; empty: the system's
	// Trace begins the span of a request that is sent, as in fetch.Config. Nil: nothing is traced.
	Trace func(ctx context.Context, method, url string) (_ context.Context, end func(status int, err error))
}

func (c Config) withDefaults(d *service.Definition) Config {
	if c.Credentials == nil {
		c.Credentials = func(service.Credential) (string, bool, error) { return "", false, nil }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Worker == "" {
		c.Worker = "braid"
	}
	if c.UserAgent == "" {
		c.UserAgent = "braid"
	}
	if c.Transport == nil {
		c.Transport = NewTransport(fetch.TransportConfig{Connect: d.Timeouts.Connect, InFlight: int(d.Limits.InFlight)})
	}
	if c.Trace == nil {
		c.Trace = func(ctx context.Context, _, _ string) (context.Context, func(int, error)) {
			return ctx, func(int, error) {}
		}
	}
	return c
}

// idleConnection is below the two seconds after which the web server that Superset comes with closes a connection that carries nothing: a
// request on a connection that is being closed would count as a failure of the server.
const idleConnection = 1500 * time.Millisecond

// NewTransport makes the pool of connections of an environment.
func NewTransport(cfg fetch.TransportConfig) *http.Transport {
	transport := fetch.NewTransport(cfg)
	transport.IdleConnTimeout = idleConnection
	return transport
}

// Client speaks to one environment. It is safe for concurrent use.
type Client struct {
	definition  *service.Definition
	environment load.Environment
	base        *url.URL
	cfg         Config
	pace        *pace
	identities  map[string]*identity // by role
	scratch     atomic.Int64         // bytes of answers that are in files
}

// New makes the client of an environment.
func New(d *service.Definition, cfg Config) (*Client, error) {
	environment, ok := d.Environment()
	if !ok || len(environment.Roles) == 0 {
		return nil, fmt.Errorf("make a client of %s: its definition has no block `environment` with roles", d.Name)
	}
	base, err := url.Parse(d.BaseURL)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("make a client of %s: base_url is no URL", d.Name)
	}
	cfg = cfg.withDefaults(d)
	if !cfg.Transport.DisableCompression {
		return nil, errors.New("the config's Transport would decompress without a bound; make it with NewTransport")
	}
	c := &Client{definition: d, environment: environment, base: base, cfg: cfg, identities: map[string]*identity{}}
	c.pace = newPace(c)
	logins := map[string]*identity{}
	for _, role := range environment.Roles {
		name := role.Provider + "\x00" + role.Credential
		if logins[name] == nil {
			logins[name] = c.newLogin(role)
		}
		c.identities[role.Name] = logins[name]
		if role.Embedded != "" {
			c.identities[role.Name] = c.newGuest(role, logins[name])
		}
	}
	return c, nil
}

// Environment is what the client was made for.
func (c *Client) Environment() load.Environment { return c.environment }

// CloseIdleConnections closes the connections that carry no request.
func (c *Client) CloseIdleConnections() { c.cfg.Transport.CloseIdleConnections() }

// identityOf gives who a role is; an empty name is the first role of the environment.
func (c *Client) identityOf(role string) (*identity, *failure) {
	if role == "" {
		role = c.environment.Roles[0].Name
	}
	if who := c.identities[role]; who != nil {
		return who, nil
	}
	names := make([]string, len(c.environment.Roles))
	for i, r := range c.environment.Roles {
		names[i] = r.Name
	}
	slices.Sort(names)
	return nil, &failure{Kind: kindAuth, Message: fmt.Sprintf("the environment %s has no role %.100q; its roles are %.500q", c.environment.Name, role, names), Hint: "add it to environment.roles of the service definition"}
}

func (c *Client) now() time.Time { return c.cfg.Now() }

// jitter is a random part of d, so that workers do not act at the same moment.
func (c *Client) jitter(d time.Duration) time.Duration { return rand.N(d) }
