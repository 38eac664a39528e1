package braid_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/simulator/superset"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// boards is the definition of a dashboard server on this machine.
func boards(t *testing.T, base string) braid.Definitions {
	t.Helper()
	text := strings.ReplaceAll(`
schema: service/v1
name: boards
adapter: superset
base_url: http://HOST
hosts: [{host: 'HOST', insecure: true, credentials: [analyst]}]
credentials: {analyst: {send: {basic: true}, from: env:ANALYST}}
environment:
  connection_pool_size: 3
  roles: {Alpha: {credential: analyst}}
collections:
  chart_data:
    params:
      chart: {type: int64, many: comma, required: true}
      dashboard: {type: int64}
    axes: [{each: chart}]
    fields: {chart_id: {type: int64}}
`, "HOST", strings.TrimPrefix(base, "http://"))
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "boards.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return braid.Definitions{Dir: folder}
}

func TestChartsOfADashboardAreATable(t *testing.T) {
	fake := superset.New(superset.Config{})
	server := httptest.NewServer(fake)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		fake.Close()
	})
	definitions := boards(t, server.URL)
	e := open(t, "", func(c *braid.EmbeddedConfig) {
		c.Definitions = definitions
		c.Getenv = func(name string) string { return map[string]string{"ANALYST": "alpha:alpha-secret"}[name] }
	})
	testkit.Run(t, e.Run)
	charts := []string{"101", "102", "104", "106", "107", "109", "110"}
	spec := &query.Spec{
		V: query.SpecVersion, Name: "charts", Service: "boards", Collection: "chart_data",
		Values: service.Values{"chart": charts, "dashboard": {"12"}},
	}
	q := submit(t, e, spec)
	if end := settled(t, e, q.ID, 1); end.State != messages.Complete || end.Chunks != len(charts) {
		t.Fatalf("it is %s because of %+v, in %d chunks", end.State, end.Stop, end.Chunks)
	}
	if head, _, _ := strings.Cut(csv(t, e, q.ID), "\n"); !strings.HasPrefix(head, "chart_id,") || !strings.Contains(head, "revenue") {
		t.Errorf("the columns are %s", head)
	}
	stats := fake.Stats()
	if sent := stats.Routes[superset.ChartData]; sent.Requests != len(charts) || sent.MaxInFlight > 3 || stats.Logins["alpha"] != 1 {
		t.Errorf("%d requests, %d at a time, %d logins", sent.Requests, sent.MaxInFlight, stats.Logins["alpha"])
	}
}
