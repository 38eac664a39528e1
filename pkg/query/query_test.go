package query

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
	"github.com/braidhq/braid/pkg/strictyaml"
)

const daily = `schema: query/v1
service: usgs-waterdata
collection: daily
where:
  monitoring_location_id: {file: sites.csv, column: site_no, prefix: USGS-}
  parameter_code: 00060
  statistic_id: [00003, 00001]
  time: {from: 1984-10-01, to: today}
select: [monitoring_location_id, time, value]
output:
  - {to: daily-flow.parquet}
  - {to: '-', format: csv, if_exists: replace}
run:
  on_quota: {wait_up_to: 3h, then: pause}
  in_flight: 4
verify: {bad_values: allow, coverage: require, changed_during_run: require_none}
max_chunks: 10
`

func sources(named map[string]string) Sources {
	return Sources{Open: files(named), Zone: time.LoadLocation, Today: noon()}
}

func noon() time.Time { return time.Date(2024, 9, 30, 20, 0, 0, 0, time.FixedZone("", -6*3600)) }

func files(named map[string]string) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		text, ok := named[path]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return []byte(text), nil
	}
}

func TestAQueryFileIsReadAsWritten(t *testing.T) {
	got, err := Parse("/home/x/Daily flow.yaml", []byte(daily))
	if err != nil {
		t.Fatal(err)
	}
	at := func(line int, path string) Place { return Place{"/home/x/Daily flow.yaml", line, path} }
	want := &Query{
		File:       "/home/x/Daily flow.yaml",
		Name:       "Daily-flow",
		Service:    "usgs-waterdata",
		Collection: "daily",
		Where: []Condition{
			{"monitoring_location_id", ValueSource{File: &ValueFile{Path: "sites.csv", Column: "site_no", Prefix: "USGS-"}}, at(5, "where.monitoring_location_id")},
			{"parameter_code", ValueSource{Values: []string{"00060"}}, at(6, "where.parameter_code")},
			{"statistic_id", ValueSource{Values: []string{"00003", "00001"}, Lines: []int32{7, 7}}, at(7, "where.statistic_id")},
			{"time", ValueSource{Interval: &Interval{From: "1984-10-01", To: "today", fromLine: 8, toLine: 8}}, at(8, "where.time")},
		},
		Select:    []string{"monitoring_location_id", "time", "value"},
		Outputs:   []Output{{To: "daily-flow.parquet", Format: "parquet", IfExists: IfExistsFail}, {To: "-", Format: "csv", IfExists: IfExistsReplace}},
		Run:       Run{OnQuota: OnQuota{WaitUpTo: Duration(3 * time.Hour), Then: ThenPause}, InFlight: 4},
		BadValues: BadValuesAllow,
		Coverage:  CoverageRequire,
		Changed:   ChangedRequireNone,
		MaxChunks: 10,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Interval{}), cmpopts.IgnoreUnexported(Query{})); diff != "" {
		t.Error(diff)
	}
	for key, line := range map[string]int{"service": 2, "collection": 3, "where": 4, "select[2]": 9, "output[1]": 12, "run.in_flight": 15, "max_chunks": 17, "zone": 1} {
		if place := got.PlaceOf(key); place != at(line, key) {
			t.Errorf("%s is at %+v, want line %d", key, place, line)
		}
	}
}

func TestAnOutputIsNotNeeded(t *testing.T) {
	q, err := Parse("wells.yaml", []byte("schema: query/v1\nservice: s\ncollection: c\nwhere: {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Output{{To: "wells.parquet", Format: "parquet", IfExists: IfExistsFail}}, q.Outputs); diff != "" {
		t.Error(diff)
	}
	if q.BadValues != BadValuesStop || q.Run.OnQuota.Then != ThenPause {
		t.Errorf("query %+v", q)
	}
}

func TestAnOutputMayBeAPlainPath(t *testing.T) {
	for text, want := range map[string][]Output{
		"output: t.csv":          {{To: "t.csv", Format: "csv", IfExists: IfExistsFail}},
		"output: postgres:daily": {{To: "postgres:daily", IfExists: IfExistsFail}},
		"output: {to: postgres:Flow.daily, if_exists: append_new, connection: ware-house}": {{To: "postgres:Flow.daily", IfExists: IfExistsAppendNew, Connection: "ware-house"}},
		"output: [t.ndjson, {to: u.parquet, if_exists: replace}]":                          {{To: "t.ndjson", Format: "jsonl", IfExists: IfExistsFail}, {To: "u.parquet", Format: "parquet", IfExists: IfExistsReplace}},
	} {
		q, err := Parse("wells.yaml", []byte("schema: query/v1\nservice: s\ncollection: c\nwhere: {}\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, q.Outputs); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAWrongQueryFileIsRefusedWithLineAndRemedy(t *testing.T) {
	tests := []struct {
		name   string
		oldnew []string
		want   string
	}{
		{"schema", []string{"query/v1", "query/v2"}, `q.yaml:1: schema: "query/v2" is not read by this version; write query/v1`},
		{"misspelt", []string{"in_flight", "reserv"}, `q.yaml:15: run.reserv: unknown key`},
		{"misspelt service", []string{"service:", "servcie:"}, `did you mean "service"?`},
		{"from query without a column", []string{"00060", "{from_query: wells.yaml}"}, `q.yaml:6: where.parameter_code: the key "column" is missing`},
		{"from no query", []string{"00060", "{from_query: '', column: id}"}, `q.yaml:6: where.parameter_code.from_query: is empty; name the file of a query`},
		{"from query, no column", []string{"00060", "{from_query: wells.yaml, column: ''}"}, `q.yaml:6: where.parameter_code.column: the name of a column has 1 to 200 bytes`},
		{"from query and file", []string{"00060", "{from_query: wells.yaml, column: id, file: x.csv}"}, `q.yaml:6: where.parameter_code.file: unknown key; known are from_query, column, prefix`},
		{"since", []string{"max_chunks: 10", "since: {overlap: 2d}"}, `q.yaml:17: since: the key "column" is missing`},
		{"coverage", []string{"coverage: require", "coverage: all"}, `verify.coverage: unknown value "all"; allowed are report, require`},
		{"budget", []string{"in_flight: 4", "max_requests: 0"}, `run.max_requests: 0 is out of bounds, want 1 to 1099511627776`},
		{"no chunks", []string{"max_chunks: 10", "max_chunks: 0"}, `max_chunks: 0 is out of bounds, want 1 to 10000000`},
		{"in flight", []string{"in_flight: 4", "in_flight: 0"}, `run.in_flight: 0 is out of bounds`},
		{"hold back", []string{"in_flight: 4", "hold_back: -1"}, `run.hold_back: -1 is out of bounds`},
		{"wait", []string{"3h", "3"}, `"3" is not a duration`},
		{"then", []string{"then: pause", "then: stop"}, `unknown value "stop"; allowed are pause`},
		{"duckdb", []string{"format: csv", "format: duckdb"}, `"duckdb" is not a format; allowed are parquet, csv, jsonl, arrow, geojson`},
		{"ndjson", []string{"format: csv", "format: ndjson"}, `"ndjson" is not a format`},
		{"path without a format", []string{"output:\n  - {to: daily-flow.parquet}\n  - {to: '-', format: csv, if_exists: replace}", "output: table"}, `q.yaml:10: output: the format is not told by the name "table"; let it end in .parquet, .csv, .jsonl, .arrow or .geojson`},
		{"empty path", []string{"output:\n  - {to: daily-flow.parquet}\n  - {to: '-', format: csv, if_exists: replace}", "output: ''"}, `q.yaml:10: output: is empty`},
		{"key of a later version", []string{"in_flight: 4", "max_requets: 5"}, `q.yaml:15: run.max_requets: unknown key; did you mean "max_requests"?`},
		{"no format", []string{"'-', format: csv", "'-'"}, `q.yaml:12: output[1]: the format is not told by the name "-"`},
		{"postgres", []string{"'-'", "postgres:x"}, `a table in PostgreSQL has no format`},
		{"empty list", []string{"[00003, 00001]", "[]"}, `where.statistic_id: the list is empty`},
		{"no value", []string{"00060", ""}, `where.parameter_code: has no value`},
		{"strange mapping", []string{"{from: 1984-10-01, to: today}", "{form: x}"}, `want a value, a list of values, {file:`},
		{"no file", []string{"{file: sites.csv, column", "{column"}, `the key "file" is missing`},
		{"column twice", []string{"time, value", "time, time"}, `q.yaml:9: select[2]: the column "time" stands twice`},
		{"name", []string{"usgs-waterdata", "a.b"}, `service: not a name`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("q.yaml", []byte(strings.NewReplacer(test.oldnew...).Replace(daily)))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
			if !errors.Is(err, strictyaml.ErrInvalid) {
				t.Errorf("%T does not wrap ErrInvalid", err)
			}
		})
	}
}

func TestResolveLoadsFilesAndFreezesToday(t *testing.T) {
	q, err := Parse("q.yaml", []byte(daily))
	if err != nil {
		t.Fatal(err)
	}
	sites := "\xef\xbb\xbfname, site_no \r\n\"Yahara, at Madison\", 05427718\r\n\r\nx,USGS-05428500\r\ny,\r\nz,05427718\r\n"
	got, err := q.Resolve(sources(map[string]string{"sites.csv": sites}))
	if err != nil {
		t.Fatal(err)
	}
	want := service.Values{
		"monitoring_location_id": {"USGS-05427718", "USGS-05428500"},
		"parameter_code":         {"00060"},
		"statistic_id":           {"00003", "00001"},
		"time":                   {"1984-10-01", "2024-10-01"},
	}
	if diff := cmp.Diff(want, got.Values); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"monitoring_location_id: 1 repeated value was dropped, 2 remain"}, got.Notes); diff != "" {
		t.Error(diff)
	}
}

func TestTodayTakesTheFormOfTheOtherEnd(t *testing.T) {
	for _, test := range []struct {
		from, to, zone string
		want           []string
	}{
		{"2000", "today", "", []string{"2000", "2024"}},
		{"2000-01", "today", "", []string{"2000-01", "2024-10"}},
		{"1990-01-01T00:00:00Z", "today", "", []string{"1990-01-01T00:00:00Z", "2024-10-01T00:00:00Z"}},
		{"", "today", "", []string{"..", "2024-10-01"}},
		{"today", "", "", []string{"2024-10-01", ".."}},
		{"2000-01-01", "2000-01-01", "", []string{"2000-01-01", "2000-01-01"}},
		{"", "today", "America/Chicago", []string{"..", "2024-09-30T00:00:00-05:00"}},
		{"1990-01-01T00:00", "today", "America/Chicago", []string{"1990-01-01T00:00:00-06:00", "2024-09-30T00:00:00-05:00"}},
	} {
		c := clock{today: noon()}
		if test.zone != "" {
			c.zone = zone(t, test.zone)
		}
		got, fromErr, toErr := Interval{From: test.from, To: test.to}.values(c)
		if diff := cmp.Diff(test.want, got); diff != "" || fromErr != nil || toErr != nil {
			t.Errorf("%+v: %s %v %v", test, diff, fromErr, toErr)
		}
	}
}

func TestAFileOfLinesKeepsCodesAsText(t *testing.T) {
	q, err := Parse("q.yaml", []byte("schema: query/v1\nservice: s\ncollection: c\nwhere: {huc: {file: basins.txt}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := q.Resolve(sources(map[string]string{"basins.txt": "07070005\n\n  010900020502 \r\n1e5"}))
	if diff := cmp.Diff(service.Values{"huc": {"07070005", "010900020502", "1e5"}}, got.Values); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestATableOfWhichNoColumnIsNamedIsNotReadAsLines(t *testing.T) {
	for _, text := range []string{"site_no,name\n1,2\n", "\n\nsite_no;name\n1;2\n", "site_no\tname\n1\t2\n"} {
		_, errs := (&ValueFile{Path: "sites.csv"}).read([]byte(text), "column: NAME", "gauge", nil)
		if err := errors.Join(errs...); err == nil || !strings.Contains(err.Error(), "name the column that holds the values, as column: NAME") {
			t.Errorf("%q: got %v", text, err)
		}
	}
	_, errs := (&ValueFile{Path: "s.tsv", Column: "site_no"}).read([]byte("site_no,name\n1,2\n"), "column: NAME", "gauge", nil)
	if err := errors.Join(errs...); err == nil || !strings.Contains(err.Error(), "let it end in .csv") {
		t.Errorf("got %v", err)
	}
}

func TestAnUnusableValueFileIsNamedWithTheLine(t *testing.T) {
	q, err := Parse("q.yaml", []byte(daily))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ text, want string }{
		"column":     {"site_nr,x\n1,2\n", `sites.csv:1: where.monitoring_location_id: there is no column "site_no"; did you mean "site_nr"?`},
		"twice":      {"\nsite_no,site_no\n1,2\n", `sites.csv:2: where.monitoring_location_id: the column "site_no" stands more than once`},
		"empty":      {"", `sites.csv: where.monitoring_location_id: the file is empty`},
		"no value":   {"site_no\n\n", `sites.csv: where.monitoring_location_id: the file has no value`},
		"short rows": {"x,site_no\n1,2\n3\n4,5\n6", "sites.csv:3: where.monitoring_location_id: the row has 1 fields and ends before the column \"site_no\"\nsites.csv:5: "},
		"quote":      {"site_no\n1\n\"2\n", `sites.csv:3: where.monitoring_location_id: a row cannot be read: extraneous or missing`},
		"semicolons": {"x;site_no\n1;2\n", `separated by semicolons, which are not read; save the file with commas`},
		"tabs":       {"x\tsite_no\n1\t2\n", `separated by tabs; let the file's name end in .tsv`},
		"encoding":   {"site_no\n1\n\xff\n", `sites.csv:3: where.monitoring_location_id: the file is not UTF-8`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := q.Resolve(sources(map[string]string{"sites.csv": test.text}))
			if !errors.Is(err, strictyaml.ErrInvalid) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
		})
	}
	if _, err := q.Resolve(sources(nil)); err == nil || !strings.Contains(err.Error(), "q.yaml:5: where.monitoring_location_id: read the values in sites.csv: file does not exist") {
		t.Errorf("missing file: got %v", err)
	}
}

func TestAQueryIsNamedAfterItsFile(t *testing.T) {
	for file, want := range map[string]string{
		"a/b/daily.flow.yaml":             "daily-flow",
		`C:\x\wells.yml`:                  "wells",
		".yaml":                           "yaml",
		"été.yaml":                        "t",
		"___":                             "query",
		strings.Repeat("a", 90) + ".yaml": strings.Repeat("a", 48),
	} {
		if got := NameOf(file); got != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
}

func FuzzParseNeverPanics(f *testing.F) {
	f.Add(daily)
	f.Add("where: {a: {b: c}, d: [[e]]}\noutput: {to: .}")
	f.Add("schema: query/v1\nservice: s\ncollection: c\nzone: UTC\nmax_rows: 5\nwhere: {a: {from: ''}, b: {at: 'x', zone: UTC}, \"c\\n\": [~x, '']}\nrun: {on_quota: {wait_up_to: 1ns}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		q, err := Parse("f.yaml", []byte(text))
		if err != nil {
			return
		}
		if written, err := q.Write(); err != nil {
			t.Error(err)
		} else if again, err := Parse("f.yaml", written); err != nil {
			t.Errorf("%v\n%s", err, written)
		} else if twice, err := again.Write(); err != nil || !bytes.Equal(twice, written) {
			t.Errorf("%v: %s\nbecame %s", err, written, twice)
		}
		from := sources(nil)
		from.Open = func(string) ([]byte, error) { return []byte(text), nil }
		resolved, err := q.Resolve(from)
		if err != nil {
			return
		}
		if _, err := q.Spec(resolved.Values).Encode(); err != nil && !errors.Is(err, ErrSpec) {
			t.Error(fmt.Errorf("%T: %w", err, err))
		}
	})
}

func TestNumbersAreBoundedInTheFileAsInTheSpec(t *testing.T) {
	const head = "schema: query/v1\nservice: s\ncollection: c\nwhere: {a: b}\n"
	for _, test := range []struct {
		key  string
		most int64
	}{{"max_chunks", MaxChunks}, {"max_rows", MaxRows}, {"in_flight", messages.MaxSlots}, {"weight", messages.MaxWeight}, {"priority", messages.MaxPriority}} {
		line := func(n int64) string {
			if !strings.HasPrefix(test.key, "max_") {
				return fmt.Sprintf("run: {%s: %d}\n", test.key, n)
			}
			return fmt.Sprintf("%s: %d\n", test.key, n)
		}
		q, err := Parse("q.yaml", []byte(head+line(test.most)))
		if err != nil || q.Spec(nil).Validate() != nil {
			t.Errorf("%s of %d: %v", test.key, test.most, err)
		}
		_, err = Parse("q.yaml", []byte(head+line(test.most+1)))
		if err == nil || !strings.HasPrefix(err.Error(), "q.yaml:5: ") || !strings.Contains(err.Error(), test.key+": ") {
			t.Errorf("%s of %d: %v", test.key, test.most+1, err)
		}
	}
}

func TestATableWithoutAColumnIsRefusedAndItsColumnsAreNamed(t *testing.T) {
	for _, test := range []struct {
		place      Place
		path, text string
		want       string
	}{
		{Place{File: "q.yaml", Line: 5, Path: "where.site"}, "sites.csv", "site_no\n1\n", "sites.csv:1: where.site: the first line is \"site_no\", so the file is a table by its name"},
		{Place{File: "q.yaml", Line: 5, Path: "where.site"}, "sites.txt", "\nsite_no\n1\n", "as column: NAME; its columns are site_no"},
		{Place{File: "q.yaml", Line: 5, Path: "where.site"}, "sites.txt", "SITE\n1\n", "as column: NAME; its columns are SITE"},
		{Place{File: "q.yaml", Line: 5, Path: "where.site"}, "sites.txt", "a,b\n1,2\n", "as column: NAME; its columns are a, b"},
		{Place{File: "--sites"}, "sites.csv", "site_no,name\n1,x\n", "as --sites sites.csv:NAME; its columns are site_no, name"},
		{Place{File: "--set site"}, "sites.TSV", "site_no\tname\n1\tx\n", "as --set site=@sites.TSV:NAME; its columns are site_no, name"},
		{Place{File: "--sites"}, "sites.txt", "1\n2\n", ""},
	} {
		q := &Query{Where: []Condition{{"site", ValueSource{File: &ValueFile{Path: test.path, Prefix: "USGS-"}}, test.place}}}
		_, err := q.Resolve(sources(map[string]string{test.path: test.text}))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.path, err, test.want)
		}
	}
}
