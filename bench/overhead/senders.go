package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/load"
)

const environment = "boards"

func definition(base string) string {
	return "schema: service/v1\nname: " + environment + "\nadapter: superset\nbase_url: " + base + "\n" +
		"hosts: [{host: '" + strings.TrimPrefix(base, "http://") + "', insecure: true, credentials: [admin]}]\n" +
		"credentials:\n  admin: {send: {basic: true}, from: env:ADMIN}\n" +
		"environment:\n  stage: DEV\n  connection_pool_size: 30\n  load_test_max_concurrent: 25\n  roles:\n    Admin: {credential: admin}\n" +
		"collections:\n  chart_data:\n    params:\n      chart: {type: int64, many: comma, required: true}\n    axes: [{each: chart}]\n    fields: {chart_id: {type: int64}}\n"
}

// runner sends by load runs.
type runner struct {
	embedded *braid.Embedded
	running  context.CancelFunc
	ended    chan error
	profile  *load.Profile
}

func openRunner(ctx context.Context, dir, base string, variations int) (*runner, error) {
	services := filepath.Join(dir, "services")
	if err := os.MkdirAll(services, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(services, environment+".yaml"), []byte(definition(base)), 0o600); err != nil {
		return nil, err
	}
	e, err := braid.OpenEmbedded(ctx, braid.EmbeddedConfig{
		Dir: filepath.Join(dir, "data"), Workers: 3, Durability: braid.Fast, Definitions: braid.Definitions{Dir: services},
		Getenv: func(name string) string { return map[string]string{"ADMIN": "admin:admin-secret"}[name] },
		Log:    slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	r := &runner{embedded: e, running: stop, ended: make(chan error, 1)}
	go func() { r.ended <- e.Run(running) }()
	var ranges []string
	for i := range variations {
		day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, i)
		ranges = append(ranges, day.Format(time.DateOnly)+" : "+day.AddDate(0, 0, 30).Format(time.DateOnly))
	}
	axes, err := json.Marshal(map[string]any{"time_range": ranges})
	if err != nil {
		return nil, err
	}
	me := braid.LocalActor("bench")
	r.profile, err = e.Loads().SaveProfile(ctx, me, &load.Profile{
		ID: "overhead", Environment: environment, Dashboard: "sales", Charts: []int64{101, 102, 103, 104, 105, 106, 107, 108, 109},
		Axes: axes, Cap: variations, Concurrency: ceiling,
	}, 0)
	if err == nil {
		_, err = e.Loads().LookUp(ctx, me, r.profile.ID)
	}
	return r, err
}

func (r *runner) close() error {
	r.running()
	err := <-r.ended
	if closed := r.embedded.Close(); err == nil {
		err = closed
	}
	return err
}

// send runs the profile and gives the upstream latency of each execution.
func (r *runner) send(ctx context.Context) ([]time.Duration, error) {
	desk := r.embedded.Loads()
	preview, err := desk.Preview(ctx, r.profile.ID)
	if err != nil {
		return nil, err
	}
	run, err := desk.Start(ctx, braid.LocalActor("bench"), load.StartRequest{Profile: r.profile.ID, Fingerprint: preview.Gate.Inputs.Fingerprint})
	if err != nil {
		return nil, err
	}
	if err := desk.Follow(ctx, run.ID, func(*load.RunStatus) error { return nil }); err != nil {
		return nil, err
	}
	var all []time.Duration
	for after := -1; ; {
		page, next, err := desk.Executions(ctx, run.ID, load.ExecutionFilter{After: after, Limit: load.MaxExecutions})
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			if e.Outcome != load.Success {
				return nil, fmt.Errorf("execution %d: %s %s: %s", e.Number, e.Outcome, e.Kind, e.Message)
			}
			all = append(all, e.Waits.Upstream)
		}
		if next < 0 {
			return all, nil
		}
		after = next
	}
}

// attack sends by vegeta what the load run sends.
type attack struct{ targets []vegeta.Target }

func newAttack(ctx context.Context, base string, r *runner) (*attack, error) {
	var token struct {
		Access string `json:"access_token"`
	}
	if err := ask(ctx, http.MethodPost, base+"/api/v1/security/login", `{"username":"admin","password":"admin-secret","provider":"db"}`, &token); err != nil {
		return nil, err
	}
	snapshot, err := r.embedded.Loads().Snapshot(ctx, r.profile.ID)
	if err != nil {
		return nil, err
	}
	snapshot.Charts = chosen(snapshot.Charts, r.profile.Charts)
	selection, err := load.Select(r.profile, snapshot)
	if err != nil {
		return nil, err
	}
	a := &attack{}
	header := http.Header{"Authorization": {"Bearer " + token.Access}, "Content-Type": {"application/json"}, "Accept": {"application/json"}}
	for number := range len(selection.Variations) * len(snapshot.Charts) {
		body, err := load.Payload(selection.Request(number, r.profile, snapshot))
		if err != nil {
			return nil, err
		}
		a.targets = append(a.targets, vegeta.Target{Method: http.MethodPost, URL: base + "/api/v1/chart/data", Body: body, Header: header})
	}
	return a, nil
}

func chosen(all []load.Chart, ids []int64) []load.Chart {
	want := map[int64]bool{}
	for _, id := range ids {
		want[id] = true
	}
	var charts []load.Chart
	for _, chart := range all {
		if want[chart.ID] {
			charts = append(charts, chart)
		}
	}
	return charts
}

// send keeps as many requests in flight as the load run has, as fast as answers come.
func (a *attack) send(context.Context) ([]time.Duration, error) {
	next := make(chan vegeta.Target, len(a.targets))
	for _, target := range a.targets {
		next <- target
	}
	close(next)
	targeter := func(t *vegeta.Target) error {
		target, more := <-next
		if !more {
			return vegeta.ErrNoTargets
		}
		*t = target
		return nil
	}
	attacker := vegeta.NewAttacker(vegeta.Workers(ceiling), vegeta.MaxWorkers(ceiling), vegeta.Connections(ceiling), vegeta.Timeout(time.Minute))
	var all []time.Duration
	for result := range attacker.Attack(targeter, vegeta.Rate{}, 0, "overhead") {
		switch {
		case result.Error == vegeta.ErrNoTargets.Error():
		case result.Code != http.StatusOK:
			return nil, fmt.Errorf("HTTP %d: %s", result.Code, result.Error)
		default:
			all = append(all, result.Latency)
		}
	}
	return all, nil
}
