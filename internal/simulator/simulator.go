package simulator

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// controlPrefix is where the paths about the simulator itself begin.
const controlPrefix = "/_simulator/"

// Simulator is the fake service, an http.Handler. Safe for concurrent use.
type Simulator struct {
	now     func() time.Time
	routes  map[string]route
	control http.Handler
	seen    *sight
	buffers sync.Pool // of *[]byte, for pages under way

	updating sync.Mutex // held while state is replaced
	state    atomic.Pointer[state]
}

// state is everything that a change of the configuration replaces; a request keeps the one it arrived under.
type state struct {
	config Config
	ledger *ledger // of X-Api-Key
	open   *ledger // of open-hydro
	script *script
	world  *world
}

// route is one path of a fake service.
type route struct {
	methods []string
	form    form
	// continued tells requests for a page behind the first; nil: those with a cursor in the query.
	continued func(c *call) bool
	// answer writes the whole answer to c.out and returns the number of rows in it.
	answer func(c *call) int64
}

// New makes a simulator. It panics if config.Validate would refuse the config: settings that come from outside the
// program are validated first.
func New(config Config) *Simulator {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		panic(fmt.Sprintf("simulator: %v", err))
	}
	s := &Simulator{
		now:  config.Now,
		seen: newSight(config.LogSize),
	}
	s.routes = s.ogcRoutes()
	maps.Copy(s.routes, nwdcRoutes())
	maps.Copy(s.routes, openHydroRoutes())
	s.control = s.controlPaths()
	s.state.Store(&state{
		config: config,
		ledger: newLedger(config.Quota),
		script: newScript(config.Seed, config.Faults),
		open:   newLedger(config.OpenQuota),
		world:  newWorld(config.Values),
	})
	return s
}

// Update changes the configuration of a running simulator: change edits a copy, which takes effect for requests that
// arrive afterwards, or is refused as a whole. A changed Quota starts with nothing spent; a changed Seed or list of
// faults starts the script again. Now and LogSize stay as they were.
func (s *Simulator) Update(change func(*Config)) error {
	s.updating.Lock()
	defer s.updating.Unlock()
	old := s.state.Load()
	config := old.config.withDefaults() // a copy that shares no slice with the old one
	change(&config)
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return fmt.Errorf("update simulator: %w", err)
	}
	config.Now, config.LogSize = old.config.Now, old.config.LogSize
	next := &state{config: config, ledger: old.ledger, open: old.open, script: old.script, world: old.world}
	if config.Quota != old.config.Quota {
		next.ledger = newLedger(config.Quota)
	}
	if config.OpenQuota != old.config.OpenQuota {
		next.open = newLedger(config.OpenQuota)
	}
	if config.Seed != old.config.Seed || !slices.Equal(config.Faults, old.config.Faults) {
		next.script = newScript(config.Seed, config.Faults)
	}
	if config.Values != old.config.Values {
		next.world = newWorld(config.Values)
	}
	s.state.Store(next)
	return nil
}

// Config is the configuration now in effect, defaults filled in.
func (s *Simulator) Config() Config {
	return s.state.Load().config.withDefaults()
}

// Counters is a copy of what the simulator saw so far.
func (s *Simulator) Counters() Counters { return s.seen.snapshot() }

// Requests is a copy of the log: the latest service requests that ended, oldest first.
func (s *Simulator) Requests() []Exchange { return s.seen.latest(maxLogSize) }

// Reset forgets what was seen and starts the fault script again, attempts per URL included. Spent quota stays spent.
func (s *Simulator) Reset() {
	s.updating.Lock()
	defer s.updating.Unlock()
	next := *s.state.Load()
	next.script = newScript(next.config.Seed, next.config.Faults)
	s.state.Store(&next)
	s.seen.reset()
}

// RefillQuota gives every key all its units back.
func (s *Simulator) RefillQuota() {
	s.updating.Lock()
	defer s.updating.Unlock()
	next := *s.state.Load()
	next.ledger, next.open = newLedger(next.config.Quota), newLedger(next.config.OpenQuota)
	s.state.Store(&next)
}

// ServeHTTP answers one request.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, controlPrefix) {
		s.control.ServeHTTP(w, r)
		return
	}
	// The request is counted out inside exchange, so that a client which sees its connection die finds the counters right.
	switch s.exchange(w, r) {
	case severNot:
	case severAbort:
		panic(http.ErrAbortHandler) // the one way to end a body early that net/http offers
	case severReset:
		resetConnection(w)
	}
}

// severing is what happens to the connection after an exchange.
type severing int

const (
	severNot   severing = iota
	severAbort          // closed with the body unfinished; what was sent arrives
	severReset          // reset: what was sent may be lost too
)

// resetConnection ends a TCP connection with RST.
func resetConnection(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // no connection of our own to reset, as under HTTP/2
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // if it cannot be set, the close below still breaks the exchange
	}
	_ = conn.Close()
}
