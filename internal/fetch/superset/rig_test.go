package superset

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braidhq/braid/internal/fetch"
	simulator "github.com/braidhq/braid/internal/simulator/superset"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// boards is a definition of the fake, with all its roles.
func boards(t testing.TB, base string) *service.Definition {
	t.Helper()
	host := strings.TrimPrefix(base, "http://")
	var credentials, roles, ids strings.Builder
	for _, name := range []string{"Admin", "Alpha", "Gamma", "Ops", "Sales", "Embedder", "Nobody"} {
		id := strings.ToLower(name)
		fmt.Fprintf(&credentials, "  %s: {send: {basic: true}, from: env:%s}\n", id, id)
		fmt.Fprintf(&roles, "    %s: {credential: %s}\n", name, id)
		ids.WriteString(id + ", ")
	}
	text := "schema: service/v1\nname: boards\nadapter: superset\nbase_url: " + base + "\n" +
		"hosts: [{host: '" + host + "', insecure: true, credentials: [" + ids.String() + "lena, wrong]}]\n" +
		"credentials:\n" + credentials.String() + "  lena: {send: {basic: true}, from: env:lena}\n  wrong: {send: {basic: true}, from: env:wrong}\n" +
		"environment:\n  stage: DEV\n  roles:\n" + roles.String() +
		"    Ldap: {credential: lena, provider: ldap}\n    Wrong: {credential: wrong}\n" +
		"    Guest: {guest: {credential: embedder, embedded: " + simulator.SalesEmbedded + ", rls: [{clause: \"region = 'EU'\"}]}}\n" +
		"collections:\n  chart_data:\n    params:\n      chart: {type: int64, many: comma, required: true}\n      dashboard: {type: int64}\n      role: {type: text, default: Admin}\n" +
		"      query: {type: int64, default: 0}\n      time_range: {type: text}\n    axes: [{each: chart}]\n    fields: {chart_id: {type: int64}}\n"
	d, err := service.Parse("boards.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// passwords are those of the fake's identities.
func passwords(c service.Credential) (string, bool, error) {
	if c.ID == "wrong" {
		return "admin:not-the-password", true, nil
	}
	return c.ID + ":" + c.ID + "-secret", true, nil
}

// tokens is a store in memory that refuses what has another revision, as the real one does.
type tokens struct {
	mu        sync.Mutex
	values    map[string][]byte
	revisions map[string]uint64
	next      uint64
	down      error
}

func newTokens() *tokens {
	return &tokens{values: map[string][]byte{}, revisions: map[string]uint64{}}
}

func (s *tokens) Load(_ context.Context, key string) ([]byte, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := messages.CheckName(key); err != nil {
		return nil, 0, err
	}
	return s.values[key], s.revisions[key], s.down
}

func (s *tokens) Save(_ context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.down != nil:
		return 0, s.down
	case s.revisions[key] != revision:
		return 0, messages.ErrConflict
	case ttl <= 0:
		return 0, messages.ErrInvalid
	}
	s.next++
	s.values[key], s.revisions[key] = value, s.next
	return s.next, nil
}

// rig is a fake server and clients of it.
type rig struct {
	*simulator.Server
	t      testing.TB
	base   string
	tokens *tokens
}

func newRig(t testing.TB, config simulator.Config) *rig {
	t.Helper()
	fake := simulator.New(config)
	server := httptest.NewServer(fake)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		fake.Close()
	})
	return &rig{Server: fake, t: t, base: server.URL, tokens: newTokens()}
}

// worker is a client of a worker of its own.
func (r *rig) worker(name string) *Client {
	return r.configured(Config{Worker: name, Tokens: r.tokens})
}

func (r *rig) configured(cfg Config) *Client {
	r.t.Helper()
	cfg.Credentials, cfg.ScratchDir = passwords, r.t.TempDir()
	cfg.Transport = NewTransport(fetch.TransportConfig{Connect: 5 * time.Second, InFlight: 30})
	c, err := New(boards(r.t, r.base), cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.CloseIdleConnections)
	return c
}

// chart is a request of a chart of the sales dashboard, as its stored request has it.
func (r *rig) chart(id int64, role string) load.Request {
	r.t.Helper()
	snapshot := r.snapshot()
	for _, chart := range snapshot.Charts {
		if chart.ID == id {
			return load.Request{
				Dashboard: snapshot.Dashboard, Chart: chart, Filters: snapshot.Filters,
				Variation: load.Variation{Role: role, Coordinate: json.RawMessage(`{"filters":[],"role":null,"time_range":null,"viewport":null}`)},
				Deadline:  time.Minute,
			}
		}
	}
	r.t.Fatalf("the snapshot has no chart %d", id)
	return load.Request{}
}

func (r *rig) snapshot() *load.Snapshot {
	r.t.Helper()
	snapshot, err := r.configured(Config{}).LookUp(context.Background(), &load.LookUp{Environment: "boards", Dashboard: "12", Role: "Admin"})
	if err != nil {
		r.t.Fatal(err)
	}
	return snapshot
}

// counted is how many requests of chart/data the server saw.
func (r *rig) counted() int { return r.Stats().Routes[simulator.ChartData].Requests }
