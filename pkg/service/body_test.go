package service

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// searches is a definition of an API that is asked by POST.
const searches = `schema: service/v1
name: searches
base_url: https://api.example.org/v1
limits: {page_rows: 50, request_bytes: 9000}
defaults:
  rows: {format: json}
  fields: {id: {type: text}}
collections:
  filtered:
    request: {method: POST_IF_MANY, path: /items, query: {limit: '{page_rows}'}}
    params:
      id: {type: text, many: cql2_in}
      kind: {type: text, many: cql2_in, send: {site_type: '{}'}}
      height: {type: float64, many: cql2_in}
      year: {type: int64, many: cql2_in}
      active: {type: bool, many: cql2_in}
      agency: {type: text, many: comma}
      cql: {type: cql2_json}
    axes: [{pack: id}]
  posted:
    request: {method: POST, path: /search, query: {v: '2'}, headers: {Content-Type: application/geo+json}}
    params:
      cql: {type: cql2_json}
      agency: {type: text}
  members:
    request:
      method: POST
      path: /query
      query: {f: json}
      body: {as: json, with: {size: '{page_rows}', format: compact, note: 'up to {page_rows}'}}
    params:
      site: {type: text, many: comma}
      tag: {type: text, many: repeat}
      level: {type: float64, many: repeat}
      count: {type: int64}
      active: {type: bool}
      basin: {type: text, send: {place: 'huc{len}:{}'}}
      day: {type: date}
      filter: {type: cql2_text}
      time: {type: interval, of: date, send: {start: '{from}', end: '{to}'}}
      span: {type: interval, of: date}
  form:
    request: {method: POST, path: /query, body: {as: form, with: {size: '{page_rows}'}}}
    params:
      site: {type: text, many: comma}
      tag: {type: text, many: repeat}
      time: {type: interval, of: date, send: {start: '{from}', end: '{to}'}}
`

func TestPagingTravelsWithTheParameters(t *testing.T) {
	paged := "    paging: {style: offset, send: {skip: '{offset}', size: '{page_rows}'}, stop: empty_page}\n    params:\n      site: {type: text, many: comma}\n      tag"
	text := strings.NewReplacer("size: '{page_rows}', format", "format", ", with: {size: '{page_rows}'}", "", "    params:\n      site: {type: text, many: comma}\n      tag", paged).Replace(searches)
	for collection, want := range map[string]string{
		"members": `{"tag":["a"],"format":"compact","note":"up to 50","skip":0,"size":50}`,
		"form":    "tag=a&skip=0&size=50",
	} {
		d, err := Parse("searches.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		c, err := d.Collection(collection)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Request(Values{"tag": {"a"}})
		if err != nil || string(got.Body) != want || strings.Contains(got.URL, "skip") {
			t.Errorf("got %s with %s, %v", got.URL, got.Body, err)
		}
	}
	if _, err := Parse("searches.yaml", []byte(strings.Replace(text, "with: {", "with: {skip: '0', ", 1))); err == nil || !strings.Contains(err.Error(), "is sent by request.body.with too") {
		t.Errorf("got %v", err)
	}
}

func search(t testing.TB, collection string) *Collection {
	t.Helper()
	d, err := Parse("searches.yaml", []byte(searches))
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Collection(collection)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestABodySaysWhatTheURLDoesNot(t *testing.T) {
	const filterType = "application/query-cql-json"
	tests := []struct {
		name, collection, values  string
		method, url, body, accept string
	}{
		{"one value each", "filtered", `{"id": ["a"], "height": ["1.50"], "agency": ["x", "y"]}`, "GET", "items?id=a&height=1.50&agency=x,y&limit=50", "", ""},
		{
			"several values", "filtered", `{"kind": ["Stream", "Well"], "id": ["a"], "agency": ["x"]}`, "POST", "items?id=a&agency=x&limit=50",
			`{"op":"and","args":[{"op":"in","args":[{"property":"site_type"},["Stream","Well"]]}]}`, filterType,
		},
		{
			"in declared order", "filtered", `{"kind": ["Stream", "Well"], "id": ["RÍO", "b\"\\"]}`, "POST", "items?limit=50",
			`{"op":"and","args":[{"op":"in","args":[{"property":"id"},["R\u00cdO","b\"\\"]]},{"op":"in","args":[{"property":"site_type"},["Stream","Well"]]}]}`, filterType,
		},
		{
			"numbers", "filtered", `{"height": ["100", "200.5", "+1", ".5", "2.", "007", "1e3"], "year": ["-5", "+7", "08"]}`, "POST", "items?limit=50",
			`{"op":"and","args":[{"op":"in","args":[{"property":"height"},[100,200.5,1,0.5,2,7,1e3]]},{"op":"in","args":[{"property":"year"},[-5,7,8]]}]}`, filterType,
		},
		{"truth values", "filtered", `{"active": ["true", "false"]}`, "POST", "items?limit=50", `{"op":"and","args":[{"op":"in","args":[{"property":"active"},[true,false]]}]}`, filterType},
		{"a document", "filtered", `{"cql": ["{ \"op\": \"=\" }\n"], "id": ["a"]}`, "POST", "items?id=a&limit=50", "{ \"op\": \"=\" }\n", filterType},
		{
			"a document and predicates", "filtered", `{"cql": ["{ \"op\": \"=\" }"], "id": ["a", "b"]}`, "POST", "items?limit=50",
			`{"op":"and","args":[{"op":"in","args":[{"property":"id"},["a","b"]]},{ "op": "=" }]}`, filterType,
		},
		{"a document by POST", "posted", `{"cql": ["{}"], "agency": ["x"]}`, "POST", "search?agency=x&v=2", "{}", "application/geo+json"},
		{"a POST of nothing", "posted", `{"agency": ["x"]}`, "POST", "search?agency=x&v=2", "", "application/geo+json"},
		{
			"members", "members", `{"site": ["a", "b"], "tag": ["c"], "level": ["1.5", "+2"], "count": ["5"], "active": ["true"], "basin": ["0401"], "day": ["2024-01-05T10:00:00-06:00"], "filter": ["a = '1'", "b = '2'"], "time": ["2024-01-01", ".."], "span": ["..", "2024-02-01"]}`,
			"POST", "query?f=json",
			`{"site":"a,b","tag":["c"],"level":[1.5,2],"count":5,"active":true,"place":"huc4:0401","day":"2024-01-05","filter":"a = '1' OR b = '2'","start":"2024-01-01","span":"../2024-02-01","size":50,"format":"compact","note":"up to 50"}`, "application/json",
		},
		{"fixed members", "members", `{}`, "POST", "query?f=json", `{"size":50,"format":"compact","note":"up to 50"}`, "application/json"},
		{
			"a form", "form", `{"site": ["a b", "c&d"], "tag": ["1", "2"], "time": ["2024-01-01", "2024-01-31"]}`, "POST", "query",
			"site=a+b,c%26d&tag=1&tag=2&start=2024-01-01&end=2024-01-31&size=50", "application/x-www-form-urlencoded",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var values Values
			if err := json.Unmarshal([]byte(test.values), &values); err != nil {
				t.Fatal(err)
			}
			got, err := search(t, test.collection).Request(values)
			if err != nil {
				t.Fatal(err)
			}
			want := Request{Method: test.method, URL: "https://api.example.org/v1/" + test.url, Header: map[string]string{"Accept": "application/json"}}
			if test.body != "" {
				want.Body = []byte(test.body)
			}
			if test.accept != "" {
				want.Header["Content-Type"] = test.accept
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if got.Size() != len(want.URL)+len(test.body) {
				t.Errorf("size %d", got.Size())
			}
		})
	}
}

func TestEveryBodyInJSONIsReadBackAsItWasAsked(t *testing.T) {
	c := search(t, "members")
	rapid.Check(t, func(t *rapid.T) {
		tags := rapid.SliceOfN(rapid.StringN(1, 20, -1), 1, 5).Draw(t, "tags")
		request, err := c.Request(Values{"tag": tags})
		if err != nil {
			t.Fatal(err)
		}
		var body struct{ Tag []string }
		if err := json.Unmarshal(request.Body, &body); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tags, body.Tag); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestTextIsEscapedAsFormsDoIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		if got, want := escape(text), url.QueryEscape(text); got != want {
			t.Fatalf("%q is escaped %s, want %s", text, got, want)
		}
	})
}

func TestNumbersAreWrittenAsJSONTakesThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[+-]?[0-9]{0,3}\.?[0-9]{0,3}([eE][+-]?[0-9]{0,2})?`).Draw(t, "text")
		param := Parameter{Type: TypeFloat64}
		literal, ok := param.literal(text)
		if isNumber := param.checkType(text) == ""; text != "" && ok != isNumber {
			t.Fatalf("%q: literal %t, number %t", text, ok, isNumber)
		}
		if ok != json.Valid([]byte(literal)) || ok && json.Valid([]byte(text)) && literal != text {
			t.Fatalf("%q is written %s", text, literal)
		}
	})
}
