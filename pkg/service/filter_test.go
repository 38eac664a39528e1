package service

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func filtered(t testing.TB) *Collection {
	t.Helper()
	return gauges(t, "      mode: {", `      lang: {type: text, values: [cql-text, cql-json], send: {filter-lang: '{}'}}
      filter: {type: cql2_text, language: lang, text_languages: [cql-text], unquoted_numbers: refuse}
      free: {type: cql2_text}
      document: {type: cql2_json}
      mode: {`, "path: /gauges", "path: /gauges\n      method: POST", "- pack: site", "- pack: site\n      - clauses: filter")
}

func TestFiltersAreCheckedInTheirLanguage(t *testing.T) {
	long := strings.Repeat("x", maxFilterBytes)
	tests := []struct {
		name   string
		values Values
		want   string
	}{
		{"quoted", Values{"filter": {"value >= '10'\n\tOR a = 'b'"}}, ""},
		{"unquoted", Values{"filter": {"a = 'b' OR value >= 10"}}, `filter: it compares value with a number without quotes (value >= 10); every field of this service is text`},
		{"unquoted, language named", Values{"filter": {"value >= 10"}, "lang": {"cql-text"}}, `filter: it compares value`},
		{"another language", Values{"filter": {"value >= 10"}, "lang": {"cql-json"}}, ""},
		{"not guarded", Values{"free": {"value >= 10"}}, ""},
		{"two", Values{"free": {"a = '1'", "b = '2'"}}, `free: 2 filters, and a query has one; join them with OR or AND`},
		{"none", Values{"free": {" OR "}}, `free: the filter " OR " has no condition`},
		{"blank", Values{"free": {" \t\n"}}, `has no condition`},
		{"control", Values{"free": {"a = '\x00'"}}, `has characters that are not printable`},
		{"no UTF-8", Values{"free": {"a = '\xff'"}}, `has characters that are not printable`},
		{"long enough", Values{"free": {long}}, ""},
		{"too long", Values{"free": {long + "x"}}, `has 65537 bytes, at most 65536`},
		{"document", Values{"document": {"{\n  \"op\": \"=\"\n}\n"}}, ""},
		{"no document", Values{"document": {"[]"}}, `document: the filter "[]" cannot be sent: it is JSON and not an object`},
		{"half a document", Values{"document": {`{"op":`}}, `it is not JSON: at byte 6`},
		{"large document", Values{"document": {`{"op": "` + strings.Repeat("x", maxDocumentBytes-10) + `"}`}}, ""},
		{"too large a document", Values{"document": {`{"op": "` + strings.Repeat("x", maxDocumentBytes) + `"}`}}, `at most 524288`},
	}
	c := filtered(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.values["state"] = []string{"WI"}
			err := c.CheckValues(test.values)
			if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, ErrInvalidValue) || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %.300v\nwant %s", err, test.want)
			}
			if err != nil && len(err.Error()) > 1000 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestOnlyTextIsDivided(t *testing.T) {
	c := filtered(t)
	tests := []struct {
		name    string
		values  Values
		clauses []string
		passes  bool
	}{
		{"one expression", Values{"filter": {"a = '1' or (b = '2' OR c = '3')"}}, []string{"a = '1'", "(b = '2' OR c = '3')"}, false},
		{"of a chunk", Values{"filter": {"a = '1'", "b = '2'"}}, []string{"a = '1'", "b = '2'"}, false},
		{"a comment", Values{"filter": {"a = '1' or b='2' /* x OR y */"}}, []string{"a = '1' or b='2' /* x OR y */"}, false},
		{"a comment to the end of the line", Values{"filter": {"a='1' -- x OR y\nAND b='2'"}}, []string{"a='1' -- x OR y\nAND b='2'"}, false},
		{"no comment", Values{"filter": {`a = '--' OR "/*" = '2' - -3 / 4 OR c = '/*'`}}, []string{"a = '--'", `"/*" = '2' - -3 / 4`, "c = '/*'"}, false},
		{"language of text", Values{"filter": {"a OR b"}, "lang": {"cql-text"}}, []string{"a", "b"}, false},
		{"another language", Values{"filter": {"a OR b"}, "lang": {"cql-json"}}, nil, true},
		{"none", Values{"lang": {"cql-json"}}, nil, false},
		{"document", Values{"filter": {"a OR b"}, "document": {"{}"}}, []string{"a", "b"}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.clauses, c.Clauses("filter", test.values)); diff != "" {
				t.Error(diff)
			}
			if got := c.PassesThrough(test.values); got != test.passes {
				t.Errorf("passes through: %t", got)
			}
		})
	}
	if got := c.Clauses("site", Values{"site": {"a OR b"}}); got != nil {
		t.Errorf("a text has the clauses %q", got)
	}
}

func TestClausesAreJoinedInTheRequest(t *testing.T) {
	c := filtered(t)
	whole, err := c.Request(Values{"free": {"a  or\tb"}})
	if err != nil || !strings.Contains(whole.URL, "free=a++or%09b&") {
		t.Errorf("a query's own text is sent as %s, %v", whole.URL, err)
	}
	parts, err := c.Request(Values{"free": {"a", "b"}})
	if err != nil || !strings.Contains(parts.URL, "free=a+OR+b&") {
		t.Errorf("a chunk's clauses are sent as %s, %v", parts.URL, err)
	}
}

func spelled(t testing.TB) *Collection {
	t.Helper()
	return gauges(t, "      mode: {", `      place: {type: text, values: {WI: [Wisconsin, '55', 'US:55'], IL: [Illinois, '17']}, aliases: [where, area], send: {loc: 'st:{}'}}
      columns: {type: columns, many: comma, omit: [id]}
      days: {type: date, many: repeat}
      mode: {`, "      - pack: site", "      - pack: site\n      - each: place")
}

func TestOtherSpellingsAskForTheSame(t *testing.T) {
	c := spelled(t)
	given := Values{
		"state": {"WI"}, "area": {"wisconsin", "US:55", "illinois", "WI"}, "columns": {"a-b", "id", "a_b"}, "days": {"2024-01-01T05:00:00Z", "2024-01-01"},
		"at": {"2024-01-01T00:00:00-06:00"}, "time": {"2024-01-01T00:00:00+01:00/"}, "site": {"b", "a", "b"},
	}
	if err := c.CheckValues(given); err != nil {
		t.Fatal(err)
	}
	want := Values{
		"state": {"WI"}, "place": {"WI", "IL"}, "columns": {"a_b"}, "days": {"2024-01-01"}, "at": {"2024-01-01T06:00:00Z"},
		"time": {"2023-12-31T23:00:00Z", ".."}, "site": {"b", "a", "b"},
	}
	canonical := c.Canonical(given)
	if diff := cmp.Diff(want, canonical); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, c.Canonical(canonical)); diff != "" {
		t.Errorf("the canonical values are not canonical\n%s", diff)
	}
	if got := c.Canonical(Values{"columns": {"id"}, "unknown": {"x"}, "place": {"Ohio"}}); !cmp.Equal(got, Values{"unknown": {"x"}, "place": {"Ohio"}}) {
		t.Errorf("got %v", got)
	}
	err := c.CheckValues(Values{"state": {"WI"}, "place": {"Ohio"}, "where": {"WI"}, "area": {"WI"}})
	for _, want := range []string{`place: place and where and area are one parameter; give it once`, `place: the value "Ohio" is not allowed`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	if err := c.CheckValues(Values{"state": {"WI"}, "are": {"WI"}}); err == nil || !strings.Contains(err.Error(), `did you mean "area"?`) {
		t.Errorf("got %v", err)
	}
}

func TestARequestDoesNotDependOnTheSpelling(t *testing.T) {
	c := spelled(t)
	rapid.Check(t, func(t *rapid.T) {
		values := Values{"state": {"WI"}}
		draw := func(name string, choices ...string) {
			if rapid.Bool().Draw(t, name+" given") {
				values[name] = []string{rapid.SampledFrom(choices).Draw(t, name)}
			}
		}
		draw("place", "WI", "wi", "Wisconsin", "55", "us:55", "ILLINOIS", "17")
		draw("columns", "a-b", "a_b", "id", "c")
		draw("days", "2024-01-01", "2024-01-01 12:00:00", "2024-01-01T12:00:00+05:00")
		draw("at", "2024-01-01T00:00:00Z", "2023-12-31T18:00:00-06:00", "2024-01-01 00:00:00.5Z")
		draw("time", "2024-01-01T00:00:00Z", "2023-12-31T18:00:00-0600", "2024-01-01T00:00:00Z/..", "/2024-01-01T01:00:00+01:00")
		if err := c.CheckValues(values); err != nil {
			t.Fatal(err)
		}
		got, err := c.Request(values)
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.Request(c.Canonical(values))
		if err != nil || got.URL != want.URL {
			t.Fatalf("%v gives %s, its canonical values %s, %v", values, got.URL, want.URL, err)
		}
	})
}
