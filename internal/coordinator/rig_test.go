package coordinator_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// rivers is a service of which each site is a chunk.
const rivers = `
schema: service/v1
name: rivers
base_url: https://rivers.example
hosts: [{host: rivers.example}]
limits: {in_flight: 4}
collections:
  daily:
    request: {path: /daily}
    params: {site: {type: text}}
    axes: [{each: site}]
    rows: {format: json, at: '$.data[*]'}
    fields: {site: {type: text}, n: {type: int64}}
    key: [site, n]
`

// definitions is a coordinator.Definitions of one text, which may change.
type definitions struct {
	mu   sync.Mutex // guards text
	text string
}

func (d *definitions) Pinned(name string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return service.Pinned{File: name + ".yaml", Text: d.text}.Encode()
}

func (d *definitions) change(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.text = text
}

// rig is a real bus for coordinators and workers.
type rig struct {
	t           *testing.T
	server      *bus.Server
	bus         *bus.Bus
	js          jetstream.JetStream
	definitions *definitions
	adapters    map[string]coordinator.Adapter // of the coordinators that are made from now on
	worker      *testkit.Running               // the last one started
}

func newRig(t *testing.T) *rig {
	t.Helper()
	server := testkit.ServerOn(t, bus.ServerConfig{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	return &rig{t: t, server: server, bus: testkit.Join(t, server), js: testkit.JetStream(t, server), definitions: &definitions{text: rivers}}
}

// coordinator makes one on a connection.
func (r *rig) coordinator(id string, b *bus.Bus, edit func(*coordinator.Config)) *coordinator.Coordinator {
	r.t.Helper()
	cfg := coordinator.Config{ID: id, LeaseTTL: 2 * time.Second, LeaderTTL: time.Second}
	if edit != nil {
		edit(&cfg)
	}
	c, err := coordinator.New(cfg, coordinator.Ports{
		Queries: b, Catalogue: b, Items: b, Results: b, Services: b, Definitions: r.definitions, Adapters: r.adapters, Leader: b.Leader(),
		Glances: b, Boards: b, Names: r.definitions, Quotas: b,
		NewID: func() string { return strings.ToLower(rand.Text()) }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// lead starts a coordinator.
func (r *rig) lead() *coordinator.Coordinator {
	r.t.Helper()
	c := r.coordinator("c1", r.bus, nil)
	testkit.Run(r.t, c.Run)
	return c
}

// work starts a worker that waits out no closed gate by itself. The channel tells which states of queries it has heard of.
func (r *rig) work(adapter service.Adapter) <-chan messages.QueryState {
	r.t.Helper()
	heard := make(chan messages.QueryState, 1000)
	w := testkit.Worker(r.t, r.bus, worker.Config{ID: "w1", Grace: time.Second, ShortWait: time.Nanosecond},
		&testkit.Upstreams{Adapter: adapter, QuotaWait: time.Hour}, func(p *worker.Ports) {
			p.Records = testkit.Hearing{Records: p.Records, Heard: heard}
		})
	r.worker = testkit.Run(r.t, w.Run)
	return heard
}

func sites(n int) *query.Spec {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("s%02d", i)
	}
	return &query.Spec{V: query.SpecVersion, Name: "test", Service: "rivers", Collection: "daily", Values: service.Values{"site": names}}
}

func (r *rig) submit(c *coordinator.Coordinator, spec *query.Spec) *messages.Query {
	r.t.Helper()
	q, err := c.Submit(r.t.Context(), spec)
	if err != nil {
		r.t.Fatal(err)
	}
	return q
}

func (r *rig) query(id string) *messages.Query {
	r.t.Helper()
	q, _, err := r.bus.LoadQuery(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return q
}

// settles waits until a query's run stands in a state.
func (r *rig) settles(id string, run int, want messages.QueryState) *messages.Query {
	r.t.Helper()
	var q *messages.Query
	testkit.Until(r.t, fmt.Sprintf("run %d is %s", run, want), func() bool {
		q = r.query(id)
		if q.Run == run && !q.State.Active() && q.State != want {
			r.t.Fatalf("run %d is %s because of %+v, want %s", run, q.State, q.Stop, want)
		}
		return q.Run == run && q.State == want
	})
	return q
}

// edit changes a record behind the coordinator's back.
func (r *rig) edit(id string, change func(*messages.Query)) {
	r.t.Helper()
	q, revision, err := r.bus.LoadQuery(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	change(q)
	if _, err := r.bus.SaveQuery(r.t.Context(), q, revision); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) resume(c *coordinator.Coordinator, id string) *messages.Query {
	r.t.Helper()
	q, err := c.Resume(r.t.Context(), id, coordinator.ResumeOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return q
}

// tables exports a query in each format.
func (r *rig) tables(c *coordinator.Coordinator, id string) map[output.Format]string {
	r.t.Helper()
	all := map[output.Format]string{}
	for _, format := range output.Formats() {
		if format == output.GeoJSON {
			continue // the rows have no geometry
		}
		e, err := c.Export(r.t.Context(), id, false)
		if err != nil {
			r.t.Fatal(err)
		}
		var table bytes.Buffer
		if err := output.Encode(r.t.Context(), &table, format, e.Table, e.Meta); err != nil {
			r.t.Fatal(err)
		}
		all[format] = table.String()
	}
	return all
}

var site = regexp.MustCompile(`site=(s\d\d)`)

func siteOf(c testkit.Call) string { return site.FindStringSubmatch(c.Task)[1] }

// two answers each site with two pages.
func two(c testkit.Call) (service.Page, error) {
	if c.Cursor == "" {
		return testkit.Rows(siteOf(c), 0, 2, "p2"), nil
	}
	return testkit.Rows(siteOf(c), 2, 2, ""), nil
}

func always(_ context.Context, c testkit.Call) (service.Page, error) { return two(c) }

// held answers like two, but holds back some sites until they are let go.
type held struct {
	sites   []string
	came    chan string
	letGo   chan struct{}
	adapter *testkit.Script
}

func hold(names ...string) *held {
	h := &held{sites: names, came: make(chan string, 100), letGo: make(chan struct{})}
	h.adapter = testkit.NewScript(func(ctx context.Context, c testkit.Call) (service.Page, error) {
		if slices.Contains(h.sites, siteOf(c)) {
			h.came <- siteOf(c)
			select {
			case <-h.letGo:
			case <-ctx.Done():
				return service.Page{}, ctx.Err()
			}
		}
		return two(c)
	})
	return h
}

func refuse(class service.Class, status int, retryAfter time.Duration) error {
	return &service.ResponseError{Class: class, Status: status, RetryAfter: retryAfter, Message: "as the test says"}
}

func (r *rig) purge(stream, subject string) {
	r.t.Helper()
	s, err := r.js.Stream(r.t.Context(), stream)
	if err == nil {
		err = s.Purge(r.t.Context(), jetstream.WithPurgeSubject(subject))
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// put stores a message where a result belongs.
func (r *rig) put(subject string, header nats.Header, body []byte) {
	r.t.Helper()
	if _, err := r.js.PublishMsg(r.t.Context(), &nats.Msg{Subject: subject, Header: header, Data: body}); err != nil {
		r.t.Fatal(err)
	}
}

func resumeAsBefore() coordinator.ResumeOptions { return coordinator.ResumeOptions{} }
