//go:build unix

package e2e

import (
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/simulator"
)

// query is a small one that is right; a test spoils one line of it.
const query = `schema: query/v1
service: usgs-waterdata
collection: daily
where:
  monitoring_location_id: [USGS-01013500, USGS-01022500]
  parameter_code: '00060'
  time: {from: 2023-10-01, to: 2023-10-07}
`

func TestWrongInputIsRefusedWithItsPlaceAndTheFixBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	tests := []struct {
		name       string
		was, wrong string // in the query file
		args       []string
		says       []string
	}{
		{"unknown key", "collection: daily", "colection: daily", nil, []string{"q.yaml:3", "colection", "collection"}},
		{"unknown key inside", "from: 2023-10-01", "form: 2023-10-01", nil, []string{"q.yaml:7", "form", "from"}},
		{"no YAML", "where:", "where: [", nil, []string{"q.yaml:"}},
		{"unknown service", "service: usgs-waterdata", "service: usgs-waterdta", nil, []string{"usgs-waterdta", `did you mean "usgs-waterdata"`}},
		{"unknown collection", "collection: daily", "collection: dayly", nil, []string{"dayly", "daily"}},
		{"unknown parameter", "parameter_code:", "parameter_cod:", nil, []string{"parameter_cod", "parameter_code"}},
		{"empty list", "[USGS-01013500, USGS-01022500]", "[]", nil, []string{"q.yaml:5", "monitoring_location_id", "empty", "remove the parameter"}},
		{"value that lost its zeros", "'00060'", "60", nil, []string{"parameter_code", "60", "zeros in front"}},
		{"no file of sites", "[USGS-01013500, USGS-01022500]", "{file: nowhere.csv, column: site_no}", nil, []string{"nowhere.csv", "no such file"}},
		{"no such column", "[USGS-01013500, USGS-01022500]", "{file: sites.csv, column: site}", nil, []string{"sites.csv", `"site"`, "site_no"}},
		{"end before begin", "to: 2023-10-07", "to: 2023-09-07", nil, []string{"time", "2023-09-07"}},
		{"unknown flag", "", "", []string{"--outptu", "x.csv"}, []string{"--outptu", "--help"}},
		{"unknown format", "", "", []string{"-o", "table.xls"}, []string{"table.xls", "csv", "parquet"}},
		{"no folder for the table", "", "", []string{"-o", "nowhere/t.csv"}, []string{"nowhere", "create it"}},
		{"addresses of no services, of which the first by name is told", "", "", []string{
			"--service-url", "ad=http://127.0.0.1:1", "--service-url", "ac=http://127.0.0.1:1",
			"--service-url", "ab=http://127.0.0.1:1", "--service-url", "aa=http://127.0.0.1:1",
		}, []string{`no service "aa"`}},
		{"wrong level", "", "", []string{"--log-level", "loud"}, []string{"loud", "debug"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := newDesk(t, up)
			d.write("sites.csv", "site_no\n01013500\n")
			d.write("q.yaml", strings.Replace(query, test.was, test.wrong, 1))
			args := test.args
			if args == nil {
				args = []string{"-o", "t.csv"}
			}
			d.run(append([]string{"run", "q.yaml"}, args...)...).mustExit(t, 2).mustSay(t, test.says...)
		})
	}
	if n := up.Counters().Requests; n != 0 {
		t.Errorf("%d requests were sent for queries that are wrong", n)
	}
}

func TestAMissingQueryFileIsNamed(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.run("run", "nowhere.yaml").mustExit(t, 2).mustSay(t, "nowhere.yaml", "no such file")
	d.run("runn", "nowhere.yaml").mustExit(t, 2).mustSay(t, `"runn"`, "run")
	d.run("resume", "nosuchid").mustExit(t, 2).mustSay(t, "nosuchid", "braid list")
}
