package braid_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	simulator "github.com/braidhq/braid/internal/simulator/superset"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/load"
)

// fakeBoards is a fake Superset with two definitions: the service dev, and the service prod that is PROD.
type fakeBoards struct {
	fake *simulator.Server
	dir  string // of the definitions
}

func newFakeBoards(t *testing.T) *fakeBoards {
	t.Helper()
	b := &fakeBoards{fake: simulator.New(simulator.Config{Seed: 7}), dir: t.TempDir()}
	server := httptest.NewServer(b.fake)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		b.fake.Close()
	})
	for name, stage := range map[string]string{"dev": "DEV", "prod": "PROD"} {
		text := "schema: service/v1\nname: " + name + "\nadapter: superset\nbase_url: " + server.URL + "\n" +
			"hosts: [{host: '" + strings.TrimPrefix(server.URL, "http://") + "', insecure: true, credentials: [admin, gamma]}]\n" +
			"credentials:\n  admin: {send: {basic: true}, from: ['env:ADMIN']}\n  gamma: {send: {basic: true}, from: ['env:GAMMA']}\n" +
			"environment:\n  stage: " + stage + "\n  roles:\n    Admin: {credential: admin}\n    Gamma: {credential: gamma}\n" +
			"collections:\n  chart_data:\n    params:\n      chart: {type: int64, many: comma, required: true}\n    axes: [{each: chart}]\n    fields: {chart_id: {type: int64}}\n"
		if err := os.WriteFile(filepath.Join(b.dir, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// into makes the environments known to a process.
func (b *fakeBoards) into(cfg *braid.EmbeddedConfig) {
	cfg.Definitions.Dir = b.dir
	cfg.Getenv = func(name string) string {
		return map[string]string{"ADMIN": "admin:admin-secret", "GAMMA": "gamma:gamma-secret"}[name]
	}
}

// profileOf is a profile of two charts by two roles.
func profileOf(environment string) *load.Profile {
	return &load.Profile{
		V: 1, ID: environment, Environment: environment, Dashboard: "12", Charts: []int64{101, 102}, Concurrency: 3,
		Axes:     json.RawMessage(`{"role":["Admin","Gamma"],"filters":[[],[{"col":"region","op":"==","val":"EU"}]]}`),
		Deadline: 5 * time.Second, Thresholds: []load.Threshold{{Metric: "error_rate", Max: "0.5"}},
	}
}

// prepared stores a profile and looks its dashboard up.
func prepared(t *testing.T, loads braid.LoadRuns, environment string) *load.Preview {
	t.Helper()
	if _, err := loads.SaveProfile(t.Context(), profileOf(environment), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := loads.LookUp(t.Context(), environment); err != nil {
		t.Fatal(err)
	}
	preview, err := loads.Preview(t.Context(), environment)
	if err != nil {
		t.Fatal(err)
	}
	return preview
}

// endedRun waits for the end of a run.
func endedRun(t *testing.T, loads braid.LoadRuns, id string) *load.RunStatus {
	t.Helper()
	var last *load.RunStatus
	testkit.Until(t, "the load run has ended", func() bool {
		var err error
		if last, err = loads.Run(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		return !last.Run.State.Active()
	})
	return last
}

// runLoad gives a described server a load run that has ended, and a profile in PROD whose run can be approved.
func (d *described) runLoad(loads braid.LoadRuns) {
	d.t.Helper()
	d.gate = prepared(d.t, loads, "prod").Gate.Hash
	d.seen = prepared(d.t, loads, "dev").Gate.Inputs.Fingerprint
	run, err := loads.Start(d.t.Context(), load.StartRequest{Profile: "dev", Fingerprint: d.seen})
	if err != nil {
		d.t.Fatal(err)
	}
	d.load = run.ID
	endedRun(d.t, loads, run.ID)
}

// validLoad gives a body that an operation of load runs takes.
func (d *described) validLoad(o described1) string {
	profile := `{"id":%q,"environment":"dev","dashboard":"12","concurrency":2,"axes":{}}`
	switch {
	case o.path == "/v1/load/profile-file":
		return `{"text":"schema: load/v1\nenvironment: dev\ndashboard: sales\nconcurrency: 2\n"}`
	case strings.HasSuffix(o.path, "/approvals"):
		return `{"gate_hash":"` + d.gate + `","reason":"a test"}`
	case o.path == "/v1/load/runs":
		return `{"profile":"dev","fingerprint":"` + d.seen + `"}`
	case o.path == "/v1/load/profiles":
		return fmt.Sprintf(profile, "another")
	}
	var same map[string]any
	text, err := json.Marshal(profileOf("dev"))
	if err == nil {
		err = json.Unmarshal(text, &same)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return string(text)
}

// needed gives the parameters that an operation cannot do without.
func (d *described) needed(o described1) string {
	if o.path == "/v1/load/compare" {
		return "?base=" + d.load + "&run=" + d.load
	}
	return ""
}

// slow makes each query of the fake take a while.
func (b *fakeBoards) slow(t *testing.T) {
	t.Helper()
	if err := b.fake.Update(func(c *simulator.Config) { c.Latency.Base.Low = 300 * time.Millisecond }); err != nil {
		t.Fatal(err)
	}
}

// sent is how many requests the fake has counted, of all kinds.
func (b *fakeBoards) sent() int { return b.fake.Counters().Requests }

// charts is how many of them were for a chart's data.
func (b *fakeBoards) charts() int { return b.fake.Counters().Routes[simulator.ChartData].Requests }
