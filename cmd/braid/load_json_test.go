package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator/superset"
)

// dashboards has a fake Superset in the folder's definitions: boards, and live, which is PROD; and load profiles for them.
func (d *folder) dashboards(t *testing.T) {
	t.Helper()
	cfg := superset.Config{Seed: 7}
	cfg.Latency.Base.Low = 100 * time.Millisecond
	fake := superset.New(cfg)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	base, wait, err := fake.Serve(ctx, "127.0.0.1:0")
	if err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = wait()
		fake.Close()
	})
	services := t.TempDir()
	if err := os.CopyFS(services, os.DirFS(d.env["BRAID_SERVICES_DIR"])); err != nil {
		t.Fatal(err)
	}
	d.env["BRAID_SERVICES_DIR"] = services
	for name, stage := range map[string]string{"boards": "DEV", "live": "PROD"} {
		text := strings.NewReplacer("NAME", name, "STAGE", stage, "URL", base, "HOST", strings.TrimPrefix(base, "http://")).Replace(boardsText)
		if err := os.WriteFile(filepath.Join(services, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d.write(name+".profile.yaml", "schema: load/v1\nid: "+name+"\nenvironment: "+name+"\ndashboard: sales\ncharts: [105]\nconcurrency: 1\naxes: {viewport: [{width: 1, height: 1}, {width: 2, height: 1}, {width: 3, height: 1}]}\n")
	}
	d.write("long.profile.yaml", "schema: load/v1\nid: long\nenvironment: boards\ndashboard: sales\nconcurrency: 1\naxes: {role: [Admin, Gamma], filters: [[], [{col: a, op: '==', val: 1}], [{col: a, op: '==', val: 2}]]}\n")
	d.env["BOARDS_ADMIN"], d.env["BOARDS_GAMMA"] = "admin:admin-secret", "gamma:gamma-secret"
}

func loadSteps() []jsonStep {
	return []jsonStep{
		{"load environments", 0, "environments. environments.name environments.class environments.capacity environments.active"},
		{"load profiles", 0, "profiles[]"},
		{"load list", 0, "runs[]"},
		{"load approvals", 0, "approvals[]"},
		{"load apply boards.profile.yaml", 0, "id revision environment"},
		{"load preview boards", exitUsage, "message_type code message"},
		{"load look-up boards", 0, "id charts. dependents.fingerprint"},
		{"load preview boards", 0, "theoretical_count selected total_requests distinct_requests capacity.effective capacity.binding gate.gate_hash gate.inputs.blast_radius_fingerprint"},
		{"load run boards", exitUsage, "message_type code message"},
		{"load run boards --yes", 0, "run.id run.state run.verdict progress.recorded"},
		{"load watch latest", 0, "run.id progress"},
		{"load list", 0, "runs. runs.run runs.progress"},
		{"load status", 0, "run.id progress.requests_sent"},
		{"load report", 0, "run verdict groups. by_chart_cache. overall.upstream_latency_ms.sample_count"},
		{"load report -o report.xml", 0, "written"},
		{"load executions latest", 0, "executions. executions.number"},
		{"load executions latest 0", 0, "number outcome waits"},
		{"load compare latest latest", exitIncomplete, "comparable reasons[] gate.passed gate.reasons[]"},
		{"load run boards --yes", 0, "run.id"},
		{"load compare BASE latest", 0, "comparable differences. noise failures.change judged gate.passed"},
		{"load apply live.profile.yaml", 0, "id revision"},
		{"load look-up live", 0, "id"},
		{"load preview live", 0, "gate.gate_hash"},
		{"load approve live --gate GATE --reason release", 0, "id gate_hash reason expires"},
		{"load approvals", 0, "approvals. approvals.id approvals.inputs"},
		{"load profiles live", 0, "id revision"},
		{"load rm latest", 0, "removed"},
		{"load rm --profile live", 0, "removed"},
		{"load apply long.profile.yaml", 0, "id"},
		{"load look-up long", 0, "id"},
	}
}

func servedLoadSteps() []jsonStep {
	return []jsonStep{
		{"load run long --yes --server UP", 0, "run.id run.state"},
		{"load stop latest --server UP", 0, "run.id run.ending"},
		{"load watch latest --server UP", exitIncomplete, "run.id run.ending"},
		{"load list --server UP", 0, "runs. runs.run"},
	}
}
