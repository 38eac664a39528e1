//go:build unix

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/pkg/messages"
)

const ngwmn = "usgs-ngwmn"

// wells is a query for the wells of a state, and levels one for their water levels.
const (
	wells  = "schema: query/v1\nservice: usgs-ngwmn\ncollection: sites\nwhere:\n  state: [Wisconsin, Iowa, Ohio]\n"
	levels = "schema: query/v1\nservice: usgs-ngwmn\ncollection: waterLevelObs\nwhere:\n" +
		"  monitoring_location_id: {from_query: wells.yaml, column: monitoring_location_id}\n" +
		"  time: {from: 2023-01-01T00:00:00Z, to: 2023-12-31T00:00:00Z}\noutput: {to: levels.csv, if_exists: replace}\n"
)

func wellDesk(t *testing.T, up *upstream) *desk {
	d := newDesk(t, up)
	d.args = append(d.args, "--service-url", ngwmn+"="+up.address+simulator.NGWMNBase)
	d.write("wells.yaml", wells)
	d.write("levels.yaml", levels)
	return d
}

// asked counts the requests for a collection.
func (u *upstream) asked(collection string) int {
	n := 0
	for _, e := range u.Requests() {
		if strings.Contains(e.URL, "/collections/"+collection+"/") {
			n++
		}
	}
	return n
}

// wellsIn are the distinct sites of a table, in its order.
func wellsIn(t *testing.T, table []byte) []string {
	var sites []string
	for _, row := range readCSV(t, table) {
		if site := row["monitoring_location_id"]; !slices.Contains(sites, site) {
			sites = append(sites, site)
		}
	}
	return sites
}

func TestAQueryAsksForTheColumnOfAnotherOneThatIsRunOnce(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	d := wellDesk(t, up)

	before := d.run("plan", "levels.yaml").mustExit(t, 2)
	before.mustSay(t, "levels.yaml:5: where.monitoring_location_id.from_query: values come from wells.yaml, which has not been run; do: braid run wells.yaml")
	if n := up.Counters().Requests; n != 0 {
		t.Fatalf("a plan sent %d requests", n)
	}

	first := d.run("run", "levels.yaml").mustExit(t, 0)
	first.mustSay(t, "wells.yaml, whose column monitoring_location_id gives the values of monitoring_location_id")
	if up.asked("sites") == 0 || up.asked("waterLevelObs") == 0 {
		t.Fatalf("%d requests for wells and %d for levels, want some of both", up.asked("sites"), up.asked("waterLevelObs"))
	}
	d.run("results", idIn(first), "-o", "wells.csv").mustExit(t, 0)
	sites := wellsIn(t, d.read("wells.csv"))
	if got := wellsIn(t, d.read("levels.csv")); len(got) == 0 || slices.ContainsFunc(got, func(s string) bool { return !slices.Contains(sites, s) }) {
		t.Errorf("levels of %d wells, not all of them among the %d", len(got), len(sites))
	}
	first.mustSay(t, fmt.Sprintf("monitoring_location_id: %d values from wells.yaml (query %s, completed ", len(sites), idIn(first)))

	once, table := up.asked("sites"), d.read("levels.csv")
	again := d.run("run", "levels.yaml", "-o", "again.csv").mustExit(t, 0)
	again.mustSay(t, "values from wells.yaml (query "+idIn(first))
	if n := up.asked("sites"); n != once {
		t.Errorf("the wells were asked for again, with %d requests", n-once)
	}
	d.mustEqual("again.csv", table)

	// The same values from a file make the same table.
	d.write("sites.txt", strings.Join(sites, "\n"))
	d.write("byfile.yaml", strings.Replace(levels, "{from_query: wells.yaml, column: monitoring_location_id}", "{file: sites.txt}", 1))
	d.run("run", "byfile.yaml", "-o", "byfile.csv").mustExit(t, 0)
	d.mustEqual("byfile.csv", table)

	sent := up.Counters().Requests
	after := d.run("plan", "levels.yaml").mustExit(t, 0)
	after.mustSay(t, fmt.Sprintf("%d values from wells.yaml (query %s, completed ", len(sites), idIn(first)))
	d.write("byid.yaml", strings.Replace(levels, "wells.yaml", idIn(first), 1))
	d.run("plan", "byid.yaml").mustExit(t, 0).mustSay(t, fmt.Sprintf("%d values from query %s (completed ", len(sites), idIn(first)))
	if n := up.Counters().Requests; n != sent {
		t.Errorf("plans sent %d requests", n-sent)
	}

	// A query that has become another one is run anew, and so is one that was removed.
	d.write("wells.yaml", strings.Replace(wells, "Ohio", "Utah", 1))
	d.run("plan", "levels.yaml").mustExit(t, 2).mustSay(t, "has not been run")
	d.write("wells.yaml", wells)
	d.run("rm", idIn(first)).mustExit(t, 0)
	d.run("plan", "levels.yaml").mustExit(t, 2).mustSay(t, "has not been run")
	d.run("plan", "byid.yaml").mustExit(t, 2).mustSay(t, "byid.yaml:5: where.monitoring_location_id.from_query: ", idIn(first))
}

func TestAQueryThatFeedsAnotherIsGoneOnWithAfterAnInterruption(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	free := wellDesk(t, up)
	inner := strings.Replace(wells, "[Wisconsin", "[Minnesota, Wisconsin", 1) + "max_chunks: 4\n"
	free.write("wells.yaml", inner)
	free.run("run", "levels.yaml").mustExit(t, 0)

	up.Reset()
	up.change(t, func(c *simulator.Config) {
		c.Quota = simulator.Quota{Limit: 2, Window: 4 * time.Second, RetryAfter: true}
	})
	d := wellDesk(t, up)
	d.write("wells.yaml", inner)
	paused := d.run("run", "levels.yaml").mustExit(t, 75)
	id := idIn(paused)
	paused.mustSay(t, "2 of 4 chunks; none of them will be asked for again", "braid run levels.yaml --data-dir "+d.data)
	if got, want := paused.line(t, "continue"), "braid resume "+id+" --data-dir "+d.data+" --wait"; got != want {
		t.Errorf("the command to go on is\n%s, want\n%s", got, want)
	}
	if s := d.status(id); s.Query.State != messages.Interrupted || s.Query.Collection != "sites" {
		t.Fatalf("the newest query is %s of %s, want the interrupted one of the wells alone", s.Query.State, s.Query.Collection)
	}
	d.run("plan", "levels.yaml").mustExit(t, 2).mustSay(t, "values come from wells.yaml, whose query "+id+" is interrupted; do: braid resume "+id)
	d.write("byid.yaml", strings.Replace(levels, "wells.yaml", id, 1))
	d.run("run", "byid.yaml").mustExit(t, 2).mustSay(t, "the query is interrupted, and only the rows of a complete one are used; do: braid resume "+id)
	if n := up.asked("waterLevelObs"); n != 0 {
		t.Fatalf("levels were asked for, with %d requests, while the wells are not complete", n)
	}

	up.change(t, func(c *simulator.Config) { c.Quota = simulator.Quota{} })
	d.run("run", "levels.yaml", "--wait").mustExit(t, 0).mustSay(t, "values from wells.yaml (query "+id)
	d.mustEqual("levels.csv", free.read("levels.csv"))
	if seen := up.Counters(); seen.Repeated != 0 {
		t.Errorf("%d answers were asked for again", seen.Repeated)
	}
}

func TestAStopWhileAQueryThatFeedsAnotherRunsIsGoneOnWithToo(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{Latency: 40 * time.Millisecond})
	places := "schema: query/v1\nservice: usgs-waterdata\ncollection: monitoring-locations\nwhere:\n  monitoring_location_id: ["
	for i := range 30 {
		places += siteName(i) + ", "
	}
	places = strings.TrimSuffix(places, ", ") + "]\nmax_chunks: 30\nrun: {in_flight: 1}\n"
	flow := "schema: query/v1\nservice: usgs-waterdata\ncollection: daily\nwhere:\n" +
		"  monitoring_location_id: {from_query: places.yaml, column: monitoring_location_id}\n" +
		"  parameter_code: 00060\n  statistic_id: 00003\n  time: {from: 2024-01-01, to: 2024-01-31}\noutput: flow.csv\n"
	stopped := func(d *desk) outcome {
		d.write("places.yaml", places)
		d.write("flow.yaml", flow)
		p := d.braid("run", "flow.yaml")
		up.saw(t, 5)
		p.signal(syscall.SIGINT)
		return p.wait(limit).mustExit(t, 130)
	}
	finished := func(d *desk, o outcome, command string) {
		t.Helper()
		d.sh(command).mustExit(t, 0).mustSay(t, "30 values from places.yaml (query "+idIn(o))
		if n := len(readCSV(t, d.read("flow.csv"))); n != 30*31 {
			t.Errorf("%d rows, want %d", n, 30*31)
		}
		if seen := up.Counters(); seen.Repeated != 0 {
			t.Errorf("%d answers were asked for again", seen.Repeated)
		}
	}
	d := newDesk(t, up)
	o := stopped(d)
	o.mustSay(t, "of 30 chunks; none of them will be asked for again", "braid resume "+idIn(o))
	finished(d, o, o.line(t, "then"))

	up.Reset()
	d = newCluster(t, up, clusterConfig{leaseTTL: 2 * time.Second, inFlight: 1, grace: 5 * time.Second}).desk()
	o = stopped(d)
	o.mustSay(t, "the query of places.yaml goes on on the server; flow.yaml is not begun")
	finished(d, o, o.line(t, "continue")) // it waits for the one that runs
}

func TestAColumnThatGivesNoValuesIsRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	d := wellDesk(t, up)
	outer := func(oldnew ...string) { d.write("levels.yaml", strings.NewReplacer(oldnew...).Replace(levels)) }

	outer("column: monitoring_location_id", "column: monitoring_locaton_id")
	d.run("run", "levels.yaml").mustExit(t, 2).mustSay(t, `levels.yaml:5: where.monitoring_location_id.column: wells.yaml: no field declares the column "monitoring_locaton_id"`, `did you mean "monitoring_location_id"?`)

	outer()
	d.write("wells.yaml", wells+"select: [state_name, agency_code]\n")
	d.run("run", "levels.yaml").mustExit(t, 2).mustSay(t, `wells.yaml does not select a column "monitoring_location_id"`)

	outer("  time: {from", "  tim: {from")
	d.write("wells.yaml", strings.Replace(wells, "state:", "stat:", 1))
	both := d.run("run", "levels.yaml").mustExit(t, 2)
	both.mustSay(t, "levels.yaml:6: where.tim", "wells.yaml:5: where.stat", "2 problems; nothing was sent")

	outer()
	d.write("wells.yaml", strings.Replace(wells, "[Wisconsin, Iowa, Ohio]", "{from_query: ./levels.yaml, column: monitoring_location_id}", 1))
	d.run("run", "levels.yaml").mustExit(t, 2).mustSay(t, "wells.yaml:5: where.state.from_query: the queries feed one another in a circle: levels.yaml → wells.yaml → levels.yaml")

	d.run("plan", "wells.yaml").mustExit(t, 2).mustSay(t, "wells.yaml → levels.yaml → wells.yaml")

	outer("wells.yaml", "nowhere.yaml")
	d.run("run", "levels.yaml").mustExit(t, 2).mustSay(t, "levels.yaml:5: where.monitoring_location_id.from_query: read the query nowhere.yaml")
	if n := up.Counters().Requests; n != 0 {
		t.Fatalf("%d requests were sent", n)
	}

	// qw_well_type is null of every well.
	outer("column: monitoring_location_id", "column: qw_well_type")
	d.write("wells.yaml", wells)
	d.run("run", "levels.yaml").mustExit(t, 2).mustSay(t, `levels.yaml:5: where.monitoring_location_id.column: the column "qw_well_type" of wells.yaml`, "has no value")
	outer("column: monitoring_location_id", "column: aquifer_name")
	d.run("run", "levels.yaml").mustExit(t, 2).mustSay(t, `levels.yaml:5: where.monitoring_location_id: `, "Local, of sand")
	if n := up.asked("waterLevelObs"); n != 0 {
		t.Errorf("levels were asked for, with %d requests", n)
	}
}

func TestQueriesFeedOneAnotherInARow(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	d := wellDesk(t, up)
	const depth = 8
	for i := range depth + 1 {
		name := fmt.Sprintf("q%d.yaml", i)
		text := strings.Replace(levels, "wells.yaml", fmt.Sprintf("q%d.yaml", i+1), 1)
		if i == depth {
			text = wells
		}
		d.write(name, text)
	}
	o := d.run("run", "q0.yaml", "-o", "out.csv").mustExit(t, 0)
	o.mustSay(t, "values from q1.yaml")
	// All from q1 to q7 are one query: each of them asks for the wells that have levels.
	sent := up.Counters().Requests
	d.run("plan", "q0.yaml").mustExit(t, 0)
	if n := up.Counters().Requests; n != sent {
		t.Errorf("a plan sent %d requests", n-sent)
	}
	d.write("deeper.yaml", strings.Replace(levels, "wells.yaml", "q0.yaml", 1))
	d.run("plan", "deeper.yaml").mustExit(t, 2).mustSay(t, "q7.yaml:5: where.monitoring_location_id.from_query: more than 8 queries feed one another in a row: deeper.yaml → q0.yaml")
}

func TestAServerHoldsTheQueriesThatFeedAnother(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	c := newCluster(t, up, clusterConfig{leaseTTL: 2 * time.Second, inFlight: 8, grace: 5 * time.Second})
	d := c.desk()
	d.write("places.yaml", "schema: query/v1\nservice: usgs-waterdata\ncollection: monitoring-locations\nwhere:\n  monitoring_location_id: ["+siteName(0)+", "+siteName(1)+", "+siteName(2)+"]\n")
	flow := "schema: query/v1\nservice: usgs-waterdata\ncollection: daily\nwhere:\n" +
		"  monitoring_location_id: {from_query: places.yaml, column: monitoring_location_number, prefix: USGS-}\n" +
		"  parameter_code: 00060\n  statistic_id: 00003\n  time: {from: 2023-10-01, to: 2024-09-30}\noutput: {to: flow.csv, if_exists: replace}\n"
	d.write("flow.yaml", flow)
	d.run("plan", "flow.yaml").mustExit(t, 2).mustSay(t, "which has not been run; do: braid run places.yaml --server "+c.url)
	if n := up.Counters().Requests; n != 0 {
		t.Fatalf("%d requests were sent", n)
	}
	// The server has its own address of the service, so the column is known to be missing only by the table.
	d.write("flow.yaml", strings.Replace(flow, "location_number", "location_nmber", 1))
	first := d.run("run", "flow.yaml").mustExit(t, 2)
	first.mustSay(t, `flow.yaml:5: where.monitoring_location_id.column: places.yaml: the table has no column "monitoring_location_nmber"; did you mean "monitoring_location_number"?`)
	if n := up.asked("daily"); n != 0 {
		t.Errorf("%d requests for days", n)
	}
	d.write("flow.yaml", flow)
	d.run("run", "flow.yaml").mustExit(t, 0).mustSay(t, "monitoring_location_id: 3 values from places.yaml (query "+idIn(first))
	if n := len(readCSV(t, d.read("flow.csv"))); n != 3*exampleDays {
		t.Errorf("%d rows, want %d", n, 3*exampleDays)
	}
	asked := up.asked("monitoring-locations")
	d.run("run", "flow.yaml", "-o", "again.csv").mustExit(t, 0).mustSay(t, "values from places.yaml (query "+idIn(first))
	d.run("plan", "flow.yaml").mustExit(t, 0).mustSay(t, "3 values from places.yaml")
	if n := up.asked("monitoring-locations"); n != asked || asked == 0 {
		t.Errorf("%d requests for places, want %d", n, asked)
	}
	d.mustEqual("again.csv", d.read("flow.csv"))
}

func TestTheRulesOfAQueryHoldForTheOneThatItFeeds(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	d := wellDesk(t, up)
	definition, err := os.ReadFile(filepath.Join(root, "pkg", "service", "builtin", ngwmn+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	wrong := strings.Replace(string(definition), "aquifer_name: {type: text}", "aquifer_name: {type: date}", 1)
	if wrong == string(definition) {
		t.Fatal("the definition has changed")
	}
	d.write("services/"+ngwmn+".yaml", wrong)
	d.args = append(d.args, "--services-dir", d.path("services"))
	for range 2 { // nor does a rerun use them
		o := d.run("run", "levels.yaml").mustExit(t, 3)
		o.mustSay(t, "wells.yaml (query ", "does not hold what its own rules ask: bad values; levels.yaml is not run", "aquifer_name")
	}
	if up.asked("sites") != 1 || up.asked("waterLevelObs") != 0 {
		t.Errorf("%d requests for wells and %d for levels, want 1 and none", up.asked("sites"), up.asked("waterLevelObs"))
	}
	d.write("wells.yaml", wells+"verify: {bad_values: allow}\n")
	d.run("run", "levels.yaml").mustExit(t, 0)

	// A well that does not exist is not covered.
	d.write("wells.yaml", "schema: query/v1\nservice: usgs-ngwmn\ncollection: sites\nwhere:\n  state: [Wisconsin, Guam]\nverify: {bad_values: allow, coverage: require}\n")
	o := d.run("run", "levels.yaml").mustExit(t, 3)
	o.mustSay(t, "does not hold what its own rules ask: coverage; levels.yaml is not run")
	levels := up.asked("waterLevelObs")
	d.run("run", "levels.yaml", "--json").mustExit(t, 3).mustSay(t, "coverage; levels.yaml is not run")
	if n := up.asked("waterLevelObs"); n != levels {
		t.Errorf("levels were asked for, with %d requests", n-levels)
	}
}

func TestAQueryWithSinceFeedsAnotherAndGoesOnOnlyWhenItAsksForMore(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	d := newDesk(t, up)
	days := func(end string) { d.until("days.yaml", end, "since: {column: time, overlap: 5d}\n") }
	days("2024-03-31")
	d.write("flow.yaml", "schema: query/v1\nservice: usgs-waterdata\ncollection: daily\nwhere:\n"+
		"  monitoring_location_id: {from_query: days.yaml, column: monitoring_location_id}\n"+
		"  parameter_code: 00060\n  statistic_id: 00003\n  time: {from: 2024-01-01, to: 2024-01-31}\noutput: {to: flow.csv, if_exists: replace}\n")
	first := d.run("run", "flow.yaml").mustExit(t, 0)
	first.mustSay(t, "6 values from days.yaml (query "+idIn(first))
	d.run("run", "flow.yaml").mustExit(t, 0).mustSay(t, "6 values from days.yaml (query "+idIn(first))

	days("2024-09-30")
	d.run("plan", "flow.yaml").mustExit(t, 2).mustSay(t, "which has not been run")
	second := d.run("run", "flow.yaml").mustExit(t, 0)
	second.mustSay(t, "goes on from query "+idIn(first), "6 values from days.yaml (query "+idIn(second))
	d.run("plan", "flow.yaml").mustExit(t, 0).mustSay(t, "6 values from days.yaml (query "+idIn(second))

	full := d.run("run", "days.yaml", "--full", "-o", "days.csv").mustExit(t, 0)
	d.run("plan", "flow.yaml").mustExit(t, 0).mustSay(t, "6 values from days.yaml (query "+idIn(full))
}
