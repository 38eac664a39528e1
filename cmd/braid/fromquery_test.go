package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// fed is a query for levels of the gauges in a column of another one.
func fed(from, column string) string {
	return fmt.Sprintf("schema: query/v1\nservice: rivers\ncollection: levels\nwhere:\n  gauge: {from_query: %s, column: %s}\n  time: {from: 2020-01-01, to: 2020-12-31}\noutput: t.csv\n", from, column)
}

const gaugesQuery = "schema: query/v1\nservice: rivers\ncollection: gauges\nwhere: {}\noutput: g.csv\n"

func (s screen) mustSay(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(s.stderr, text) {
			t.Errorf("stderr does not say %q:\n%s", text, s.stderr)
		}
	}
}

func TestAPlanOfAQueryThatAnotherFeedsTellsWhatToRunAndMakesNoDataDirectory(t *testing.T) {
	d := newFolder(t)
	d.write("wells.yaml", gaugesQuery)
	d.write("q.yaml", fed("wells.yaml", "gauge"))
	d.run("plan", "q.yaml", "--data-dir", "data").mustExit(t, exitUsage).mustSay(t,
		"q.yaml:5: where.gauge.from_query: values come from wells.yaml, which has not been run; do: braid run wells.yaml --data-dir data\n")
	d.write("id.yaml", fed("k3x9a2bq", "gauge"))
	d.run("plan", "id.yaml", "--data-dir", "data").mustExit(t, exitUsage).mustSay(t, "id.yaml:5: where.gauge.from_query: there is no query k3x9a2bq")
	if _, err := os.Stat("data"); err == nil {
		t.Error("the plan has made a data directory")
	}
	// What feeds the other query is for the run of that one.
	d.write("between.yaml", fed("wells.yaml", "gauge"))
	d.write("q.yaml", strings.Replace(fed("between.yaml", "gauge"), "  time", "  note: {from_query: wells.yaml, column: name}\n  time", 1))
	o := d.run("plan", "q.yaml", "--data-dir", "data").mustExit(t, exitUsage)
	o.mustSay(t, "q.yaml:5: where.gauge.from_query: values come from between.yaml", "q.yaml:6: where.note.from_query: values come from wells.yaml", "2 problems; nothing of q.yaml was sent")
	if strings.Contains(o.stderr, "between.yaml:") {
		t.Errorf("more is told than what to do:\n%s", o.stderr)
	}
}

func TestQueriesThatFeedAnotherAreCheckedWithIt(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string // beside q.yaml, which is fed by a.yaml
		want  []string
	}{
		{"no such column", map[string]string{"a.yaml": strings.Replace(gaugesQuery, "output", "select: [name]\noutput", 1)}, []string{
			`q.yaml:5: where.gauge.column: a.yaml does not select a column "gauge"; known are name`,
		}},
		{"dropped field", map[string]string{"a.yaml": fed("b.yaml", "gaug"), "b.yaml": fed("c.yaml", "gauge"), "c.yaml": gaugesQuery}, []string{
			`a.yaml:5: where.gauge.column: b.yaml: the table has no column "gaug"; did you mean "gauge"?`,
		}},
		{"every file is read", map[string]string{
			"a.yaml": "schema: query/v1\nservice: rivers\ncollection: levels\nwhere:\n  gauge: {from_query: b.yaml, column: gauge}\nmax_chunk: 3\n",
			"b.yaml": "schema: query/v1\nservice: rivers\ncollection: gages\nwhere: {}\n",
		}, []string{`a.yaml:6: max_chunk: unknown key`, `a.yaml:4: where: time: `, `b.yaml:3: collection: `, "3 problems; nothing was sent"}},
		{"itself", map[string]string{"a.yaml": fed("./a.yaml", "gauge")}, []string{`a.yaml:5: where.gauge.from_query: the queries feed one another in a circle: a.yaml → a.yaml;`}},
		{"circle behind", map[string]string{"a.yaml": fed("b.yaml", "gauge"), "b.yaml": fed("c.yaml", "gauge"), "c.yaml": fed("b.yaml", "gauge")}, []string{
			`c.yaml:5: where.gauge.from_query: the queries feed one another in a circle: b.yaml → c.yaml → b.yaml;`,
		}},
		{"no YAML", map[string]string{"a.yaml": "a: ["}, []string{"a.yaml:2: not YAML"}},
		{"a folder", map[string]string{}, []string{"q.yaml:5: where.gauge.from_query: read the query a.yaml: "}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := newFolder(t)
			d.write("q.yaml", fed("a.yaml", "gauge"))
			for name, text := range test.files {
				d.write(name, text)
			}
			o := d.run("run", "q.yaml").mustExit(t, exitUsage)
			o.mustSay(t, test.want...)
			if n := strings.Count(o.stderr, "\n"); n != len(test.want) {
				t.Errorf("%d lines, want %d:\n%s", n, len(test.want), o.stderr)
			}
		})
	}
}

func TestHowManyQueriesFeedOneIsBounded(t *testing.T) {
	d := newFolder(t)
	// Each file of a row names the next one and the last one, so that the ways to the last one are of every length.
	chain := func(length int) {
		for i := range length {
			d.write(fmt.Sprintf("q%d.yaml", i), strings.Replace(fed(fmt.Sprintf("q%d.yaml", i+1), "gauge"), "  time", fmt.Sprintf("  note: {from_query: q%d.yaml, column: gauge}\n  time", length), 1))
		}
		d.write(fmt.Sprintf("q%d.yaml", length), gaugesQuery)
	}
	chain(maxFeedDepth)
	d.run("plan", "q0.yaml", "--data-dir", "data").mustExit(t, exitUsage).mustSay(t, "q0.yaml:5: where.gauge.from_query: values come from q1.yaml")
	chain(maxFeedDepth + 1)
	d.run("plan", "q0.yaml", "--data-dir", "data").mustExit(t, exitUsage).mustSay(t, "q8.yaml:5: where.gauge.from_query: more than 8 queries feed one another in a row: q0.yaml → q1.yaml")

	// A file that is known by a short way counts with all that is behind it.
	chain(maxFeedDepth)
	d.write("q0.yaml", strings.Replace(fed("q1.yaml", "gauge"), "  time", "  note: {from_query: long.yaml, column: gauge}\n  time", 1))
	d.write("long.yaml", fed("q1.yaml", "gauge"))
	d.run("plan", "q0.yaml", "--data-dir", "data").mustExit(t, exitUsage).mustSay(t, "long.yaml:5: where.gauge.from_query: more than 8 queries feed one another in a row: q0.yaml → long.yaml → q1.yaml")

	var wide strings.Builder
	wide.WriteString("schema: query/v1\nservice: rivers\ncollection: gauges\nwhere:\n")
	for i := range maxFeedFiles + 1 {
		fmt.Fprintf(&wide, "  p%d: {from_query: w%d.yaml, column: gauge}\n", i, i)
		d.write(fmt.Sprintf("w%d.yaml", i), gaugesQuery)
	}
	d.write("wide.yaml", wide.String())
	d.run("plan", "wide.yaml", "--data-dir", "data").mustExit(t, exitUsage).mustSay(t, "wide.yaml:69: where.p64.from_query: more than 64 query files feed this one")
}

func TestStoredQueriesAreOneQueryWhenTheirTablesAre(t *testing.T) {
	spec := func(change func(*query.Spec)) *query.Spec {
		s := &query.Spec{
			V: query.SpecVersion, Name: "wells", Service: "rivers", Collection: "gauges", Values: service.Values{"gauge": {"a", "b"}},
			Run: query.Run{OnQuota: query.OnQuota{WaitUpTo: query.Duration(time.Hour), Then: query.ThenPause}}, BadValues: query.BadValuesStop,
		}
		change(s)
		return s
	}
	stored := func(state messages.QueryState, change func(*query.Spec)) *messages.Status {
		s := spec(change)
		text, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return &messages.Status{Query: &messages.Query{
			Name: s.Name, Service: s.Service, Collection: s.Collection, Definition: "d", Spec: service.Digest(text), State: state,
			WaitUpTo: time.Duration(s.Run.OnQuota.WaitUpTo), InFlight: s.Run.InFlight, MaxRows: s.MaxRows,
		}}
	}
	find := func(all ...*messages.Status) *messages.Status {
		t.Helper()
		same := &sameQuery{spec: spec(func(*query.Spec) {}), definition: "d"}
		got, err := same.newest(all)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for name, test := range map[string]struct {
		change func(*query.Spec)
		same   bool
	}{
		"itself":           {func(*query.Spec) {}, true},
		"another name":     {func(s *query.Spec) { s.Name = "other" }, true},
		"in flight":        {func(s *query.Spec) { s.Run.InFlight = 3 }, true},
		"waits":            {func(s *query.Spec) { s.Run.OnQuota.WaitUpTo = query.Duration(forever) }, true},
		"waits not at all": {func(s *query.Spec) { s.Run.OnQuota.WaitUpTo = 0 }, true},
		"a value more":     {func(s *query.Spec) { s.Values = service.Values{"gauge": {"a", "b", "c"}} }, false},
		"another order":    {func(s *query.Spec) { s.Values = service.Values{"gauge": {"b", "a"}} }, false},
		"select":           {func(s *query.Spec) { s.Select = []string{"gauge"} }, false},
		"first rows":       {func(s *query.Spec) { s.MaxRows = 5 }, false},
		"bad values":       {func(s *query.Spec) { s.BadValues = query.BadValuesAllow }, false},
		"collection":       {func(s *query.Spec) { s.Collection = "levels" }, false},
		"service":          {func(s *query.Spec) { s.Service = "lakes" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := find(stored(messages.Complete, test.change)); (got != nil) != test.same {
				t.Errorf("found %v, want %v", got != nil, test.same)
			}
		})
	}
	plain := func(*query.Spec) {}
	older, newer, broken := stored(messages.Complete, plain), stored(messages.Complete, plain), stored(messages.Failed, plain)
	if find(broken, newer, older) != newer {
		t.Error("the newest complete one is not found")
	}
	if paused := stored(messages.Interrupted, plain); find(paused, broken) != paused {
		t.Error("the newest unfinished one is not found")
	}
	other := stored(messages.Complete, plain)
	other.Query.Definition = "e"
	resumed := stored(messages.Complete, plain)
	resumed.Query.WaitUpTo = 0
	if find(other) != nil || find(resumed) != resumed {
		t.Error("another definition is another query, and another wait of its last run is not")
	}
}
