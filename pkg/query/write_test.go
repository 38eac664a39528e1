package query

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/messages"
)

// same compares queries without the places of what they hold.
func same() cmp.Options {
	return cmp.Options{
		cmpopts.IgnoreUnexported(Query{}, Interval{}, FromQuery{}), cmpopts.IgnoreFields(Query{}, "File", "Name"),
		cmpopts.IgnoreFields(Condition{}, "Place"), cmpopts.IgnoreFields(ValueSource{}, "Lines"), cmpopts.EquateEmpty(),
	}
}

func drawnQuery(t *rapid.T) *Query {
	text := rapid.OneOf(
		rapid.SampledFrom([]string{"00060", "null", "~", "NO", "2024-10-01", "..", "a: b", "# x", "'", `"`, "- a", "{", "@f", "é", "\u2028", "a\nb", "\t", " ", "0x1F", "*a", "&a", "!t", "%", "`", "a,b", "[x]"}),
		rapid.StringN(1, 12, -1),
	)
	name := rapid.StringMatching(`[a-z][a-z0-9_]{0,10}`)
	q := &Query{
		Service: name.Draw(t, "service"), Collection: rapid.OneOf(name, rapid.Just("null"), rapid.Just("123")).Draw(t, "collection"),
		Run: Run{OnQuota: OnQuota{Then: ThenPause}}, BadValues: rapid.SampledFrom([]BadValues{BadValuesStop, BadValuesAllow}).Draw(t, "bad"),
		Coverage:  rapid.SampledFrom([]CoverageRule{CoverageReport, CoverageRequire}).Draw(t, "coverage"),
		Changed:   rapid.SampledFrom([]ChangedRule{ChangedReport, ChangedRequireNone}).Draw(t, "changed"),
		MaxChunks: rapid.IntRange(0, 9).Draw(t, "chunks"), MaxRows: rapid.Int64Range(0, 9).Draw(t, "rows"),
		Zone: rapid.OneOf(rapid.Just(""), text).Draw(t, "zone"),
	}
	q.Run.InFlight = messages.InFlight(rapid.IntRange(-1, 3).Draw(t, "in flight"))
	q.Run.Weight = rapid.IntRange(0, 3).Draw(t, "weight")
	q.Run.Priority = rapid.Ptr(rapid.IntRange(-10, 10), true).Draw(t, "priority")
	q.Run.OnFailure = rapid.SampledFrom([]OnFailure{"", FailureFinish}).Draw(t, "on failure")
	q.Run.OnQuota.WaitUpTo = Duration(time.Duration(rapid.Int64Range(0, 1e15).Draw(t, "wait")))
	for _, parameter := range rapid.SliceOfNDistinct(rapid.OneOf(name, text), 0, 4, rapid.ID[string]).Draw(t, "parameters") {
		var s ValueSource
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			s.Values = rapid.SliceOfN(text, 1, 4).Draw(t, "values")
		case 1:
			s.File = &ValueFile{text.Draw(t, "path"), rapid.OneOf(rapid.Just(""), text).Draw(t, "column"), rapid.OneOf(rapid.Just(""), text).Draw(t, "prefix")}
		case 2:
			s.Interval = &Interval{From: text.Draw(t, "from"), To: rapid.OneOf(rapid.Just(""), text).Draw(t, "to"), Zone: rapid.OneOf(rapid.Just(""), text).Draw(t, "zone")}
		case 3:
			s.Instant = &Instant{text.Draw(t, "at"), rapid.OneOf(rapid.Just(""), text).Draw(t, "zone")}
		case 4:
			s.FromQuery = &FromQuery{Query: text.Draw(t, "query"), Column: text.Draw(t, "column"), Prefix: rapid.OneOf(rapid.Just(""), text).Draw(t, "prefix")}
		}
		q.Where = append(q.Where, Condition{Parameter: parameter, Source: s})
	}
	q.Select = rapid.SliceOfNDistinct(text, 0, 3, rapid.ID[string]).Draw(t, "select")
	for range rapid.IntRange(1, 3).Draw(t, "outputs") {
		if rapid.Bool().Draw(t, "into PostgreSQL") {
			q.Outputs = append(q.Outputs, Output{
				To:         "postgres:" + rapid.StringMatching(`([a-zA-Z_é]{1,9}\.)?[a-z"'A-Z0-9_é$]{1,9}`).Draw(t, "table"),
				IfExists:   IfExists(rapid.SampledFrom(IfExists("").Choices()).Draw(t, "exists")),
				Connection: rapid.SampledFrom([]string{"", "a", "9-b_c"}).Draw(t, "connection"),
			})
			continue
		}
		q.Outputs = append(q.Outputs, Output{
			To: text.Draw(t, "to"), Format: rapid.SampledFrom([]Format{"csv", "jsonl", "parquet"}).Draw(t, "format"),
			IfExists: rapid.SampledFrom([]IfExists{IfExistsFail, IfExistsReplace}).Draw(t, "exists"),
		})
	}
	return q
}

func TestAQueryThatIsWrittenReadsBackAsItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawnQuery(t)
		data, err := q.Write()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse("q.yaml", data)
		if err != nil && (strings.Contains(err.Error(), "postgres:") || strings.Contains(err.Error(), "pg_…")) {
			t.Skip("a path that begins with postgres: is no path")
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if diff := cmp.Diff(q, got, same()); diff != "" {
			t.Fatalf("%s\n%s", diff, data)
		}
	})
}

func TestAWrittenQueryIsWhatAPersonWouldWrite(t *testing.T) {
	q, err := Parse("q.yaml", []byte(daily))
	if err != nil {
		t.Fatal(err)
	}
	data, err := q.Write()
	want := `schema: query/v1
service: usgs-waterdata
collection: daily
where:
  monitoring_location_id: {file: sites.csv, column: site_no, prefix: USGS-}
  parameter_code: '00060'
  statistic_id:
    - '00003'
    - '00001'
  time: {from: 1984-10-01, to: today}
select: [monitoring_location_id, time, value]
output:
  - {to: daily-flow.parquet, format: parquet}
  - {to: '-', format: csv, if_exists: replace}
run:
  on_quota: {wait_up_to: 3h0m0s}
  in_flight: 4
verify: {bad_values: allow, coverage: require, changed_during_run: require_none}
max_chunks: 10
`
	if diff := cmp.Diff(want, string(data)); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestWhatNoFileCanHoldIsNotWritten(t *testing.T) {
	q := &Query{Service: "s", Collection: "c", Where: []Condition{{Parameter: "p", Source: ValueSource{Values: []string{"\xff"}}}}}
	if data, err := q.Write(); err == nil || !strings.Contains(err.Error(), "not UTF-8") {
		t.Errorf("got %s, %v", data, err)
	}
}
