package service

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/strictyaml"
)

func TestAWrongRequestSideIsRefusedWithLineAndRemedy(t *testing.T) {
	axis := func(text string) []string { return []string{"- pack: site", "- " + text} }
	param := func(text string) []string {
		return []string{"      mode: {", "      extra: " + text + "\n      mode: {"}
	}
	method := func(text string) []string { return []string{"path: /gauges", "path: /gauges\n      " + text} }
	tests := []struct {
		name   string
		oldnew []string
		want   string
	}{
		{"two kinds of axis", axis("{pack: site, each: tag}"), `axes[1]: name exactly one of each, pack, window, clauses`},
		{"no kind of axis", axis("{span: 1y}"), `name exactly one of each, pack, window, clauses`},
		{"window of a text", axis("{window: site, span: 1y}"), `the parameter "site" is no interval, and only an interval has windows`},
		{"clauses of a text", axis("clauses: site"), `the parameter "site" is not of the type cql2_text`},
		{"pack of an interval", axis("pack: time"), `the interval "time" can be on a window axis only`},
		{"span of pack", axis("{pack: site, span: 1y}"), `axes[1].span: belongs to a window axis only`},
		{"span without unit", axis("{window: time, span: 1}"), `"1" is no span; write a number with its unit, such as 1y, 6mo or 30d`},
		{"span of nothing", axis("{window: time, span: 0d}"), `"0d" is no span`},
		{"span in minutes", axis("{window: time, span: 30m}"), `"30m" is no span`},
		{"long span", axis("{window: time, span: 12001mo}"), `the longest span is 1000y`},
		{"align", axis("{window: time, align: week}"), `unknown value "week"; allowed are none, day, month, calendar_year, water_year`},
		{"boundary", axis("{window: time, boundary: both}"), `unknown value "both"; allowed are step, shared`},
		{"shared without key", []string{"- pack: site", "- {window: time, span: 1y, boundary: shared}", "key: [station_id]", "key: []"}, `shared windows give rows twice; declare the ` + "`key`"},
		{"clauses without key", append(append(axis("clauses: extra"), param("{type: cql2_text}")...), "key: [station_id]", "key: []"), `the parts of a filter overlap, so that rows come twice; declare the ` + "`key`"},
		{"months of years", axis("{window: years, span: 6mo}"), `6mo is no whole number of the years that "years" takes`},
		{"days of months", append(axis("{window: extra, span: 45d}"), param("{type: interval, of: month}")...), `45d is no whole number of the months that "extra" takes`},
		{"water years of years", axis("{window: years, span: 1y, align: water_year}"), `a water year begins in October`},
		{"two axes", axis("{window: time}\n      - {window: time}"), `the parameter "time" is on two axes`},

		{"many of a filter", param("{type: cql2_text, many: comma}"), `extra.many: an interval and a filter are one value`},
		{"default of a filter", param("{type: cql2_text, default: a}"), `extra.default: an interval and a filter have no default`},
		{"language of a text", param("{type: text, language: mode}"), `extra.language: belongs to filters of the type cql2_text only`},
		{"undeclared language", param("{type: cql2_text, language: moed, text_languages: [a]}"), `the parameter "moed" is not declared; did you mean "mode"?`},
		{"language without names", param("{type: cql2_text, language: mode}"), "`language` needs `text_languages`"},
		{"names without language", param("{type: cql2_text, text_languages: [a]}"), "text_languages: needs `language`"},
		{"language of several", param("{type: cql2_text, language: site, text_languages: [a]}"), `the parameter "site" is not one text`},
		{"guard of a text", param("{type: text, unquoted_numbers: refuse}"), `belongs to filters of the type cql2_text only`},
		{"send of a document", param("{type: cql2_json, send: {f: '{}'}}"), `is sent under no name`},
		{"document by GET", param("{type: cql2_json}"), "the parameter \"extra\" is the body of a POST; write `method: POST_IF_MANY` or `method: POST`"},
		{"predicate by GET", param("{type: text, many: cql2_in}"), "has many: cql2_in, which needs `method: POST_IF_MANY`"},
		{"predicate with a template", append(method("method: POST_IF_MANY"), param("{type: text, many: cql2_in, send: {e: 'a:{}'}}")...), `is sent under one name, as {}`},
		{"predicate by POST", append(method("method: POST"), param("{type: text, many: cql2_in}")...), "needs `method: POST_IF_MANY`"},
		{"two documents", append(method("method: POST_IF_MANY"), param("{type: cql2_json}\n      more: {type: cql2_json}")...), `the parameter "more" is a second filter in CQL2-JSON`},
		{"POST_IF_MANY of nothing", method("method: POST_IF_MANY"), `POST_IF_MANY needs a parameter with many: cql2_in`},
		{"method", method("method: PUT"), `unknown value "PUT"; allowed are GET, POST, POST_IF_MANY`},
		{"body of GET", method("body: {as: json}"), "a GET has no body; write `method: POST`"},
		{"body without form", method("method: POST\n      body: {with: {a: b}}"), "needs `as`: form or json"},
		{"empty body", method("method: POST\n      body: {}"), "needs `as`: form or json"},
		{"form of a body", method("method: POST\n      body: {as: xml}"), `unknown value "xml"; allowed are form, json`},
		{"body of a filter", append(method("method: POST_IF_MANY\n      body: {as: json}"), param("{type: cql2_json}")...), `the body of POST_IF_MANY is a filter in CQL2-JSON`},
		{"body and document", append(method("method: POST\n      body: {as: json}"), param("{type: cql2_json}")...), `the parameter "extra" is the body already`},
		{"sent twice in the body", method("method: POST\n      body: {as: json, with: {site: a}}"), `body.with.site: is sent by the parameter site too`},
		{"placeholder in the body", method("method: POST\n      body: {as: json, with: {a: '{from}'}}"), `{from} has no meaning here; allowed is {page_rows}`},
		{"header twice", method("headers: {X-A: a, x-a: b}"), `stands twice`},

		{"columns without many", param("{type: columns}"), "columns need `many`"},
		{"omit of a text", param("{type: text, omit: [id]}"), `extra.omit: belongs to columns only`},
		{"alias of another", param("{type: text, aliases: [site]}"), `the name "site" is taken by another parameter`},
		{"alias of itself", param("{type: text, aliases: [extra]}"), `the name "extra" is taken`},
		{"spelling of two", param("{type: text, values: {WI: [wisconsin], IL: [Wisconsin]}}"), `extra.values.IL[0]: "Wisconsin" stands for WI already; case does not count`},
		{"duration alone", param("{type: interval, of: duration}"), "an interval needs `of`: date, month, year or timestamp"},
		{"duration in two names", param("{type: interval, of: [date, duration], send: {a: '{from}', b: '{to}'}}"), `a duration is sent in place of {from}/{to}, which must stand together here`},
		{"request bytes", []string{"{page_rows: 500}", "{page_rows: 500, request_bytes: 1}"}, `limits.request_bytes: 1 is out of bounds`},
		{"no request", []string{"    request:\n      path: /gauges\n      query: {order: 'id,ts', limit: '{page_rows}'}\n", ""}, `collections.gauges: the key "request" is missing`},
		{"no rows", []string{"    rows: {format: json, at: '$.data[*]'}\n", ""}, `the key "rows" is missing`},
		{"unknown key", axis("{window: time, spam: 1y}"), `axes[1].spam: unknown key; did you mean "span"?`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("rivers.yaml", []byte(edited(test.oldnew...)))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
			if !errors.Is(err, strictyaml.ErrInvalid) {
				t.Errorf("%T does not wrap ErrInvalid", err)
			}
		})
	}
}

func TestWindowsAndClausesAreReadWithTheirDefaults(t *testing.T) {
	c := gauges(t, "      mode: {", "      filter: {type: cql2_text}\n      mode: {",
		"- pack: site", "- {window: time, span: 6mo, align: water_year, boundary: shared}\n      - {window: years}\n      - clauses: filter")
	want := []Axis{
		{Kind: AxisEach, Params: []string{"state", "basin"}},
		{Kind: AxisWindow, Params: []string{"time"}, Window: Window{Span{Months: 6}, AlignWaterYear, BoundaryShared}},
		{Kind: AxisWindow, Params: []string{"years"}, Window: Window{Align: AlignNone, Boundary: BoundaryStep}},
		{Kind: AxisClauses, Params: []string{"filter"}},
	}
	if diff := cmp.Diff(want, c.Axes()); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]Span{"1y": {Years: 1}, "12mo": {Months: 12}, "30d": {Days: 30}} {
		var span Span
		if err := span.UnmarshalText([]byte(text)); err != nil || span != want || span.String() != text {
			t.Errorf("%s is read as %+v (%s), %v", text, span, span, err)
		}
	}
}

func TestAnAdaptersCollectionNeedsNoRequest(t *testing.T) {
	c := gauges(t, "name: rivers", "name: rivers\nadapter: tide-reports",
		"    request:\n      path: /gauges\n      query: {order: 'id,ts', limit: '{page_rows}'}\n", "",
		"    rows: {format: json, at: '$.data[*]'}\n", "")
	request, err := c.Request(Values{"site": {"a"}})
	if c.HasRequest() || err != nil || request.Size() != 0 || c.Definition().Adapter != "tide-reports" {
		t.Errorf("adapter %q, request %+v, %v", c.Definition().Adapter, request, err)
	}
	if !gauges(t).HasRequest() {
		t.Error("a collection with a request has none")
	}
}
