package superset

import (
	"encoding/json"
	"testing"
	"time"
)

func TestTimeRanges(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 9, 2, 10, 30, 0, 0, time.UTC) // a Wednesday
	for _, c := range []struct{ text, from, to string }{
		{"No filter", "", ""},
		{"", "", ""},
		{"Last day", "2026-09-01T00:00:00Z", "2026-09-02T00:00:00Z"},
		{"Last week", "2026-08-26T00:00:00Z", "2026-09-02T00:00:00Z"},
		{"last month", "2026-08-02T00:00:00Z", "2026-09-02T00:00:00Z"},
		{"Last quarter", "2026-06-02T00:00:00Z", "2026-09-02T00:00:00Z"},
		{"Last year", "2025-09-02T00:00:00Z", "2026-09-02T00:00:00Z"},
		{"Last 7 days", "2026-08-26T00:00:00Z", "2026-09-02T00:00:00Z"},
		{"previous calendar week", "2026-08-24T00:00:00Z", "2026-08-31T00:00:00Z"},
		{"previous calendar month", "2026-08-01T00:00:00Z", "2026-09-01T00:00:00Z"},
		{"previous calendar year", "2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z"},
		{"Current quarter", "2026-07-01T00:00:00Z", "2026-10-01T00:00:00Z"},
		{"2026-01-01 : 2026-02-01", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"},
		{"2026-01-01T06:00:00 : now", "2026-01-01T06:00:00Z", "2026-09-02T10:30:00Z"},
		{"3 days ago : today", "2026-08-30T00:00:00Z", "2026-09-02T00:00:00Z"},
		{"2026-01-01 : ", "2026-01-01T00:00:00Z", ""},
		{" : 2026-01-01", "", "2026-01-01T00:00:00Z"},
		{"2026-02-01 : 2026-01-01", "error", ""},
		{"Last decade or so", "error", ""},
		{"Last -3 days", "error", ""},
		{"Last 99999999 days", "error", ""},
		{"soon : later", "error", ""},
	} {
		got, err := resolve(c.text, now)
		if (err != nil) != (c.from == "error") {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		format := func(at time.Time) string {
			if at.IsZero() {
				return ""
			}
			return at.Format(time.RFC3339)
		}
		if err == nil && (format(got.from) != c.from || format(got.to) != c.to) {
			t.Errorf("%q: %s to %s", c.text, format(got.from), format(got.to))
		}
	}
}

func TestFiltersOfTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		op, val string
		want    string // of EU, US, eur
	}{
		{"==", `"EU"`, "EU "},
		{"!=", `"EU"`, "US eur "},
		{"in", `["EU", "eur"]`, "EU eur "},
		{"NOT IN", `["EU", "eur"]`, "US "},
		{"LIKE", `"E%"`, "EU "},
		{"NOT LIKE", `"_U"`, "US eur "},
		{"ILIKE", `"e%"`, "EU eur "},
		{">", `"EU"`, "US eur "},
		{"<=", `"EU"`, "EU "},
		{"IS NULL", `null`, ""},
		{"IS NOT NULL", `null`, "EU US eur "},
		{"LIKE", `"[E*"`, ""},
	} {
		got := ""
		for _, value := range []string{"EU", "US", "eur"} {
			if keeps([]clause{{Op: c.op, Val: json.RawMessage(c.val)}}, value) {
				got += value + " "
			}
		}
		if got != c.want {
			t.Errorf("%s %s: %s", c.op, c.val, got)
		}
	}
}

func TestRowLevelClauses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		clauses []string
		want    string // of EU, US, MEA
	}{
		{nil, "EU US MEA "},
		{[]string{"a\x00region = 'EU'"}, "EU "},
		{[]string{"a\x00region != 'EU'"}, "US MEA "},
		{[]string{"a\x00region in ('EU', 'US')"}, "EU US "},
		{[]string{"a\x00region NOT IN ('EU')"}, "US MEA "},
		{[]string{"a\x00region = 'EU'", "a\x00region = 'US'"}, "EU US "},
		{[]string{"a\x00region = 'EU'", "b\x00region = 'US'"}, ""},
		{[]string{"a\x00channel = 'web'"}, "EU US MEA "},
		{[]string{"a\x00region LIKE 'E%'"}, "EU US MEA "}, // not understood
	} {
		got := ""
		for _, value := range []string{"EU", "US", "MEA"} {
			if allowed(c.clauses, "region", value) {
				got += value + " "
			}
		}
		if got != c.want {
			t.Errorf("%q: %s", c.clauses, got)
		}
	}
}

func TestClausesOfRoles(t *testing.T) {
	t.Parallel()
	w := DefaultWorld()
	for _, c := range []struct {
		roles []string
		guest []guestRule
		set   int64
		want  int
	}{
		{[]string{"Alpha"}, nil, 31, 0},
		{[]string{"Gamma"}, nil, 31, 1},
		{[]string{"Gamma"}, nil, 34, 0},
		{[]string{GuestRole}, nil, 31, 1}, // the base rule is for all that it does not list
		{[]string{GuestRole}, []guestRule{{Clause: "a = 'b'"}, {Dataset: 31, Clause: "c = 'd'"}, {Dataset: 32, Clause: "e = 'f'"}}, 31, 3},
		{[]string{"Alpha", "Gamma"}, nil, 33, 1},
	} {
		if got := w.clauses(c.set, c.roles, c.guest); len(got) != c.want {
			t.Errorf("%v on %d: %q", c.roles, c.set, got)
		}
	}
}

// FuzzChartRequest looks for requests that the server breaks on.
func FuzzChartRequest(f *testing.F) {
	for _, chart := range DefaultWorld().Charts {
		if chart.QueryContext != nil {
			f.Add([]byte(*chart.QueryContext))
		}
	}
	f.Add([]byte(`{"datasource": {"id": 35}, "queries": [{"columns": ["event_id", "event_id", "event_id"], "metrics": ["events"], "row_offset": 99, "filters": [{"col": 1, "op": "IN", "val": {}}]}]}`))
	st := &state{config: Config{Data: Data{Shuffle: true, Rows: maxRows}}.withDefaults()}
	st.world = st.config.World
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := readChartRequest(body)
		if err != nil {
			return
		}
		set := c.Datasource.find(st)
		if set == nil {
			set = st.world.dataset(31)
		}
		for _, q := range c.queries {
			key := cacheKey(set, q, nil, q.limit(maxRows))
			rows, err := st.execute(set, q, nil, time.Unix(1788256800, 0), 7)
			if err != nil {
				continue
			}
			for i := range min(rows.count, 5) {
				if row := rows.appendRow(nil, i); !json.Valid(row) {
					t.Fatalf("row %d is %s", i, row)
				}
			}
			if again := cacheKey(set, q, nil, q.limit(maxRows)); again != key {
				t.Fatal("one query, two keys")
			}
		}
	})
}

func FuzzPaging(f *testing.F) {
	for _, q := range []string{"", "()", "(page:0,page_size:100)", "(page:-1)", "(page:9223372036854775807,page_size:0)"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		p, err := readPaging(q)
		if from, to := p.of(50); err == nil && (from < 0 || to > 50 || from > to || to-from > pageCap) {
			t.Errorf("%q: %d to %d", q, from, to)
		}
	})
}
