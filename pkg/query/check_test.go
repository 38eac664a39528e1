package query

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/service"
)

const rivers = `schema: service/v1
name: rivers
base_url: https://rivers.example/v1
collections:
  levels:
    request: {path: /levels}
    params:
      gauge: {aliases: [stn], type: text, many: comma, required: true, pattern: '^[A-Z]{3}$', hint: three letters}
      state: {type: text}
      county: {type: text}
      time: {type: interval, of: date, send: {from: '{from}', to: '{to}'}}
      changed: {type: interval, of: date, send: {since: '{from}', until: '{to}'}}
    exactly_one: [state, county]
    axes: [{window: changed, span: 1y}, {pack: gauge}]
    rows: {format: json, at: '$[*]'}
    fields: {gauge: {type: text}, time: {type: date}, level: {type: decimal}, '*_mgd': {type: decimal}}
    key: [gauge, time]
    unknown_fields: drop
    finalize: [{rename: {level: stage}}]
`

func levels(t *testing.T) *service.Collection {
	t.Helper()
	d, err := service.Parse("rivers.yaml", []byte(rivers))
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Collection("levels")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// checked gives all problems of a query file, of every stage.
func checked(t *testing.T, text string, named map[string]string) string {
	t.Helper()
	q, err := Parse("q.yaml", []byte(text))
	var lines []string
	if err != nil {
		lines = append(lines, err.Error())
	}
	if q == nil {
		return strings.Join(lines, "\n")
	}
	r, err := q.Resolve(sources(named))
	if err != nil {
		lines = append(lines, err.Error())
	}
	for _, problem := range q.Check(levels(t), r) {
		lines = append(lines, problem.Error())
	}
	return strings.Join(lines, "\n")
}

func TestEachProblemIsToldWhereItWasGiven(t *testing.T) {
	const head = "schema: query/v1\nservice: rivers\ncollection: levels\nwhere:\n"
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"another name":      {"  stn: [ABC, ab]\n  state: WI\n", []string{`q.yaml:5: where.stn: the value "ab"`}},
		"both names":        {"  stn: ABC\n  gauge: ABC\n  state: WI\n", []string{`q.yaml:6: where.gauge: gauge and stn are one parameter; give it once`}},
		"both ends":         {"  gauge: ABC\n  state: WI\n  time:\n    from: 2024-02-30\n    to: soon\n", []string{`q.yaml:8: where.time.from: "2024-02-30" is no date`, `q.yaml:9: where.time.to: "soon" is no date`}},
		"right":             {"  gauge: ABC\n  state: WI\nselect: [gauge, stage, sum_mgd]\n", nil},
		"value":             {"  gauge: abc\n  state: WI\n", []string{`q.yaml:5: where.gauge: the value "abc" does not have the form that the service takes: three letters`}},
		"values":            {"  gauge:\n    - ABC\n    - ab\n    - DEF\n    - bc\n    - 'a b'\n  state: WI\n", []string{`q.yaml:7: where.gauge: the value "ab" (and 2 more like it) does not have the form that the service takes: three letters (also in lines 9, 10)`}},
		"no beginning":      {"  gauge: ABC\n  state: WI\n  changed: {to: 2024-01-01}\nselect: [lvl]\n", []string{`q.yaml:7: where.changed.from: the service takes a limited span of time in one request`, `q.yaml:8: select[0]: the table has no column "lvl"`}},
		"one instant":       {"  gauge: ABC\n  state: WI\n  changed: 2024-01-01\n", nil},
		"a beginning":       {"  gauge: ABC\n  state: WI\n  changed: {from: 2024-01-01}\n", nil},
		"values on a line":  {"  gauge: [ab, bc]\n  state: WI\n", []string{`q.yaml:5: where.gauge: the value "ab" (and 1 more like it) does not have the form that the service takes: three letters`}},
		"file":              {"  gauge: {file: gauges.txt}\n  state: WI\n", []string{`gauges.txt:2: where.gauge: the value "ab" (and 1 more like it) does not have the form that the service takes: three letters (also in line 5)`}},
		"missing":           {"  state: WI\n", []string{`q.yaml:4: where: gauge: the collection levels needs a value`}},
		"none of two":       {"  gauge: ABC\n", []string{`q.yaml:4: where: state, county: give exactly one of them`}},
		"both of two":       {"  gauge: ABC\n  state: WI\n  county: Dane\n", []string{`q.yaml:7: where.county: state, county: give exactly one of state, county`}},
		"unknown":           {"  gauge: ABC\n  state: WI\n  guage: ABC\n", []string{`q.yaml:7: where.guage: the collection levels has no such parameter; did you mean "gauge"?`}},
		"unknown, unread":   {"  gauge: ABC\n  state: WI\n  guage: []\n", []string{`q.yaml:7: where.guage: the list is empty`, `q.yaml:7: where.guage: the collection levels has no such parameter; did you mean "gauge"?`}},
		"unread, not lost":  {"  gauge: []\n  state: {file: nowhere.txt}\n", []string{`q.yaml:5: where.gauge: the list is empty`, `q.yaml:6: where.state: read the values in nowhere.txt`}},
		"several for one":   {"  gauge: ABC\n  state: [WI, MN]\n", []string{`q.yaml:6: where.state: 2 values, and the service takes one`}},
		"from":              {"  gauge: ABC\n  state: WI\n  time:\n    from: 2024-02-30\n    to: 2024-03-01\n", []string{`q.yaml:8: where.time.from: "2024-02-30" is no date`}},
		"to":                {"  gauge: ABC\n  state: WI\n  time:\n    from: 2024-02-01\n    to: soon\n", []string{`q.yaml:9: where.time.to: "soon" is no date`}},
		"the wrong way":     {"  gauge: ABC\n  state: WI\n  time:\n    from: 2024-02-01\n    to: 2023-02-01\n", []string{`q.yaml:7: where.time: from 2024-02-01 is after to 2023-02-01`}},
		"unknown zone":      {"  gauge: ABC\n  state: WI\n  time:\n    from: 2024-02-30\n    zone: Mars/Base\n", []string{`q.yaml:7: where.time: there is no time zone "Mars/Base"`, `q.yaml:8: where.time.from: "2024-02-30" is no date`}},
		"columns":           {"  gauge: ABC\n  state: WI\nselect:\n  - gauge\n  - level\n  - tmie\n", []string{`q.yaml:9: select[1]: the table has no column "level"`, `q.yaml:10: select[2]: the table has no column "tmie"; did you mean "time"?`}},
		"a row that ended":  {"  gauge: {file: g.csv, column: id}\n  state: WI\n", []string{`g.csv:3: where.gauge: the row has 1 fields and ends before the column "id"`}},
		"repeats keep line": {"  gauge: {file: r.txt}\n  state: WI\n", []string{`r.txt:4: where.gauge: the value "ab"`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := checked(t, head+test.text, map[string]string{
				"gauges.txt": "ABC\nab\nDEF\n\nbc\n", "g.csv": "name,id\na,ABC\nb\n", "r.txt": "ABC\nABC\nDEF\nab\n",
			})
			lines := strings.Split(got, "\n")
			if got == "" {
				lines = nil
			}
			if len(lines) != len(test.want) {
				t.Fatalf("got %d problems, want %d:\n%s", len(lines), len(test.want), got)
			}
			for i, want := range test.want {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("got  %s\nwant %s", lines[i], want)
				}
			}
		})
	}
}

func TestAPlaceIsOfTheFlagWhereThereIsNoFile(t *testing.T) {
	place := Place{File: "--set gauge"}
	q := &Query{Service: "rivers", Collection: "levels", Select: []string{"tmie"}, Where: []Condition{
		{"gauge", ValueSource{Values: []string{"ABC", "ab"}}, place},
		{"state", ValueSource{File: &ValueFile{Path: "s.txt"}}, Place{File: "--set state"}},
	}}
	q.SetPlace("select[0]", Place{File: "--select"})
	r, err := q.Resolve(sources(map[string]string{"s.txt": "WI\nMN\n"}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, problem := range q.Check(levels(t), r) {
		got = append(got, problem.Error())
	}
	want := []string{
		`--set gauge: the value "ab" does not have the form that the service takes: three letters`,
		`--set state: 2 values, and the service takes one`,
		`--select: the table has no column "tmie"; did you mean "time"?`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if place := q.PlaceOfValue(r, "state", "MN"); place != (Place{File: "s.txt", Line: 2, Path: "state"}) {
		t.Errorf("the value is at %+v", place)
	}
	if place := q.PlaceOf("collection"); place.File != "command line" {
		t.Errorf("what was not given is at %+v", place)
	}
}

func TestAColumnThatTheServiceMaySendUndeclaredIsANote(t *testing.T) {
	d, err := service.Parse("rivers.yaml", []byte(strings.Replace(rivers, "unknown_fields: drop", "unknown_fields: text", 1)))
	if err != nil {
		t.Fatal(err)
	}
	q := &Query{Select: []string{"gauge", "tmie", "x_mgd", "level"}}
	r := new(Resolved)
	var got []string
	for _, problem := range q.Check(d.Collections[0], r) {
		if strings.Contains(problem.Message, "column") {
			got = append(got, problem.Message)
		}
	}
	if diff := cmp.Diff([]string{`the table has no column "level"; known are *_mgd, gauge, stage, time`}, got); diff != "" {
		t.Error(diff)
	}
	want := []string{`select: no field declares the column "tmie"; it is text if the service sends it, and else null in each row; did you mean "time"?`}
	if diff := cmp.Diff(want, r.Notes); diff != "" {
		t.Error(diff)
	}
}

func TestRepeatsAreCountedInTheSpellingThatIsSent(t *testing.T) {
	d, err := service.Parse("rivers.yaml", []byte(strings.Replace(rivers, "state: {type: text}", "state: {type: text, many: comma, values: {WI: [Wisconsin], MN: ['27']}}", 1)))
	if err != nil {
		t.Fatal(err)
	}
	q := &Query{Where: []Condition{
		{"gauge", ValueSource{Values: []string{"ABC"}}, Place{File: "--set gauge"}},
		{"state", ValueSource{Values: []string{"WI", "WI", "Wisconsin", "27"}}, Place{File: "--set state"}},
	}}
	r, err := q.Resolve(sources(nil))
	if err != nil {
		t.Fatal(err)
	}
	if problems := q.Check(d.Collections[0], r); len(problems) > 0 {
		t.Error(problems)
	}
	if diff := cmp.Diff([]string{"state: 2 repeated values were dropped, 2 remain"}, r.Notes); diff != "" {
		t.Error(diff)
	}
}
