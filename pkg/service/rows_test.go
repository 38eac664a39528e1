package service

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// inFormat gives a collection of readings whose rows have the format; more is put behind the fields.
func inFormat(t testing.TB, rows string, more ...string) *Collection {
	t.Helper()
	d, err := Parse("readings.yaml", []byte(formatText(rows, more...)))
	if err != nil {
		t.Fatal(err)
	}
	return d.Collections[0]
}

func formatText(rows string, more ...string) string {
	return `schema: service/v1
name: readings
base_url: https://api.example.org/v1
collections:
  readings:
    request: {path: /readings}
    rows: ` + rows + `
    fields:
      site: {type: text}
      flow: {type: decimal, null: ['', NA]}
      '*_mgd': {type: float64}
` + strings.Join(more, "")
}

const readingsURL = "https://api.example.org/v1/readings"

func decode(c *Collection, body string, header ...string) (Page, error) {
	h := map[string][]string{}
	for i := 0; i < len(header); i += 2 {
		h[header[i]] = []string{header[i+1]}
	}
	return c.DecodePage(Walk{}, readingsURL, h, []byte(body))
}

func TestATablesValuesAreTextsAsTheyWereSent(t *testing.T) {
	tests := []struct{ name, rows, body, want string }{
		{"plain", "{format: csv}", "site,flow\n01,20.20\n 02 ,\n", `{"site":"01","flow":"20.20"}` + "\n" + `{"site":" 02 ","flow":""}` + "\n"},
		{"no last line end", "{format: csv}", "site,flow\n01,2", `{"site":"01","flow":"2"}` + "\n"},
		{"carriage returns", "{format: csv}", "site,flow\r\n01,2\r\n03,4\r", `{"site":"01","flow":"2"}` + "\n" + `{"site":"03","flow":"4"}` + "\n"},
		{"byte-order mark", "{format: csv}", "\xef\xbb\xbfsite\n1\n", `{"site":"1"}` + "\n"},
		{"quotes", "{format: csv}", "\"site\",flow\n\"a, \"\"b\"\"\r\nc\",\"\"\n", `{"site":"a, \"b\"\u000d\u000ac","flow":""}` + "\n"},
		{"only a doubled quote", "{format: csv}", "site\n\"\"\"\"\n", `{"site":"\""}` + "\n"},
		{"a quote within", "{format: csv}", "site,flow\n5\" pipe,1\n", `{"site":"5\" pipe","flow":"1"}` + "\n"},
		{"blank lines", "{format: csv}", "\n \r\nsite,flow\n\n1,2\n\r\n   \n3,4\n\n", `{"site":"1","flow":"2"}` + "\n" + `{"site":"3","flow":"4"}` + "\n"},
		{"spaces are a value of one column", "{format: csv}", "site\n  \n", `{"site":"  "}` + "\n"},
		{"escapes", "{format: csv}", "site\n\\n\té\u2028<&>\x01\n", `{"site":"\\n\u0009é` + "\u2028" + `<&>\u0001"}` + "\n"},
		{"header only", "{format: csv}", "site,flow\n", ""},
		{"header only, no line end", "{format: csv}", "site,flow", ""},
		{"family", "{format: csv}", "irr_mgd,x\n1,2\n", `{"irr_mgd":"1","x":"2"}` + "\n"},
		{"tabs", "{format: csv, separator: tab}", "site\tflow\na,b\t\n\t1\n", `{"site":"a,b","flow":""}` + "\n" + `{"site":"","flow":"1"}` + "\n"},
		{"semicolons", "{format: csv, separator: ';'}", "site;flow\n1;2,5\n", `{"site":"1","flow":"2,5"}` + "\n"},
		{"comments", "{format: csv, comment: '#'}", "# a, b, c\n#\nsite,flow\n1,#2\n#x\n\"#3\",4\n", `{"site":"1","flow":"#2"}` + "\n" + `{"site":"#3","flow":"4"}` + "\n"},
		{"no comments unless declared", "{format: csv}", "site\n#1\n", `{"site":"#1"}` + "\n"},
		{"a column of nothing without a name", "{format: csv}", "site,flow,\n1,2,\n", `{"site":"1","flow":"2"}` + "\n"},
		{"lines of JSON", "{format: jsonl}", "{\"site\":\"01\" ,\"flow\":20.20}\r\n\n  \n{\"x\":[1, 9007199254740993]}", `{"site":"01","flow":20.20}` + "\n" + `{"x":[1,9007199254740993]}` + "\n"},
		{"lines with a row inside", "{format: jsonl, take: properties}", `{"id":1,"properties":{"site":"1"}}`, `{"site":"1"}` + "\n"},
		{"no lines", "{format: jsonl}", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			page, err := decode(inFormat(t, test.rows), test.body)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(page.Rows)); diff != "" {
				t.Error(diff)
			}
			if page.Count != strings.Count(test.want, "\n") || page.Bytes != int64(len(test.body)) || (page.Count == 0) != (len(page.Columns) == 0) {
				t.Errorf("page %+v", page)
			}
		})
	}
}

func TestWhatIsNoTableOrDamagedIsRefused(t *testing.T) {
	many := func(n int) string { return strings.TrimSuffix(strings.Repeat("c,", n), ",") }
	tests := []struct {
		name, rows, body string
		class            Class
		want             string
	}{
		{"empty", "{format: csv}", "", ClassTransient, "an empty body, not CSV"},
		{"white space", "{format: csv}", " \r\n\n", ClassTransient, "an empty body, not CSV"},
		{"only comments", "{format: csv, comment: '#'}", "# site\n", ClassTransient, "no header"},
		{"HTML", "{format: csv}", "\n<!DOCTYPE html><title>Down</title>", ClassTransient, "HTML, not CSV: Down"},
		{"XML", "{format: csv}", "<error/>", ClassTransient, `not CSV: no header with names of columns: "<error/>"`},
		{"JSON", "{format: csv}", `{"detail":"no"}`, ClassTransient, `not CSV`},
		{"text", "{format: csv}", "no data found\n", ClassTransient, "its header has no column that the definition declares"},
		{"too few values", "{format: csv}", "site,flow\n1,2\n\n3\n", ClassBadPage, "line 4 has 1 values, and the header 2"},
		{"too many values", "{format: csv}", "site,flow\n\"1\n\",2\n3,4,5\n", ClassBadPage, "line 4 has 3 values, and the header 2"},
		{"too many values at the end", "{format: csv}", "site,flow\n3,4,5", ClassBadPage, "line 2 has 3 values"},
		{"cut off in a line", "{format: csv}", "site,flow\n1,2\n3", ClassTransient, "CSV that is cut off after 15 bytes: line 3 has 1 values"},
		{"cut off in quotes", "{format: csv}", "site,flow\n1,\"2\n3,4\n", ClassTransient, "the value in quotes that begins in line 2 is not closed"},
		{"behind a quote", "{format: csv}", "site,flow\n\"1\"x,2\n", ClassBadPage, "line 2 has text behind a closing quote"},
		{"lone carriage returns", "{format: csv}", "site,flow\r1,2\r3,4\r", ClassBadPage, "line 1 has a carriage return"},
		{"a name twice", "{format: csv}", "site,flow,site\n", ClassBadPage, `the header names the column "site" twice`},
		{"a value without a name", "{format: csv}", "site,flow,\n1,2,3\n", ClassBadPage, "line 2 has a value in column 3, which the header does not name"},
		{"too many columns", "{format: csv}", "site," + many(1100) + "\n", ClassBadPage, "line 1 has more than 1024 values"},
		{"too many values by far", "{format: csv}", "site\n" + many(1_000_000), ClassBadPage, "line 2 has more than 1024 values"},
		{"not UTF-8", "{format: csv}", "site\n\xe9\n", ClassTransient, "it is not UTF-8, and its Content-Type declares no other charset"},
		{"a row too long", "{format: csv}", "site\n" + strings.Repeat("x", maxRowBytes) + "\n", ClassBadPage, "row 0 has"},
		{"lines, HTML", "{format: jsonl}", "<html>", ClassTransient, "HTML, not JSON lines"},
		{"lines, not JSON", "{format: jsonl}", "{\"site\":1}\nnope\n{}\n", ClassTransient, "not JSON lines: line 2:"},
		{"lines, cut off", "{format: jsonl}", "{\"site\":1}\n{\"site\":", ClassTransient, "not JSON lines: line 2 is cut off"},
		{"lines, two in one", "{format: jsonl}", "{\"site\":1}{\"site\":2}\n", ClassTransient, "line 1:"},
		{"lines, a document over several", "{format: jsonl}", "{\n\"site\":1}\n", ClassTransient, "line 1:"},
		{"lines, a list", "{format: jsonl}", "{\"site\":1}\n[1]\n", ClassBadPage, "row 1 is a list, not an object"},
		{"lines, deep", "{format: jsonl}", `{"a":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "}", ClassBadPage, "line 1: the JSON is nested deeper than 64"},
		{"JSON behind white space", "{format: json}", strings.Repeat(" ", 5000) + "x", ClassTransient, `not JSON: "x"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := decode(inFormat(t, test.rows), test.body)
			if classOf(err) != test.class || !strings.Contains(err.Error(), test.want) || len(err.Error()) > 1000 {
				t.Errorf("got %v\nwant %s: %s", err, test.class, test.want)
			}
		})
	}
}

func TestATablesColumnsFollowTheFields(t *testing.T) {
	const body = "site,x,Site Name,flow\n1,2,3,4\n"
	named := "      name: {type: text, from: \"$['Site Name']\"}\n"
	tests := []struct{ name, more, want string }{
		{"kept", "", `{"site":"1","x":"2","Site Name":"3","flow":"4"}`},
		{"dropped", "    unknown_fields: drop\n", `{"site":"1","flow":"4"}`},
		{"renamed", named, `{"site":"1","x":"2","flow":"4","name":"3"}`},
		{"renamed, the others dropped", named + "    unknown_fields: drop\n", `{"site":"1","flow":"4","name":"3"}`},
		{"over another column", "      x: {type: text, from: $.flow}\n", `{"site":"1","x":"4","Site Name":"3","flow":"4"}`},
		{"over another column, from one that is not there", "      x: {type: text, from: $.nothing}\n", `{"site":"1","x":null,"Site Name":"3","flow":"4"}`},
		{"from a column that is not there", "      y: {type: text, from: $.nothing}\n", `{"site":"1","x":"2","Site Name":"3","flow":"4"}`},
	}
	for _, test := range tests {
		page, err := decode(inFormat(t, "{format: csv}", test.more), body)
		if err != nil || string(page.Rows) != test.want+"\n" {
			t.Errorf("%s: got %s, %v, want %s", test.name, page.Rows, err, test.want)
		}
		var row map[string]any
		if json.Unmarshal(page.Rows, &row) == nil {
			if diff := cmp.Diff(slices.Sorted(maps.Keys(row)), slices.Sorted(slices.Values(page.Columns))); diff != "" {
				t.Errorf("%s: columns %s", test.name, diff)
			}
		}
	}
	_, err := decode(inFormat(t, "{format: csv}", "    unknown_fields: fail\n"), body)
	if classOf(err) != ClassBadPage || !strings.Contains(err.Error(), `has the column "x"`) {
		t.Errorf("got %v", err)
	}
}

func TestTheDeclaredCharsetIsRead(t *testing.T) {
	tests := []struct{ name, rows, contentType, body, want string }{
		{"none", "{format: csv}", "text/csv", "site\né\n", "é"},
		{"utf-8", "{format: csv}", "text/csv; charset=UTF-8", "site\né\n", "é"},
		{"latin 1", "{format: csv}", `text/csv; header=present; charset="ISO-8859-1"`, "site\n\xe9\xff\n", "éÿ"},
		{"latin 1 of bytes that are UTF-8 too", "{format: csv}", "text/csv; charset=iso-8859-1", "site\né\n", "Ã©"},
		{"windows", "{format: csv}", "text/csv;charset=windows-1252", "site\n\x80\x9f\x81\n", "€Ÿ\u0081"},
		{"a mark is stronger", "{format: csv}", "text/csv;charset=windows-1252", "\xef\xbb\xbfsite\né\n", "é"},
		{"another, and nothing but ASCII", "{format: csv}", "text/csv; charset=shift_jis", "site\ne\n", "e"},
		{"JSON is UTF-8", "{format: json}", "application/json;charset=ISO-8859-1", `[{"site":"é"}]`, "é"},
		{"JSON that is not", "{format: json}", "application/json;charset=ISO-8859-1", "[{\"site\":\"\xe9\"}]", "é"},
		{"JSON, whatever is said", "{format: json}", "application/json;charset=utf-16", `[{"site":"é"}]`, "é"},
		{"a header that is no type", "{format: csv}", ";;;", "site\né\n", "é"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			page, err := decode(inFormat(t, test.rows), test.body, "content-type", test.contentType)
			if want := fmt.Sprintf("{%q:%q}\n", "site", test.want); err != nil || string(page.Rows) != strings.ReplaceAll(want, `\u0081`, "\u0081") {
				t.Errorf("got %s, %v, want %s", page.Rows, err, want)
			}
		})
	}
	for contentType, want := range map[string]string{
		"text/csv; charset=utf-8":       "transient: not CSV: it is not UTF-8, and its Content-Type declares charset=utf-8",
		"text/csv; charset=iso-8859-15": `bad_page: the answer is declared as charset="iso-8859-15", which is not read`,
	} {
		_, err := decode(inFormat(t, "{format: csv}"), "site\n\xe9\n", "Content-Type", contentType)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", contentType, err, want)
		}
	}
}

func TestARequestSaysWhichFormatItAccepts(t *testing.T) {
	for rows, want := range map[string]string{
		"{format: json}": "application/json", "{format: geojson}": "application/json",
		"{format: csv}": "text/csv, */*;q=0.1", "{format: jsonl}": "application/x-ndjson, application/jsonl, */*;q=0.1",
	} {
		request, err := inFormat(t, rows).Request(nil)
		if err != nil || request.Header["Accept"] != want {
			t.Errorf("%s: %v, %v", rows, request.Header, err)
		}
	}
}

func TestRowsThatMakeNoSenseAreRefused(t *testing.T) {
	tests := []struct{ rows, more, want string }{
		{"{format: csv, at: '$.x[*]'}", "", "rows.at: is not used with format csv"},
		{"{format: csv, take: x}", "", "rows.take: is not used with format csv"},
		{"{format: jsonl, at: '$.x[*]'}", "", "rows.at: is not used with format jsonl"},
		{"{format: json, separator: ';'}", "", "rows.separator: is not used with format json"},
		{"{format: json, comment: '#'}", "", "rows.comment: is not used with format json"},
		{"{format: csv, separator: '::'}", "", `"::" is no separator; write one character such as ';', or the word tab`},
		{"{format: csv, separator: '\"'}", "", "is no separator"},
		{"{format: csv, comment: ','}", "", "is not one character that begins a line which is no row"},
		{"{format: csv, comment: ''}", "", "is not one character"},
		{"{format: csv}", "      deep: {type: text, from: $.a.b}\n", "fields.deep.from: $.a.b does not name one column of a table"},
		{"{format: csv}", "    paging: {style: link, next: $.next}\n", "paging.next: a path needs a JSON body, and rows.format is csv"},
		{"{format: jsonl}", "    paging: {truncated_when: [{at: $.cut, is: 'true'}]}\n", "paging.truncated_when[0].at: a path needs a JSON body, and rows.format is jsonl"},
	}
	for _, test := range tests {
		_, err := Parse("readings.yaml", []byte(formatText(test.rows, test.more)))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v\nwant %s", test.rows, err, test.want)
		}
	}
}

func TestEveryTableThatIsWrittenIsReadAsItWas(t *testing.T) {
	c := inFormat(t, "{format: csv}")
	value := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("a,\"\n #;"))))
	rapid.Check(t, func(t *rapid.T) {
		table := rapid.SliceOf(rapid.SliceOfN(value, 3, 3)).Draw(t, "table")
		var text strings.Builder
		w := csv.NewWriter(&text)
		if err := w.WriteAll(append([][]string{{"site", "flow", "x"}}, table...)); err != nil {
			t.Fatal(err)
		}
		body := text.String()
		page, err := c.DecodePage(Walk{}, readingsURL, nil, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		var got [][]string
		for line := range strings.Lines(string(page.Rows)) {
			var row struct{ Site, Flow, X string }
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			got = append(got, []string{row.Site, row.Flow, row.X})
		}
		if len(got) != len(table) || len(table) > 0 && !cmp.Equal(got, table) {
			t.Fatalf("got %q, want %q", got, table)
		}
	})
}

// decodesOrRefuses is what holds of every body.
func decodesOrRefuses(t *testing.T, c *Collection, body []byte) {
	t.Helper()
	page, err := c.DecodePage(Walk{}, readingsURL, map[string][]string{"Content-Type": {"text/plain"}}, body)
	if err != nil {
		var response *ResponseError
		if !errors.As(err, &response) || len(response.Message) > 2000 {
			t.Errorf("error %T with %d bytes", err, len(err.Error()))
		}
		return
	}
	if lines := strings.Count(string(page.Rows), "\n"); lines != page.Count {
		t.Errorf("%d lines for %d rows", lines, page.Count)
	}
	for line := range strings.Lines(string(page.Rows)) {
		if !json.Valid([]byte(line)) {
			t.Errorf("%q is not JSON", line)
		}
	}
}

func FuzzATableIsReadOrRefused(f *testing.F) {
	for _, body := range []string{
		"site,flow\r\n1,\"a\"\"b\n\"\r\n", "\xef\xbb\xbfsite\n\n\x00\n", "site,flow\n1", "site,site\n", "#\nsite,\n1,\n", "site;flow\n\"1\"x;2", "site\r1\r", "<html>", "site\n\"",
	} {
		f.Add([]byte(body))
	}
	plain, marked := inFormat(f, "{format: csv}"), inFormat(f, "{format: csv, separator: ';', comment: '#'}")
	f.Fuzz(func(t *testing.T, body []byte) {
		decodesOrRefuses(t, plain, body)
		decodesOrRefuses(t, marked, body)
	})
}

func FuzzLinesOfJSONAreReadOrRefused(f *testing.F) {
	for _, body := range []string{"{\"site\":1}\n{\"a\":{\"b\":[1, 2]},\"a\":null}", "\n\n[1]\n", "{}\r\n{", "{\"\\ud800\":\"\\u0000\"}\n", "null", "\xef\xbb\xbf{}"} {
		f.Add([]byte(body))
	}
	c := inFormat(f, "{format: jsonl}")
	f.Fuzz(func(t *testing.T, body []byte) { decodesOrRefuses(t, c, body) })
}

func BenchmarkDecodePageOfAHundredThousandLinesOfATable(b *testing.B) {
	var body strings.Builder
	body.WriteString("site,year_month,irr_mgd\n")
	for i := range 100_000 {
		fmt.Fprintf(&body, "%012d,2020-%02d,%d.25\n", i/12, i%12+1, i)
	}
	data := []byte(body.String())
	c := inFormat(b, "{format: csv}")
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.DecodePage(Walk{}, readingsURL, nil, data); err != nil {
			b.Fatal(err)
		}
	}
}

func TestAMemberIsNoStandInForAPathThatLeadsNowhere(t *testing.T) {
	const fields = "      name: {type: text, from: $.about.name}\n"
	tests := []struct{ rows, body, want string }{
		{"{format: json}", `[{"site":"1","name":"x","about":{"name":"y"}},{"site":"2","name":"x","about":{}},{"site":"3","name":"x"},{"site":"4"}]`, `{"site":"1","name":"y","about":{"name":"y"}}
{"site":"2","name":null,"about":{}}
{"site":"3","name":null}
{"site":"4"}
`},
		{"{format: geojson}", `{"features":[{"about":{"name":"y"},"properties":{"name":"x","site":"1"}},{"properties":{"name":"x","site":"2"}},{"properties":{"site":"3"}}]}`, `{"name":"y","site":"1"}
{"name":null,"site":"2"}
{"site":"3"}
`},
	}
	for _, test := range tests {
		page, err := decode(inFormat(t, test.rows, fields), test.body)
		if err != nil || string(page.Rows) != test.want {
			t.Errorf("%s: got %s, %v, want %s", test.rows, page.Rows, err, test.want)
		}
	}
}
