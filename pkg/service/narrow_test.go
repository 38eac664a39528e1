package service

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAQueryIsNarrowedToWhatIsYounger(t *testing.T) {
	c, err := mustBuiltin(t, "usgs-waterdata").Collection("daily")
	if err != nil {
		t.Fatal(err)
	}
	mark := time.Date(2024, 3, 5, 12, 30, 15, 999, time.UTC)
	sites := []string{"USGS-1"}
	for name, test := range map[string]struct {
		values Values
		column string
		begin  string
		want   Values
	}{
		"of its own name, not given": {
			Values{"monitoring_location_id": sites, "time": {"1984-10-01", "2024-09-30"}},
			"last_modified", "..",
			Values{"monitoring_location_id": sites, "time": {"1984-10-01", "2024-09-30"}, "last_modified": {"2024-03-05T12:30:15Z", ".."}},
		},
		"days":                     {Values{"time": {"1984-10-01", "2024-09-30"}}, "time", "1984-10-01", Values{"time": {"2024-03-05", "2024-09-30"}}},
		"an open begin":            {Values{"time": {"..", "2024-09-30"}}, "time", "..", Values{"time": {"2024-03-05", "2024-09-30"}}},
		"an open end":              {Values{"time": {"1984-10-01", ".."}}, "time", "1984-10-01", Values{"time": {"2024-03-05", ".."}}},
		"an end before the mark":   {Values{"time": {"1984-10-01", "2024-01-31"}}, "time", "1984-10-01", Values{"time": {"2024-01-31", "2024-01-31"}}},
		"a begin behind the mark":  {Values{"time": {"2024-06-01", "2024-09-30"}}, "time", "2024-06-01", Values{"time": {"2024-06-01", "2024-09-30"}}},
		"in one text, as it is":    {Values{"time": {"1984-10-01/2024-09-30"}}, "time", "1984-10-01", Values{"time": {"2024-03-05", "2024-09-30"}}},
		"none at all of the times": {Values{}, "time", "..", Values{"time": {"2024-03-05", ".."}}},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := c.Narrowing(test.values, test.column)
			if err != nil {
				t.Fatal(err)
			}
			got := n.After(test.values, mark)
			if diff := cmp.Diff(test.want, got); diff != "" || n.Begin != test.begin {
				t.Errorf("begin %q %s", n.Begin, diff)
			}
			again, err := c.Narrowing(got, test.column)
			if err != nil {
				t.Fatal(err)
			}
			if _, given := test.values[n.Parameter]; given && len(test.values[n.Parameter]) == 2 {
				if diff := cmp.Diff(test.values, again.From(got, n.Begin)); diff != "" {
					t.Errorf("widened again: %s", diff)
				}
			}
			if err := c.CheckValues(got); err != nil {
				t.Error(err)
			}
		})
	}
	for column, why := range map[string]string{"value": "is a decimal", "nothing": "no field of that name", "qualifier": "is a list_text"} {
		if _, err := c.Narrowing(Values{}, column); !errors.Is(err, ErrNotNarrowed) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", column, err)
		}
	}
	for _, single := range [][]string{{"2024-01-01"}, {"P7D"}} {
		if _, err := c.Narrowing(Values{"time": single}, "time"); !errors.Is(err, ErrNotNarrowed) {
			t.Errorf("%v: %v", single, err)
		}
	}
	levels, err := mustBuiltin(t, "usgs-ngwmn").Collection("waterLevelObs")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := levels.Narrowing(Values{"time": {"1990-01-01T00:00:00Z", "2024-09-30T00:00:00Z"}}, "sample_time"); err != nil || n.Parameter != "time" {
		t.Errorf("the column of time narrows the interval time: %+v, %v", n, err)
	}
}

func mustBuiltin(t *testing.T, name string) *Definition {
	t.Helper()
	data, ok := Builtin(name)
	if !ok {
		t.Fatalf("%s is not built in", name)
	}
	d, err := Parse(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestUnitsAndSummariesNameDeclaredFields(t *testing.T) {
	for name, test := range map[string]struct{ old, fresh, want string }{
		"unit as text":            {"flow: {type: decimal}", "flow: {type: decimal, unit: m^3/s}", ""},
		"unit in a column":        {"flow: {type: decimal}", "flow: {type: decimal, unit: {column: name}}", ""},
		"unit in no column":       {"flow: {type: decimal}", "flow: {type: decimal, unit: {column: nmae}}", `unit.column: the column "nmae" is not declared under fields; did you mean "name"?`},
		"empty unit":              {"flow: {type: decimal}", "flow: {type: decimal, unit: ''}", "a unit has 1 to 64 bytes"},
		"summary":                 {"    finalize:", "    summary: {sites: station_id, value: flow}\n    finalize:", ""},
		"summary of no column":    {"    finalize:", "    summary: {sites: statoin_id}\n    finalize:", `summary.sites: the column "statoin_id" is not declared`},
		"gaps without sites":      {"    finalize:", "    summary: {time: name, every: 1d}\n    finalize:", "needs sites and time"},
		"series that is no field": {"    finalize:", "    summary: {sites: name, time: name, every: 1d, series: [x]}\n    finalize:", `summary.series[0]: the column "x" is not declared`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("rivers.yaml", []byte(edited(test.old, test.fresh)))
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
		})
	}
}
