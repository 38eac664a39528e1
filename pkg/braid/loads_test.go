package braid_test

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	simulator "github.com/braidhq/braid/internal/simulator/superset"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/load"
)

// dashboards is the definition of a fake Superset.
func dashboards(base, stage string) string {
	return "schema: service/v1\nname: boards\nadapter: superset\nbase_url: " + base + "\n" +
		"hosts: [{host: '" + strings.TrimPrefix(base, "http://") + "', insecure: true, credentials: [admin]}]\n" +
		"credentials:\n  admin: {send: {basic: true}, from: env:ADMIN}\n" +
		"environment:\n  stage: " + stage + "\n  roles:\n    Admin: {credential: admin}\n" +
		"collections:\n  chart_data:\n    params:\n      chart: {type: int64, many: comma, required: true}\n    axes: [{each: chart}]\n    fields: {chart_id: {type: int64}}\n"
}

// A profile is stored, looked up, started and reported in one process, and the target's own count tells what was sent.
func TestLR_11_1_ALoadRunInOneProcess(t *testing.T) {
	fake := simulator.New(simulator.Config{Seed: 7})
	server := httptest.NewServer(fake)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		fake.Close()
	})
	definitions := t.TempDir()
	if err := os.WriteFile(filepath.Join(definitions, "boards.yaml"), []byte(dashboards(server.URL, "PROD")), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := braid.OpenEmbedded(t.Context(), braid.EmbeddedConfig{
		Dir: t.TempDir(), Workers: 2, FastSync: true, Definitions: braid.Definitions{Dir: definitions},
		Getenv: func(name string) string {
			if name == "ADMIN" {
				return "admin:admin-secret"
			}
			return ""
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	testkit.Run(t, e.Run)
	ctx, desk, me := t.Context(), e.Loads(), braid.LocalActor("olga")
	p := &load.Profile{
		ID: "sales", Name: "Sales", Environment: "boards", Dashboard: "12", Concurrency: 4,
		Axes: json.RawMessage(`{"time_range":["Last week","Last month","Last year"]}`),
	}
	if p, err = desk.SaveProfile(ctx, me, p, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := desk.LookUp(ctx, me, p.ID); err != nil {
		t.Fatal(err)
	}
	v, err := desk.Preview(ctx, p.ID)
	if err != nil {
		t.Fatal(err)
	}
	before := fake.Stats().Requests
	req := load.StartRequest{Profile: p.ID, Fingerprint: v.Gate.Inputs.Fingerprint}
	var gate *load.GateError
	if _, err := desk.Start(ctx, me, req); !errors.As(err, &gate) || gate.Kind != load.GateNoApproval {
		t.Fatalf("without an approval: %v", err)
	}
	if sent := fake.Stats().Requests - before; sent != 0 {
		t.Errorf("a refused start sent %d requests", sent) // LR-10.4
	}
	if _, err := desk.Approve(ctx, me, p.ID, load.ApprovalRequest{Hash: v.Gate.Hash, Reason: "release 12"}); err != nil {
		t.Fatal(err)
	}
	r, err := desk.Start(ctx, me, req)
	if err != nil {
		t.Fatal(err)
	}
	var last *load.RunStatus
	if err := desk.Follow(ctx, r.ID, func(s *load.RunStatus) error { last = s; return nil }); err != nil {
		t.Fatal(err)
	}
	stats, progress := fake.Stats(), last.Progress
	route := stats.Routes[simulator.ChartData]
	if last.Run.Ending != load.Completed || progress.Success != v.Total || progress.RequestsSent != route.Requests || route.Requests != v.Total {
		t.Errorf("%+v %+v; the target counted %d requests of %d", last.Run, progress, route.Requests, v.Total)
	}
	if route.MaxInFlight > last.Run.Capacity.Effective {
		t.Errorf("%d were in flight at once, of %d", route.MaxInFlight, last.Run.Capacity.Effective)
	}
	report, err := desk.Report(ctx, "latest")
	if err != nil || report.Overall.Success != v.Total || report.Overall.Upstream.Samples != v.Total {
		t.Errorf("%+v, %v", report, err)
	}
	views, err := desk.Environments(ctx)
	if err != nil || len(views) != 1 || views[0].Class != load.Prod || len(views[0].Active) != 0 || views[0].Roles[0] != "Admin" {
		t.Errorf("%+v, %v", views, err)
	}
}
