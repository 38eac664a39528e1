//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/internal/simulator/superset"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/load"
)

// boards is the environment that load runs go to.
const boards = "boards"

// dashboards is a fake Superset in this process, so that a test reads directly what it saw.
type dashboards struct {
	*superset.Server
	base string
}

func newDashboards(t *testing.T, config superset.Config) *dashboards {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	fake := superset.New(config)
	base, wait, err := fake.Serve(ctx, "127.0.0.1:0")
	if err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		fake.Close()
		stop()
		if err := wait(); err != nil {
			t.Error(err)
		}
	})
	return &dashboards{fake, base}
}

func (d *dashboards) change(t *testing.T, change func(*superset.Config)) {
	t.Helper()
	if err := d.Update(change); err != nil {
		t.Fatal(err)
	}
}

// data is what it has counted of the requests for data.
func (d *dashboards) data() superset.RouteStats { return d.Counters().Routes[superset.ChartData] }

func (d *dashboards) idle(t *testing.T) {
	t.Helper()
	eventually(t, limit, "the target to be idle", func() bool { return d.Counters().InFlight == 0 })
}

// environmentText is the block `environment` of the definition: 0 leaves a setting out.
type environmentText struct {
	stage                string
	pool, most, reserved int
}

func (e environmentText) definition(base string) string {
	text := "schema: service/v1\nname: " + boards + "\nadapter: superset\nbase_url: " + base + "\n" +
		"hosts: [{host: '" + strings.TrimPrefix(base, "http://") + "', insecure: true, credentials: [admin, gamma]}]\n" +
		"credentials:\n  admin: {send: {basic: true}, from: env:ADMIN}\n  gamma: {send: {basic: true}, from: env:GAMMA}\n" +
		"environment:\n  stage: " + e.stage + "\n"
	for _, setting := range []struct {
		name  string
		value int
	}{{"connection_pool_size", e.pool}, {"load_test_max_concurrent", e.most}, {"load_test_reserved_slots", e.reserved}} {
		if setting.value > 0 {
			text += fmt.Sprintf("  %s: %d\n", setting.name, setting.value)
		}
	}
	return text + "  roles:\n    Admin: {credential: admin}\n    Gamma: {credential: gamma}\n" +
		"collections:\n  chart_data:\n    params:\n      chart: {type: int64, many: comma, required: true}\n    axes: [{each: chart}]\n    fields: {chart_id: {type: int64}}\n"
}

// loadCluster is a NATS server, coordinators and three workers, each a process of its own, and what they put under load.
type loadCluster struct {
	braid.LoadRuns // of the first coordinator
	t              *testing.T
	fake           *dashboards
	dir            string
	natsURL        string
	urls           []string // of the coordinators
	nats           *member
	lead           []*member
	work           [3]*member
	records        jetstream.Stream
}

type loadConfig struct {
	environment  environmentText
	coordinators int // 0: one
	grace        time.Duration
	ledger       string // empty: none
}

func newLoadCluster(t *testing.T, fake *dashboards, config loadConfig) *loadCluster {
	t.Helper()
	c := &loadCluster{t: t, fake: fake, dir: t.TempDir()}
	c.define(config.environment)
	natsPort := freePort(t)
	c.natsURL = "nats://127.0.0.1:" + natsPort
	start := func(name string, env []string, args ...string) *member {
		m := &member{t: t, dir: c.dir, name: name, args: args, env: env}
		m.start()
		return m
	}
	c.nats = start("nats-server", nil, "-a", "127.0.0.1", "-p", natsPort, "-js", "-sd", filepath.Join(c.dir, "nats"))
	for i := range max(1, config.coordinators) {
		apiPort := freePort(t)
		c.urls = append(c.urls, "http://127.0.0.1:"+apiPort)
		var env []string
		if config.ledger != "" {
			env = append(env, "BRAID_LEDGER_URL="+config.ledger)
		}
		c.lead = append(c.lead, start("coordinator", env, "--nats-url", c.natsURL, "--id", fmt.Sprintf("lead-%d", i), "--listen", "127.0.0.1:"+apiPort,
			"--lease-ttl", "2s", "--services-dir", filepath.Join(c.dir, "services"), "--log-format", "text"))
	}
	secrets := boardSecrets()
	if config.grace == 0 {
		config.grace = 5 * time.Second
	}
	for i := range c.work {
		c.work[i] = start("worker", secrets, "--nats-url", c.natsURL, "--id", fmt.Sprintf("worker-%d", i), "--grace", config.grace.String(), "--log-format", "text")
	}
	for _, url := range c.urls {
		eventually(t, limit, "the coordinator to be ready", func() bool { return ready(url) })
	}
	c.LoadRuns = c.at(0)
	conn, err := nats.Connect(c.natsURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if c.records, err = js.Stream(t.Context(), "LOAD"); err != nil {
		t.Fatal(err)
	}
	return c
}

func ready(url string) bool {
	answer, err := http.Get(url + "/readyz")
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// at is what can be done at one of the coordinators.
func (c *loadCluster) at(i int) braid.LoadRuns {
	c.t.Helper()
	client, err := braid.NewClient(c.urls[i])
	if err != nil {
		c.t.Fatal(err)
	}
	return client.LoadRuns()
}

// define writes the environment's definition.
// boardSecrets are the credentials of the environment, for those that send requests to it.
func boardSecrets() []string { return []string{"ADMIN=admin:admin-secret", "GAMMA=gamma:gamma-secret"} }

func (c *loadCluster) define(e environmentText) {
	c.t.Helper()
	(&desk{t: c.t, dir: c.dir}).write("services/"+boards+".yaml", e.definition(c.fake.base))
}

func (c *loadCluster) desk() *desk {
	c.t.Helper()
	d := newDesk(c.t, nil)
	d.args = []string{"--server", c.urls[0]}
	return d
}

// nineCharts are those of the dashboard that all roles may see, without the last one.
func nineCharts() []int64 { return []int64{101, 102, 103, 104, 105, 106, 107, 108, 109} }

// axesOf makes axes of regions and ranges of time, n variations of each role.
func axesOf(n int, roles ...string) json.RawMessage {
	var ranges []string
	for i := range n {
		day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, i)
		ranges = append(ranges, day.Format(time.DateOnly)+" : "+day.AddDate(0, 0, 30).Format(time.DateOnly))
	}
	axes := map[string]any{"time_range": ranges}
	if len(roles) > 0 {
		axes["role"] = roles
	}
	text, err := json.Marshal(axes)
	if err != nil {
		panic(err)
	}
	return text
}

// save stores a profile, has it looked up, and gives what its gate wants to hear.
func (c *loadCluster) save(p *load.Profile) *load.Preview {
	c.t.Helper()
	p.Environment, p.Dashboard = boards, "sales"
	if _, err := c.SaveProfile(c.t.Context(), p, -1); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.LookUp(c.t.Context(), p.ID); err != nil {
		c.t.Fatal(err)
	}
	v, err := c.Preview(c.t.Context(), p.ID)
	if err != nil {
		c.t.Fatal(err)
	}
	return v
}

// begin starts a run of the profile.
func (c *loadCluster) begin(p *load.Profile) *load.Run {
	c.t.Helper()
	v := c.save(p)
	run, err := c.Start(c.t.Context(), load.StartRequest{Profile: p.ID, Fingerprint: v.Gate.Inputs.Fingerprint})
	if err != nil {
		c.t.Fatal(err)
	}
	return run
}

// end waits until a run has ended, and holds its counts together.
func (c *loadCluster) end(id string) *load.RunStatus {
	c.t.Helper()
	return c.endAt(c.LoadRuns, id)
}

func (c *loadCluster) endAt(runs braid.LoadRuns, id string) *load.RunStatus {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), limit)
	defer cancel()
	var last *load.RunStatus
	if err := runs.FollowRun(ctx, id, func(s *load.RunStatus) error { last = s; return nil }); err != nil {
		c.t.Fatalf("%v; the last that was told is %s", err, shown(last))
	}
	p := last.Progress
	if last.Run.State != load.Ended || p == nil || p.InFlight != 0 || p.Success+p.Errors+p.Timeouts+p.Cancelled+p.NotStarted+p.NotDispatched != last.Run.Total {
		c.t.Fatalf("the run's counts do not add up: %s", shown(last))
	}
	return last
}

func shown(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// report is what the first coordinator makes of the run.
func (c *loadCluster) report(id string) *load.Report {
	c.t.Helper()
	r, err := c.Report(c.t.Context(), id)
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

// recorded waits until so many executions of the run have a record.
func (c *loadCluster) recorded(runs braid.LoadRuns, id string, n int) {
	c.t.Helper()
	eventually(c.t, limit, fmt.Sprintf("%d records", n), func() bool {
		s, err := runs.Run(c.t.Context(), id)
		return err == nil && s.Progress != nil && s.Progress.Recorded >= n
	})
}

// admitted is how many requests of the run have an admission in the stream. Once a run's intake is closed, that is how many the target
// sees of it at most, whenever they arrive there.
func (c *loadCluster) admitted(id string) int {
	c.t.Helper()
	info, err := c.records.Info(c.t.Context(), jetstream.WithSubjectFilter("braid.load.admission."+id+".>"))
	if err != nil {
		c.t.Fatal(err)
	}
	return len(info.State.Subjects)
}

// stop stops a run and gives how many requests it had admitted when that returned.
func (c *loadCluster) stop(runs braid.LoadRuns, id string) (admitted int) {
	c.t.Helper()
	if _, err := runs.Stop(c.t.Context(), id); err != nil {
		c.t.Fatal(err)
	}
	return c.admitted(id)
}
