package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const gaugesURL = "https://api.example.org/v1/gauges?limit=500&order=id"

func TestRowsKeepTheServersText(t *testing.T) {
	body := "\xef\xbb\xbf" + ` { "data" : [
  {"id": 9007199254740993, "name": "a \u00e9\n", "flow": 20.20, "big": 1e400, "nested": { "b" : [1,  2.0] }, "x": null},
  {"name": "b", "basin": {"area": 12.50}, "na\u006de": "last"}
] }`
	page, err := gauges(t).DecodePage(Walk{}, gaugesURL, nil, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"a \u00e9\n","flow":20.20,"big":1e400,"nested":{"b":[1,2.0]},"x":null,"station_id":9007199254740993}
{"name":"last","basin":{"area":12.50},"area":12.50}
`
	if diff := cmp.Diff(want, string(page.Rows)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"name", "flow", "big", "nested", "x", "station_id", "basin", "area"}, page.Columns); diff != "" {
		t.Error(diff)
	}
	if page.Count != 2 || page.Bytes != int64(len(body)) || page.Next != "" {
		t.Errorf("page %+v", page)
	}
}

const dailyPage = `{"type":"FeatureCollection","features":[
{"type":"Feature","id":"b0","geometry":null,"properties":{"time_series_id":"s","monitoring_location_id":"USGS-1","time":"2024-01-01","value":"20.2","qualifier":["e"]}},
{"type":"Feature","id":"b1","properties":null}
],"numberReturned":2,"links":[{"rel":"self","href":"x"},{"href":"/ogcapi/v0/collections/daily/items?cursor=a%2Fb&f=json","rel":"next"}]}`

func TestAFeaturesPropertiesAreTheRow(t *testing.T) {
	page, err := daily(t).DecodePage(Walk{}, "https://api.waterdata.usgs.gov/ogcapi/v0/collections/daily/items?f=json", nil, []byte(dailyPage))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"time_series_id":"s","monitoring_location_id":"USGS-1","time":"2024-01-01","value":"20.2","qualifier":["e"],"id":"b0"}` + "\n" + `{"id":"b1"}` + "\n"
	if diff := cmp.Diff(want, string(page.Rows)); diff != "" {
		t.Error(diff)
	}
	if want := "https://api.waterdata.usgs.gov/ogcapi/v0/collections/daily/items?cursor=a%2Fb&f=json"; page.Next != want {
		t.Errorf("next %s, want %s", page.Next, want)
	}
}

func TestWhatIsNotAPageIsClassified(t *testing.T) {
	list := strings.Repeat
	tests := []struct {
		name, body string
		oldnew     []string
		class      Class
		want       string
	}{
		{"html", "<!DOCTYPE html><html><head><title>\n Scheduled  maintenance</title>", nil, ClassTransient, "HTML, not JSON: Scheduled maintenance"},
		{"html without title", "\n<HTML><body>", nil, ClassTransient, "HTML, not JSON"},
		{"empty", " \n", nil, ClassTransient, "an empty body, not JSON"},
		{"text", "upstream connect error", nil, ClassTransient, `not JSON: "upstream connect error"`},
		{"cut off", `{"data":[{"a":1},{"a"`, nil, ClassTransient, "JSON that is damaged or cut off after 21 bytes"},
		{"trailing", `{"data":[]}{}`, nil, ClassTransient, "damaged"},
		{"not utf-8", "{\"data\":[\"\xff\"]}", nil, ClassTransient, "not UTF-8"},
		{"no list", `{"error":"overloaded"}`, nil, ClassBadPage, `no list at rows.at ($.data): there is nothing, and the document is an object with the members "error": {"error":"overloaded"}`},
		{"list is a number", `{"data":3}`, nil, ClassBadPage, "no list at rows.at ($.data): there is a number"},
		{"list is an object", `{"data":{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}}`, nil, ClassBadPage, `an object with the members "a", "b", "c", "d", "e", ...`},
		{"list is a text", `{"data":"none"}`, nil, ClassBadPage, "there is a text"},
		{"row is a number", `{"data":[{},3]}`, nil, ClassBadPage, "row 1 is a number, not an object"},
		{"deep", `{"data":[` + list("[", 70) + list("]", 70) + `]}`, nil, ClassBadPage, "nested deeper than 64"},
		{"too large", `{"data":[]}` + list(" ", 2000), []string{"{page_rows: 500}", "{page_rows: 500, response_bytes: 1024}"}, ClassTooLarge, "at most 1024"},
		{"fewer than said", `{"returned":3,"data":[{},{}]}`, nil, ClassBadPage, "says that it returns 3 rows and has 2"},
		{"undeclared", `{"data":[{"name":1},{"naem":2}]}`, []string{"    key:", "    unknown_fields: fail\n    key:"}, ClassBadPage, `row 1 has the member "naem"`},
		{"foreign link", `{"data":[],"links":[{"rel":"next","href":"https://evil.example/x"}]}`, nil, ClassBadLink, `leads to the host "evil.example"; allowed are api.example.org`},
		{"link with a user", `{"data":[],"links":[{"rel":"next","href":"https://api.example.org@evil.example/x"}]}`, nil, ClassBadLink, `"evil.example"`},
		{"script", `{"data":[],"links":[{"rel":"next","href":"javascript:x"}]}`, nil, ClassBadLink, "scheme"},
		{"link is an object", `{"data":[],"links":[{"rel":"next","href":{}}]}`, nil, ClassBadPage, "not a text"},
		{"empty page", `{"data":[],"links":[{"rel":"next","href":"?c=1"}]}`, []string{"style: link", "style: link\n    empty_page: fail"}, ClassBadPage, "is empty and names a next one"},
		{"cut off by rows", `{"data":[{},{}]}`, []string{"style: link", "style: link\n    truncated_when: [{rows: 2}]"}, ClassTooLarge, "cut off by the service"},
		{"cut off by sign", `{"data":[{}],"clipped":true}`, []string{"style: link", "style: link\n    truncated_when: [{at: '$.clipped', is: 'true'}]"}, ClassTooLarge, "cut off by the service"},
		{"more match", `{"data":[{}],"n":2}`, []string{"style: link\n    next: '$.links[?rel=next].href'", "style: none", "returned: '$.returned'", "matched: '$.n'"}, ClassTooLarge, "2 rows match and the one page has 1"},
		{"many columns", `{"data":[{` + strings.TrimSuffix(strings.Join(numbered(1100), ""), ",") + `}]}`, nil, ClassBadPage, "more than 1024 columns"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := gauges(t, test.oldnew...).DecodePage(Walk{}, gaugesURL, nil, []byte(test.body))
			var response *ResponseError
			if !errors.As(err, &response) || response.Class != test.class || !strings.Contains(response.Message, test.want) {
				t.Errorf("got %v\nwant %s: %s", err, test.class, test.want)
			}
		})
	}
}

func numbered(n int) []string {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`"c%d":%d,`, i, i)
	}
	return members
}

func TestAnEmptyListIsAnEmptyPage(t *testing.T) {
	for _, body := range []string{`{"data":[]}`, `{"data":null}`} {
		page, err := gauges(t).DecodePage(Walk{}, gaugesURL, nil, []byte(body))
		if err != nil || page.Count != 0 || len(page.Rows) != 0 {
			t.Errorf("%s: page %+v, %v", body, page, err)
		}
	}
}

func TestUndeclaredMembersAreDroppedWhereTheDefinitionSaysSo(t *testing.T) {
	page, err := gauges(t, "    key:", "    unknown_fields: drop\n    key:").DecodePage(Walk{}, gaugesURL, nil,
		[]byte(`{"data":[{"name":"a","x":1,"irr_mgd":2,"id":"7"}]}`))
	if want := `{"name":"a","irr_mgd":2,"station_id":"7"}` + "\n"; err != nil || string(page.Rows) != want {
		t.Errorf("got %s, %v, want %s", page.Rows, err, want)
	}
}

func TestAnEmptyPageWithANextLinkFollowsTheRule(t *testing.T) {
	body := []byte(`{"data":[],"links":[{"rel":"next","href":"?c=1"}]}`)
	page, err := gauges(t).DecodePage(Walk{}, gaugesURL, nil, body)
	if err != nil || page.Next != "https://api.example.org/v1/gauges?c=1" {
		t.Errorf("continue: next %q, %v", page.Next, err)
	}
	page, err = gauges(t, "style: link", "style: link\n    empty_page: stop").DecodePage(Walk{}, gaugesURL, nil, body)
	if err != nil || page.Next != "" {
		t.Errorf("stop: next %q, %v", page.Next, err)
	}
}

func TestTheNextLinkMayStandInAHeader(t *testing.T) {
	c := gauges(t, "'$.links[?rel=next].href'", "'header:Link[rel=next]'", "style: link", "style: link\n    keep: [limit, order]")
	header := map[string][]string{"link": {`<a>; rel="prev", <http://OLD.example.org/v1/gauges?order=x&c=2#f>; rel="next"`}}
	page, err := c.DecodePage(Walk{}, gaugesURL, header, []byte(`{"data":[{}]}`))
	if want := "https://api.example.org/v1/gauges?order=x&c=2&limit=500"; err != nil || page.Next != want {
		t.Errorf("got %s, %v, want %s", page.Next, err, want)
	}
}

func TestEveryRowIsOneLineOfValidJSONWithTheServersMembers(t *testing.T) {
	c := gauges(t, "[station_id]", "[name]", "      station_id: {type: text, from: '$.id'}\n", "")
	value := rapid.OneOf(
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.Int64(), func(i int64) any { return i }),
		rapid.Map(rapid.SliceOf(rapid.String()), func(l []string) any { return l }),
		rapid.Just[any](nil), rapid.Just[any](true),
	)
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOf(rapid.MapOfN(rapid.String(), value, 0, 6)).Draw(t, "rows")
		body, err := json.MarshalIndent(map[string]any{"data": rows, "returned": len(rows)}, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		page, err := c.DecodePage(Walk{}, gaugesURL, nil, body)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(string(page.Rows), "\n"), "\n")
		if page.Count != len(rows) || len(rows) > 0 && len(lines) != len(rows) {
			t.Fatalf("%d rows in %d lines, want %d", page.Count, len(lines), len(rows))
		}
		for i, row := range rows {
			want, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			if lines[i] != string(want) {
				t.Fatalf("row %d is %s, want %s", i, lines[i], want)
			}
		}
	})
}

func TestAnAnswerIsClassifiedByTheFirstRuleThatHolds(t *testing.T) {
	tests := []struct {
		status  int
		header  map[string][]string
		body    string
		class   Class
		givesUp Class
	}{
		{404, nil, "there are no observations", ClassNoData, ""},
		{404, nil, strings.Repeat("x", 5000) + "no observations", ClassBadRequest, ""},
		{200, nil, `{"error":{"code":"busy"}}`, ClassTransient, ClassTooLarge},
		{200, nil, "\xef\xbb\xbf" + `{"error":{"code":"busy"}}`, ClassTransient, ClassTooLarge},
		{200, nil, `{"error":{"code":"busy"}`, ClassOK, ""},
		{200, nil, `{"error":{"code":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}}`, ClassOK, ""},
		{400, map[string][]string{"x-state": {"gone"}}, "", ClassCursorGone, ""},
		{200, nil, "", ClassOK, ""},
		{204, nil, "", ClassNoData, ""},
		{302, nil, "", ClassBadLink, ""},
		{400, nil, "", ClassBadRequest, ""},
		{401, nil, "", ClassAuth, ""},
		{403, nil, "", ClassAuth, ""},
		{404, nil, "", ClassBadRequest, ""},
		{408, nil, "", ClassTransient, ""},
		{413, nil, "", ClassTooLarge, ""},
		{414, nil, "", ClassTooLarge, ""},
		{429, nil, "", ClassQuota, ""},
		{500, nil, "", ClassTransient, ""},
		{501, nil, "", ClassTransient, ""},
		{504, nil, "", ClassTransient, ClassTooLarge},
		{0, nil, "", ClassTransient, ""},
		{600, nil, "", ClassBadRequest, ""},
	}
	c := gauges(t)
	for _, test := range tests {
		class, givesUp := c.Classify(test.status, test.header, []byte(test.body))
		if class != test.class || givesUp != test.givesUp {
			t.Errorf("%d %.40s: got %s, %q, want %s, %q", test.status, test.body, class, givesUp, test.class, test.givesUp)
		}
	}
	several := gauges(t, "'$.error.code'", "'$.errors[*].code'")
	if class, _ := several.Classify(200, nil, []byte(`{"errors":[{"code":1},{"code":"busy"}]}`)); class != ClassTransient {
		t.Errorf("one of several errors is %s", class)
	}
	if class, _ := daily(t).Classify(403, nil, []byte(`{"description":"Request exceeding server limits"}`)); class != ClassTooLarge {
		t.Errorf("the service's own limit is %s", class)
	}
}

func FuzzDecodePageGivesValidLinesOrAResponseError(f *testing.F) {
	f.Add([]byte(dailyPage))
	f.Add([]byte(`{"features":[{"properties":{"a":1,"a":"\u0000","\u0061":{"b":[1, 2]}}}],"numberReturned":"1"}`))
	f.Add([]byte(`{"features":[1,null,[]],"links":[{"rel":"next","href":"http://["}]}`))
	f.Add([]byte("<html><title>x"))
	c := daily(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		page, err := c.DecodePage(Walk{}, "https://api.waterdata.usgs.gov/x", nil, body)
		var response *ResponseError
		if err != nil {
			if !errors.As(err, &response) || len(response.Message) > 2000 {
				t.Errorf("error %T with %d bytes", err, len(err.Error()))
			}
			return
		}
		lines := strings.Count(string(page.Rows), "\n")
		if lines != page.Count {
			t.Errorf("%d lines for %d rows", lines, page.Count)
		}
		for line := range strings.Lines(string(page.Rows)) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%q is not JSON", line)
			}
		}
	})
}

func BenchmarkDecodePageOfFiftyThousandRows(b *testing.B) {
	var body strings.Builder
	body.WriteString(`{"type":"FeatureCollection","features":[`)
	for i := range 50_000 {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"type":"Feature","id":"%d","geometry":null,"properties":{"time_series_id":"s","monitoring_location_id":"USGS-05427718","parameter_code":"00060","statistic_id":"00003","time":"2024-01-01","value":"20.2","unit_of_measure":"ft^3/s","approval_status":"Approved","qualifier":null,"last_modified":"2024-01-01T00:00:00Z"}}`, i)
	}
	body.WriteString(`],"numberReturned":50000,"links":[]}`)
	data := []byte(body.String())
	c := daily(b)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.DecodePage(Walk{}, "https://api.waterdata.usgs.gov/x", nil, data); err != nil {
			b.Fatal(err)
		}
	}
}
