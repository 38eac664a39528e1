//go:build unix

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/braidhq/braid/internal/simulator"
	definitions "github.com/braidhq/braid/pkg/service"
)

// hasty gives the desk a copy of the service's definition that tries again at once.
func (d *desk) hasty() {
	d.t.Helper()
	text, have := definitions.Builtin(service)
	if !have {
		d.t.Fatalf("there is no definition of %s", service)
	}
	d.write("services/"+service+".yaml", string(text)+"\nretry: {attempts: 3, base: 10ms, cap: 20ms}\n")
	d.args = append(d.args, "--services-dir", d.path("services"))
}

func TestTroubleAtTheServiceIsToldAndAResumeAfterItFinishes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		trouble func(*simulator.Config)
		code    int
		says    []string
	}{
		{"a page of HTML with status 200", func(c *simulator.Config) {
			c.Faults = []simulator.Fault{{Kind: simulator.FaultHTML, After: 2}}
		}, 75, []string{"HTML", "continue braid resume"}},
		{"unavailable", func(c *simulator.Config) {
			c.Faults = []simulator.Fault{{Kind: simulator.Fault503, After: 2}}
		}, 75, []string{"503", "continue braid resume"}},
		{"cut JSON", func(c *simulator.Config) {
			c.Faults = []simulator.Fault{{Kind: simulator.FaultCutJSON, After: 2}}
		}, 75, []string{"JSON", "continue braid resume"}},
		{"a key is missing", func(c *simulator.Config) { c.RequireKey = true }, 4, []string{"403", "API_KEY_MISSING", "credentials", "braid resume"}},
		{"URL too long", func(c *simulator.Config) { c.URLBytes = 120 }, 3, []string{"414", "max_chunks", "braid resume"}},
		{"too many rows, however few are asked for", func(c *simulator.Config) {
			c.Faults = []simulator.Fault{{Kind: simulator.FaultServerLimits}}
		}, 3, []string{"exceeding server limits", "nothing in it can be divided", "braid resume"}},
		{"a next link that leads nowhere new", func(c *simulator.Config) {
			c.PageRows, c.Faults = 400, []simulator.Fault{{Kind: simulator.FaultRepeatedNext, After: 2}}
		}, 3, []string{"circle", "braid resume"}},
	}
	if testing.Short() {
		tests = tests[:1]
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			up := newUpstream(t, simulator.Config{})
			d := newDesk(t, up)
			d.hasty()
			d.queryFile("q.yaml", 12, 6)
			up.change(t, test.trouble)
			o := d.run("run", "q.yaml", "-o", "t.csv", "--in-flight", "2").mustExit(t, test.code).mustSay(t, test.says...)
			up.change(t, func(c *simulator.Config) { *c = simulator.Config{} })
			complete, before := d.complete(idIn(o)), len(up.Requests())
			d.run("resume").mustExit(t, 0)
			mustNotAskFor(t, up.Requests()[before:], complete)
			if n := len(readCSV(t, d.read("t.csv"))); n != 12*exampleDays {
				t.Errorf("%d rows after the resume, want %d", n, 12*exampleDays)
			}
		})
	}
}

func TestARequestThatTheServiceRefusesIsAFailureWithItsWords(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	d := newDesk(t, up)
	d.write("q.yaml", strings.Replace(query, "USGS-01013500", "USGS-0101#3500", 1))
	d.run("run", "q.yaml", "-o", "t.csv").mustExit(t, 3).mustSay(t, "HTTP 400", "USGS-0101#3500", "check the query's parameters")
	if n := up.Counters().Requests; n != 1 {
		t.Errorf("%d requests, want 1: the same request would be refused again", n)
	}
}

func TestAServiceThatIsNotThereIsAPauseAndNotAFailure(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.hasty()
	d.write("q.yaml", query)
	address := "127.0.0.1:" + freePort(t)
	d.run("run", "q.yaml", "-o", "t.csv", "--service-url", service+"=http://"+address+"/ogcapi/v0").
		mustExit(t, 75).mustSay(t, address, "continue braid resume")
}

// gauges is a service of a user's own, with codes of which no zero may be lost: some declared, one not.
const gauges = `schema: service/v1
name: gauges
base_url: https://gauges.example/v1
hosts: [{host: gauges.example}]
collections:
  basins:
    request: {path: /basins}
    rows: {format: json, at: '$.items[*]'}
    unknown_fields: text
    fields:
      huc: {type: text}
      parameter_code: {type: text}
      value: {type: decimal}
    key: [huc]
`

// gaugesDesk has a query for that service, answered by server.
func gaugesDesk(t *testing.T, server *httptest.Server) *desk {
	t.Helper()
	d := newDesk(t, nil)
	d.write("services/gauges.yaml", gauges)
	d.args = append(d.args, "--services-dir", d.path("services"), "--service-url", "gauges="+server.URL+"/v1")
	d.write("q.yaml", "schema: query/v1\nservice: gauges\ncollection: basins\nwhere: {}\n")
	return d
}

func TestCredentialsThatAreRefusedExit4AfterOneRequest(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		var asked atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			http.Error(w, `{"error": "who are you?"}`, status)
		}))
		t.Cleanup(server.Close)
		d := gaugesDesk(t, server)
		d.run("run", "q.yaml", "-o", "t.csv").mustExit(t, 4).
			mustSay(t, fmt.Sprintf("HTTP %d", status), "check the credentials", "braid resume")
		if n := asked.Load(); n != 1 {
			t.Errorf("%d requests, want 1: the same credentials would be refused again", n)
		}
	}
}

func TestCodesWithZerosInFrontStayTextInEveryFormat(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"items": [
			{"huc": "010900020502", "parameter_code": "00060", "value": "1.50", "statistic": "00003"},
			{"huc": "010900020503", "parameter_code": "00065", "value": "2", "statistic": "00001"}]}`))
	}))
	defer server.Close()
	d := gaugesDesk(t, server)
	d.run("run", "q.yaml", "-o", "t.csv", "-o", "t.jsonl", "-o", "t.parquet").mustExit(t, 0)
	rows := readCSV(t, d.read("t.csv"))
	if len(rows) != 2 || rows[0]["huc"] != "010900020502" || rows[0]["parameter_code"] != "00060" || rows[0]["statistic"] != "00003" {
		t.Errorf("csv: %v", rows)
	}
	for _, text := range []string{`"huc":"010900020502"`, `"parameter_code":"00060"`, `"statistic":"00003"`} {
		if !strings.Contains(string(d.read("t.jsonl")), text) {
			t.Errorf("jsonl has no %s:\n%s", text, d.read("t.jsonl"))
		}
	}
	columns := readParquet(t, d.read("t.parquet"))
	for name, want := range map[string]string{"huc": "010900020502", "parameter_code": "00060", "statistic": "00003"} {
		if got := columns[name]; len(got) != 2 || got[0] != want {
			t.Errorf("parquet: %s is %q, want %q first", name, got, want)
		}
	}
}

func TestAFieldThatMustNotComeFailsItsChunkAndIsNamed(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"items": [{"huc": "01", "surplus": 1}]}`)
	}))
	t.Cleanup(server.Close)
	d := gaugesDesk(t, server)
	d.write("services/gauges.yaml", strings.Replace(gauges, "unknown_fields: text", "unknown_fields: fail", 1))
	d.run("run", "q.yaml", "-o", "t.csv").mustExit(t, 3).mustSay(t, "surplus", "the service definition gauges, collection basins")
	d.mustHaveNoTable("t.csv")
}
