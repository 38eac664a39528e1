//go:build unix

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/simulator"
)

func TestANumberThatNoFloatHoldsIsReportedAndNullInEveryFormat(t *testing.T) {
	t.Parallel()
	huge := "9" + strings.Repeat("0", 400) // as the simulator sends it
	for ask, column := range map[string]string{"daily": "value", "water-use": "pswdtot_mgd", "stations": "area_km2"} {
		t.Run(ask, func(t *testing.T) {
			t.Parallel()
			a := askings()[ask]
			a.config.Faults = []simulator.Fault{{Kind: simulator.FaultHugeNumber, Times: 1}}
			d := suspiciousDesk(t, newUpstream(t, a.config))
			d.write("q.yaml", a.query)
			d.run("run", "q.yaml", "-o", "t.csv", "-o", "t.jsonl", "-o", "t.parquet").mustExit(t, 3).
				mustSay(t, "of "+column+" that cannot be read as", huge[:100], "bad_values: allow")
			blank := 0
			for _, row := range readCSV(t, d.read("t.csv")) {
				if row[column] == "" {
					blank++
				}
			}
			nulls := strings.Count(string(d.read("t.jsonl")), `"`+column+`":null`)
			if blank == 0 || nulls != blank {
				t.Errorf("%d blank cells in csv and %d nulls in jsonl, want some and the same", blank, nulls)
			}
			if doubles, have := readParquetNumbers(t, d.read("t.parquet")).doubles[column]; have {
				for _, value := range doubles {
					if value == nil {
						nulls--
					}
				}
				if nulls != 0 {
					t.Errorf("parquet has %d nulls fewer than jsonl", nulls)
				}
			}
		})
	}
}

func TestNumbersKeepTheDigitsThatTheServiceSent(t *testing.T) {
	t.Parallel()
	numbers := []string{
		"1." + strings.Repeat("0123456789", 40), "123456789012345678901234567890.10", "9007199254740993", "-0.00", "1.50e2", "9" + strings.Repeat("0", 300),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"items": [`)
		for i, number := range numbers {
			fmt.Fprintf(w, `%s{"huc": "%d", "value": %s}`, strings.Repeat(",", min(i, 1)), i, number)
		}
		fmt.Fprint(w, "]}")
	}))
	defer server.Close()
	d := gaugesDesk(t, server)
	d.run("run", "q.yaml", "-o", "t.csv", "-o", "t.jsonl", "-o", "t.parquet").mustExit(t, 0)
	doubles := readParquetNumbers(t, d.read("t.parquet")).doubles["value"]
	rows := readCSV(t, d.read("t.csv"))
	if len(rows) != len(numbers) || len(doubles) != len(numbers) {
		t.Fatalf("%d rows in csv and %d in parquet, want %d", len(rows), len(doubles), len(numbers))
	}
	for i, number := range numbers {
		nearest, err := strconv.ParseFloat(number, 64)
		if err != nil {
			t.Fatal(err)
		}
		if rows[i]["value"] != number || doubles[i] == nil || *doubles[i] != nearest {
			t.Errorf("%s is %s in csv, and in parquet not its nearest float", number, rows[i]["value"])
		}
		if !strings.Contains(string(d.read("t.jsonl")), `"value":`+number+"}") {
			t.Errorf("jsonl has not the digits of %s:\n%s", number, d.read("t.jsonl"))
		}
	}
}

func TestIntegersThatADoubleCannotHoldAreExact(t *testing.T) {
	t.Parallel()
	a := askings()["events"]
	d := suspiciousDesk(t, newUpstream(t, a.config))
	d.write("q.yaml", a.query)
	d.run("run", "q.yaml", "-o", "t.csv", "-o", "t.jsonl", "-o", "t.parquet").mustExit(t, 0)
	const first = 9_007_199_254_740_993
	rows := readCSV(t, d.read("t.csv"))
	numbers := readParquetNumbers(t, d.read("t.parquet")).integers["id"]
	if len(rows) != 23 || len(numbers) != 23 {
		t.Fatalf("%d rows in csv and %d in parquet, want 23", len(rows), len(numbers))
	}
	for i, row := range rows {
		want := strconv.Itoa(first + i)
		if row["id"] != want || numbers[i] != int64(first+i) || !strings.Contains(string(d.read("t.jsonl")), `"id":`+want+`,`) {
			t.Errorf("row %d has the id %s in csv and %d in parquet, want %s", i, row["id"], numbers[i], want)
		}
	}
}

func TestALinkToAnAliasIsFollowedAtItsHostAndAtAMirrorRefused(t *testing.T) {
	t.Parallel()
	a := askings()["water-use"]
	calmDesk := suspiciousDesk(t, newUpstream(t, a.config))
	calmDesk.write("q.yaml", a.query)
	calmDesk.run("run", "q.yaml", "-o", "t.csv").mustExit(t, 0)

	a.config.NameAlias = true
	up := newUpstream(t, a.config)
	d := suspiciousDesk(t, up)
	d.write("q.yaml", a.query)
	d.run("run", "q.yaml", "-o", "t.csv").mustExit(t, 3).mustSay(t, "water.usgs.gov", "allowed are 127.0.0.1", "braid resume")
	d.mustHaveNoTable("t.csv")

	own := newDesk(t, nil)
	host := strings.TrimPrefix(up.root(), "http://")
	text := strings.NewReplacer(
		"base_url: https://api.water.usgs.gov", "base_url: "+up.root(),
		"- host: api.water.usgs.gov", "- host: "+host+"\n    insecure: true",
	).Replace(mustDefine(t, "usgs-nwdc"))
	own.write("services/usgs-nwdc.yaml", text+soon)
	own.args = append(own.args, "--services-dir", own.path("services"))
	own.write("q.yaml", a.query)
	own.run("run", "q.yaml", "-o", "t.csv").mustExit(t, 0)
	own.mustEqual("t.csv", calmDesk.read("t.csv"))
	for _, e := range up.Requests() {
		if e.Host != host {
			t.Errorf("a request went to %s", e.Host)
		}
	}
}
