package superset

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Server is the fake Superset, an http.Handler. Safe for concurrent use. Close it to end what it does in the background.
type Server struct {
	mux     *http.ServeMux
	routes  map[string]string // pattern → name
	control http.Handler
	started time.Time    // with a monotonic reading: what the record of requests counts from
	ahead   atomic.Int64 // of Config.Now, by Advance

	seen     *sight
	cache    *cache
	database *database
	limiter  *limiter
	tokens   *tokens
	jobs     *jobs
	tasks    *tasks
	stills   stills

	background context.Context //nolint:containedctx // of asynchronous work, which outlives the request that asked for it
	end        context.CancelFunc
	working    sync.WaitGroup

	updating sync.Mutex // held while state is replaced
	state    atomic.Pointer[state]
}

// state is everything that a change of the configuration replaces; a request keeps the one it arrived under.
type state struct {
	config     Config
	world      *World
	script     *script
	dependents map[int64]Dependents
	origin     time.Time // the server's start by its clock
}

// New makes a server. It panics if config.Validate would refuse the config: settings that come from outside the program are
// validated first.
func New(config Config) *Server {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		panic(fmt.Sprintf("superset: %v", err))
	}
	s := &Server{
		mux: http.NewServeMux(), routes: map[string]string{}, started: time.Now(),
		seen: newSight(config.LogSize), cache: newCache(), database: newDatabase(config.Latency.Slots), limiter: newLimiter(),
		tokens: newTokens(config.Seed), jobs: newJobs(), tasks: newTasks(),
	}
	s.background, s.end = context.WithCancel(context.Background())
	s.addRoutes()
	s.control = s.controlPaths()
	s.state.Store(&state{
		config: config, world: config.World, script: newScript(config.Seed, config.Faults),
		dependents: map[int64]Dependents{}, origin: config.Now(),
	})
	return s
}

// Close ends asynchronous work and waits for it. Requests may still be answered.
func (s *Server) Close() {
	s.end()
	s.working.Wait()
}

func (s *Server) addRoutes() {
	add := func(pattern, name string, handle func(*exchange)) {
		s.routes[pattern] = name
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if x, ok := w.(*exchange); ok {
				x.r = r
				handle(x)
			}
		})
	}
	add("GET /health", "health", func(x *exchange) { x.text(http.StatusOK, "text/plain; charset=utf-8", "OK") })
	add("GET /login/{$}", "login_page", (*exchange).loginPage)
	add("POST /login/{$}", "login_form", (*exchange).loginForm)
	add("POST /api/v1/security/login", "login", (*exchange).login)
	add("POST /api/v1/security/refresh", "refresh", (*exchange).refresh)
	add("GET /api/v1/security/csrf_token/{$}", "csrf_token", (*exchange).csrfToken)
	add("POST /api/v1/security/guest_token/{$}", "guest_token", (*exchange).guestToken)
	add("GET /api/v1/dashboard/{$}", "dashboards", (*exchange).listDashboards)
	add("GET /api/v1/dashboard/{id}", "dashboard", (*exchange).getDashboard)
	add("GET /api/v1/dashboard/{id}/charts", "dashboard_charts", (*exchange).getDashboardCharts)
	add("GET /api/v1/dashboard/{id}/datasets", "dashboard_datasets", (*exchange).getDashboardDatasets)
	add("GET /api/v1/dashboard/{id}/tabs", "dashboard_tabs", (*exchange).getDashboardTabs)
	add("GET /api/v1/chart/{$}", "charts", (*exchange).listCharts)
	add("GET /api/v1/chart/{id}", "chart", (*exchange).getChart)
	add("GET /api/v1/chart/{id}/data/{$}", "chart_get_data", (*exchange).getChartData)
	add("GET /api/v1/dataset/{$}", "datasets", (*exchange).listDatasets)
	add("GET /api/v1/dataset/{id}/related_objects", "related_objects", (*exchange).relatedObjects)
	add("POST /api/v1/chart/data", ChartData, (*exchange).chartData)
	add("GET /api/v1/chart/data/{key}", "chart_data_cached", (*exchange).cachedChartData)
	add("GET /api/v1/async_event/{$}", "async_event", (*exchange).asyncEvents)
	add("GET /api/v1/task/status_changes", "task_status", (*exchange).taskStatus)
	add("POST /api/v1/task/{uuid}/cancel", "task_cancel", (*exchange).cancelTask)
	add("/", "other", func(x *exchange) { x.fail(http.StatusNotFound, message("Not found")) })
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, controlPrefix) {
		s.control.ServeHTTP(w, r)
		return
	}
	_, pattern := s.mux.Handler(r)
	x := s.arrive(w, r, s.routes[pattern])
	defer x.leave() // where a fault ends the connection
	if !x.pass() {  //nolint:contextcheck // the exchange holds its request, and an orphan outlives it
		x.finish() //nolint:contextcheck // the exchange holds its request, and an orphan outlives it
		return
	}
	s.mux.ServeHTTP(x, r)
	x.finish() //nolint:contextcheck // the exchange holds its request, and an orphan outlives it
}

// Now is the time by the server's clock, in UTC.
func (s *Server) Now() time.Time {
	return s.state.Load().config.Now().Add(time.Duration(s.ahead.Load())).UTC()
}

// Advance moves the server's clock on. It never goes back.
func (s *Server) Advance(d time.Duration) {
	if d > 0 {
		s.ahead.Add(int64(d))
	}
}

// Config is the configuration now in effect, defaults filled in.
func (s *Server) Config() Config { return s.state.Load().config.withDefaults() }

// Update changes the configuration of a running server: change edits a copy, which takes effect for requests that arrive afterwards, or is
// refused as a whole. The faults start again. World, Now and LogSize stay as they were.
func (s *Server) Update(change func(*Config)) error {
	s.updating.Lock()
	defer s.updating.Unlock()
	old := s.state.Load()
	config := old.config.withDefaults()
	change(&config)
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return fmt.Errorf("update the fake Superset: %w", err)
	}
	config.World, config.Now, config.LogSize = old.config.World, old.config.Now, old.config.LogSize
	next := *old
	next.config, next.script = config, newScript(config.Seed, config.Faults)
	s.state.Store(&next)
	s.database.resize(config.Latency.Slots)
	return nil
}

// SetWorld replaces what the server knows, such as a DefaultWorld with a dataset edited. Tokens of identities that are still there go on.
func (s *Server) SetWorld(w *World) error {
	if err := w.validate(); err != nil {
		return fmt.Errorf("change the fake Superset's world: %w", err)
	}
	s.updating.Lock()
	defer s.updating.Unlock()
	next := *s.state.Load()
	next.world, next.config.World = w, w
	s.state.Store(&next)
	return nil
}

// SetFaults replaces the fault plan.
func (s *Server) SetFaults(faults ...Fault) error {
	return s.Update(func(c *Config) { c.Faults = faults })
}

// Dependents replaces what related_objects of a dataset answers. Nil lists are empty ones.
type Dependents struct {
	Charts     []RelatedChart
	Dashboards []RelatedDashboard
}

// RelatedChart is a chart that reads a dataset.
type RelatedChart struct {
	ID      int64  `json:"id"`
	Name    string `json:"slice_name"`
	VizType string `json:"viz_type"`
}

// RelatedDashboard is a dashboard that shows such a chart.
type RelatedDashboard struct {
	ID    int64  `json:"id"`
	Title string `json:"title"`
	Slug  string `json:"slug"`
}

// SetDependents replaces what related_objects of the dataset answers; nil: what the world says.
func (s *Server) SetDependents(dataset int64, d *Dependents) {
	s.updating.Lock()
	defer s.updating.Unlock()
	next := *s.state.Load()
	dependents := map[int64]Dependents{}
	maps.Copy(dependents, next.dependents)
	delete(dependents, dataset)
	if d != nil {
		dependents[dataset] = *d
	}
	next.dependents = dependents
	s.state.Store(&next)
}

// Reset forgets what was seen, empties the cache and starts the fault plan again. Tokens, sessions and the clock stay.
func (s *Server) Reset() {
	s.updating.Lock()
	next := *s.state.Load()
	next.script = newScript(next.config.Seed, next.config.Faults)
	s.state.Store(&next)
	s.updating.Unlock()
	s.seen.reset()
	s.cache.clear()
	s.limiter.reset()
	s.database.reset()
}
