//go:build unix

package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/pkg/messages"
)

const (
	poolLimit  = 20
	poolWindow = 4 * time.Second
)

// meteredDesk has services of its own at the upstream, all of one pool with the quota that the upstream has.
func meteredDesk(t *testing.T, up *upstream, quota string, services ...string) *desk {
	t.Helper()
	builtin, err := os.ReadFile(root + "/pkg/service/builtin/usgs-waterdata.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, nil)
	host := strings.TrimPrefix(up.address, "http://")
	text := string(builtin)
	begin, end := strings.Index(text, "hosts:"), strings.Index(text, "limits:")
	text = text[:begin] + "hosts: [{host: '" + host + "', insecure: true}]\n" + quota + "\n" + text[end:]
	text = strings.Replace(text, "https://api.waterdata.usgs.gov/ogcapi/v0", up.base, 1)
	for _, name := range services {
		d.write("services/"+name+".yaml", strings.Replace(text, "name: usgs-waterdata", "name: "+name, 1))
	}
	d.args = append(d.args, "--services-dir", d.path("services"))
	return d
}

const observedPool = "quotas: {shared: {limit: 1000, window: 4s, observe: {limit: 'header:X-RateLimit-Limit', remaining: 'header:X-RateLimit-Remaining'}}}"

// of gives a query file of another service.
func (d *desk) of(service, name string, sites, chunks int) string {
	d.t.Helper()
	file := d.queryFile(name, sites, chunks)
	text := strings.Replace(string(d.read(name)), "service: usgs-waterdata", "service: "+service, 1)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
	return file
}

func metered(limit int) simulator.Config {
	return simulator.Config{Latency: 20 * time.Millisecond, Quota: simulator.Quota{Limit: limit, Window: poolWindow}}
}

func TestAQueryAloneInItsPoolIsNeverRefused(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, metered(0))
	d := meteredDesk(t, up, observedPool, "rivers")
	d.run("run", d.of("rivers", "q.yaml", 50, 50), "-o", "free.csv").mustExit(t, 0)
	free := d.read("free.csv")
	up.Reset()
	up.change(t, func(c *simulator.Config) { c.Quota = metered(poolLimit).Quota })
	// Somebody who has not heard of the pool: what a service without a quota has let pass is no word of one that has it.
	d = meteredDesk(t, up, observedPool, "rivers")
	d.run("run", d.of("rivers", "q.yaml", 50, 50), "-o", "out.csv", "--wait").mustExit(t, 0)
	d.mustEqual("out.csv", free)
	if seen := up.Counters(); seen.Refused != 0 || seen.OK != 50 {
		t.Errorf("%d answers and %d refusals, want 50 and none", seen.OK, seen.Refused)
	}
}

func TestAPauseBeforeAnyRefusalSaysHowThePoolStands(t *testing.T) {
	t.Parallel()
	// The window is long, so that no unit comes back while the query runs, and a reservation (an eighth of it, at most 5 s) is longer
	// than a machine that many tests share stands still: a process that does so for longer loses what it had reserved.
	const window = 5 * time.Minute
	config := metered(poolLimit)
	config.Quota.Window = window
	up := newUpstream(t, config)
	d := meteredDesk(t, up, strings.Replace(observedPool, "window: 4s", "window: "+window.String(), 1), "rivers")
	file := d.of("rivers", "q.yaml", 50, 50)
	o := d.run("run", file, "-o", "out.csv").mustExit(t, 75)
	o.mustSay(t, "the pool shared has 0 of 20 left until")
	if seen := up.Counters(); seen.Refused != 0 || seen.OK != poolLimit {
		t.Errorf("%d answers and %d refusals, want %d and none", seen.OK, seen.Refused, poolLimit)
	}
	text := d.run("plan", file).mustExit(t, 0).stdout
	for _, line := range []string{"0 of 20 left now, the next at ", "needs about 4 windows of 20", "the first begins when units are back"} {
		if !strings.Contains(text, line) {
			t.Errorf("braid plan does not say %q:\n%s", line, text)
		}
	}
	var plan messages.PlanSummary
	if err := json.Unmarshal([]byte(d.run("plan", file, "--json").mustExit(t, 0).stdout), &plan); err != nil {
		t.Fatal(err)
	}
	if q := plan.Quotas[0]; q.Left == nil || *q.Left != 0 || q.Windows != 4 || q.Back.Before(time.Now()) || plan.Waited > 3*int64(window/time.Second) {
		t.Errorf("the plan says %+v and a wait of %d s", q, plan.Waited)
	}
	if text := d.run("quota").mustExit(t, 0).stdout; !strings.Contains(text, "shared") || !strings.Contains(text, "of 20") {
		t.Errorf("braid quota says\n%s", text)
	}
}

func TestTwoServicesShareOnePool(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, metered(poolLimit))
	d := meteredDesk(t, up, observedPool, "rivers", "wells")
	d.run("run", d.of("rivers", "one.yaml", 15, 15), "-o", "one.csv").mustExit(t, 0)
	d.run("run", d.of("wells", "two.yaml", 25, 25), "-o", "two.csv", "--wait").mustExit(t, 0)
	if seen := up.Counters(); seen.Refused != 0 || seen.OK != 40 {
		t.Errorf("%d answers and %d refusals, want 40 and none", seen.OK, seen.Refused)
	}
}

// Somebody else spends the same pool: what the service says is believed, and what is refused all the same costs a pause.
func TestAForeignSpenderCostsPausesAndNoRow(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, metered(0))
	d := meteredDesk(t, up, observedPool, "rivers")
	file := d.of("rivers", "q.yaml", 40, 40)
	d.run("run", file, "-o", "free.csv").mustExit(t, 0)
	up.Reset()
	up.change(t, func(c *simulator.Config) { c.Quota = metered(poolLimit).Quota })
	p := d.braid("run", file, "-o", "out.csv", "--wait")
	up.saw(t, 5)
	for range 30 { // of which some are refused
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, up.base+"/collections/daily/items?f=json&limit=1&monitoring_location_id="+siteName(0)+"&parameter_code=00060&statistic_id=00003&time=2024-01-01/2024-01-01", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	p.wait(limit).mustExit(t, 0)
	d.mustEqual("out.csv", d.read("free.csv"))
}

func TestWhatIsHeldBackIsNeverSpent(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, metered(poolLimit))
	d := meteredDesk(t, up, observedPool, "rivers")
	file := d.of("rivers", "q.yaml", 30, 30)
	text := string(d.read("q.yaml"))
	d.write("q.yaml", text+"run: {hold_back: 12}\n")
	d.run("run", file, "-o", "out.csv").mustExit(t, 75).mustSay(t, "12 held back")
	if seen := up.Counters(); seen.Requests != poolLimit-12 {
		t.Errorf("%d requests, want %d", seen.Requests, poolLimit-12)
	}
}

func TestABudgetStopsWithItsOwnExitCodeAndResumes(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	d := newDesk(t, up)
	file := d.queryFile("q.yaml", 30, 30)
	d.run("run", file, "-o", "free.csv").mustExit(t, 0)
	up.Reset()
	d.write("q.yaml", string(d.read("q.yaml"))+"run: {max_requests: 7}\n")
	o := d.run("run", file, "-o", "out.csv").mustExit(t, 10)
	if seen := up.Counters(); seen.Requests != 7 {
		t.Errorf("%d requests, want 7", seen.Requests)
	}
	id := idIn(o)
	d.run("resume", id, "--max-requests", "9").mustExit(t, 10)
	if seen := up.Counters(); seen.Requests != 16 {
		t.Errorf("%d requests, want 16", seen.Requests)
	}
	d.run("resume", id, "--max-requests", "1000").mustExit(t, 0)
	d.mustEqual("out.csv", d.read("free.csv"))
	if seen := up.Counters(); seen.Requests != 30 || seen.Repeated != 0 {
		t.Errorf("%d requests and %d repeated, want 30 and none", seen.Requests, seen.Repeated)
	}
}

func TestABudgetStopsInsideAWalkAndGoesOnBehindItsPages(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{PageRows: 100})
	d := newDesk(t, up)
	file := d.queryFile("q.yaml", 2, 1)
	d.run("run", file, "-o", "free.csv").mustExit(t, 0)
	all := up.Counters().Requests
	up.Reset()
	d.write("q.yaml", string(d.read("q.yaml"))+"run: {max_requests: 3}\n")
	id := idIn(d.run("run", file, "-o", "out.csv").mustExit(t, 10))
	if seen := up.Counters(); seen.Requests != 3 {
		t.Errorf("%d requests, want 3", seen.Requests)
	}
	d.run("resume", id, "--max-requests", "1000").mustExit(t, 0)
	d.mustEqual("out.csv", d.read("free.csv"))
	if seen := up.Counters(); seen.Requests != all {
		t.Errorf("%d requests, want %d", seen.Requests, all)
	}
}

// Redirects, retries and pages are each charged before they are sent, and so the pool's count is the service's.
func TestThePoolCountsWhatTheServiceCounts(t *testing.T) {
	t.Parallel()
	const window = "{shared: {limit: 1000, window: 10m}}"
	busy := simulator.Config{Latency: 10 * time.Millisecond, PageRows: 100, Faults: []simulator.Fault{
		{Kind: simulator.FaultRedirectLoop, Rate: 0.3, Attempts: 2}, {Kind: simulator.Fault503, Rate: 0.1, Attempts: 2},
	}}
	up := newUpstream(t, busy)
	d := meteredDesk(t, up, "quotas: "+window, "rivers")
	d.run("run", d.of("rivers", "q.yaml", 12, 12), "-o", "out.csv").mustExit(t, 0)
	seen := up.Counters()
	var list messages.QuotaList
	if err := json.Unmarshal([]byte(d.run("quota", "--json").mustExit(t, 0).stdout), &list); err != nil || len(list.Quotas) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if spent := list.Quotas[0].Limit - *list.Quotas[0].Left; spent != seen.Requests || seen.Faults[simulator.FaultRedirectLoop] == 0 || seen.Faults[simulator.Fault503] == 0 {
		t.Errorf("the pool counts %d requests and the service %d, with faults %v", spent, seen.Requests, seen.Faults)
	}
	// A redirect is not followed without a unit for it.
	const limit = 10
	busy.Quota = simulator.Quota{Limit: limit, Window: 10 * time.Minute}
	up.Reset()
	up.change(t, func(c *simulator.Config) { *c = busy })
	d = meteredDesk(t, up, "quotas: {shared: {limit: 10, window: 10m}}", "rivers")
	d.run("run", d.of("rivers", "q.yaml", 12, 12), "-o", "out.csv").mustExit(t, 75)
	if seen := up.Counters(); seen.Refused != 0 || seen.Requests > limit {
		t.Errorf("%d requests and %d refusals, want at most %d and none", seen.Requests, seen.Refused, limit)
	}
}
