//go:build unix

package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/pkg/messages"
)

func TestAQueryOfFlagsRunsAndItsSavedFileGivesTheSameTableLater(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	d := newDesk(t, up)
	var sites strings.Builder
	sites.WriteString("site_no,name\n")
	for i := range 6 {
		sites.WriteString(strings.TrimPrefix(siteName(i), "USGS-") + ",x\n")
	}
	d.write("sites.csv", sites.String())
	flags := []string{
		"--service", service, "--collection", "daily", "--sites", "sites.csv:site_no", "--prefix", "USGS-",
		"--set", "parameter_code=00060", "--set", "statistic_id=00003", "--set", "time=2023-10-01/2024-09-30", "--max-chunks", "3",
	}
	var plan messages.PlanSummary
	o := d.run(append([]string{"plan", "--json", "--save-query", "flow.yaml", "-o", "saved.csv"}, flags...)...).mustExit(t, 0)
	if err := json.Unmarshal([]byte(o.stdout), &plan); err != nil {
		t.Fatal(err)
	}
	if n := up.Counters().Requests; n != 0 || plan.Chunks != 3 || plan.ExpectedRequests != 3 {
		t.Errorf("the plan of %d chunks and %d requests sent %d requests", plan.Chunks, plan.ExpectedRequests, n)
	}
	d.run(append([]string{"run", "-o", "flags.csv"}, flags...)...).mustExit(t, 0)
	if n := up.Counters().Requests; n != 3 {
		t.Errorf("%d requests were sent, and 3 planned", n)
	}
	if n := len(readCSV(t, d.read("flags.csv"))); n != 6*exampleDays {
		t.Errorf("%d rows, want %d", n, 6*exampleDays)
	}
	d.run("run", "flow.yaml").mustExit(t, 0)
	d.mustEqual("saved.csv", d.read("flags.csv"))
}

func TestTestingAServiceSendsOneSmallRequestAndTellsWhatCame(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{Quota: simulator.Quota{Limit: 1, Window: 3600e9, RetryAfter: true}})
	d := newDesk(t, up)
	args := []string{"services", "test", service, "--collection", "daily", "--set", "monitoring_location_id=" + siteName(0), "--set", "time=2023-10-01/2024-09-30"}
	o := d.run(args...).mustExit(t, 0)
	for _, want := range []string{"HTTP 200", "5 rows, and a next page", "X-Ratelimit-Remaining: \"0\""} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("%q is not in\n%s", want, o.stdout)
		}
	}
	o.mustSay(t, "this sends 1 request")
	if n := up.Counters().Requests; n != 1 {
		t.Errorf("%d requests were sent", n)
	}
	refused := d.run(args...).mustExit(t, 3)
	if !strings.Contains(refused.stdout, "HTTP 429, which means quota") || up.Counters().Requests != 2 {
		t.Errorf("%d requests\n%s", up.Counters().Requests, refused.stdout)
	}
}
