package service

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// plannerCase is a vector of the recorded client's plans, as far as it tells of a request.
type plannerCase struct {
	ID, Builder string
	Args        [][2]json.RawMessage
	Expect      *struct {
		Total        int
		Chunks       []map[string]json.RawMessage
		FirstRequest struct {
			Method    string
			URL, Body json.RawMessage
		} `json:"first_request"`
	}
}

func decodeNumbers(t *testing.T, data []byte, into any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		t.Fatal(err)
	}
}

// expanded gives the texts of a value that may be compact; list tells whether it is one value or several, number whether it has a
// number.
func expanded(t *testing.T, data json.RawMessage) (values []string, list, number bool) {
	t.Helper()
	var value any
	decodeNumbers(t, data, &value)
	switch value := value.(type) {
	case nil:
		return []string{""}, false, false
	case json.Number:
		return []string{value.String()}, false, true
	case []any:
		for _, one := range value {
			text, err := json.Marshal(one)
			if err != nil {
				t.Fatal(err)
			}
			more, _, isNumber := expanded(t, text)
			values, number = append(values, more...), number || isNumber
		}
		return values, true, number
	case map[string]any:
		values, list = expandCompact(t, data)
		return values, list, false
	}
	return []string{fmt.Sprint(value)}, false, false
}

func expandCompact(t *testing.T, data json.RawMessage) (values []string, list bool) {
	t.Helper()
	var compact struct {
		Seq *struct {
			Prefix, Suffix            string
			Width, Start, Step, Count int
		} `json:"$seq"`
		Repeat *struct {
			Text  string
			Count int
		} `json:"$repeat"`
		Join *struct {
			Sep   string
			Items json.RawMessage
		} `json:"$join"`
	}
	decodeNumbers(t, data, &compact)
	switch {
	case compact.Seq != nil:
		for i := range compact.Seq.Count {
			values = append(values, fmt.Sprintf("%s%0*d%s", compact.Seq.Prefix, compact.Seq.Width, compact.Seq.Start+i*compact.Seq.Step, compact.Seq.Suffix))
		}
		return values, true
	case compact.Repeat != nil:
		return []string{strings.Repeat(compact.Repeat.Text, compact.Repeat.Count)}, false
	}
	items, _, _ := expanded(t, compact.Join.Items)
	return []string{strings.Join(items, compact.Join.Sep)}, false
}

// builderDefinition declares the arguments of a case as the shipped definitions declare such parameters.
func builderDefinition(t *testing.T, test plannerCase) (c *Collection, values Values) {
	t.Helper()
	times := []string{"datetime", "last_modified", "begin", "begin_utc", "end", "end_utc", "time"}
	values, limit := Values{}, "50000"
	var collection string
	var params strings.Builder
	for _, arg := range test.Args {
		var name string
		decodeCase(t, arg[0], &name)
		list, _, number := expanded(t, arg[1])
		rule := "{type: text, many: comma}"
		switch {
		case name == "collection":
			collection = list[0]
			continue
		case name == "limit":
			if limit = list[0]; len(limit) > 4 {
				limit = "50000"
			}
			continue
		case name == "skip_geometry":
			rule = "{type: bool, send: {skipGeometry: '{}'}}"
		case name == "filter_lang":
			rule = "{type: text, send: {filter-lang: '{}'}}"
		case name == "filter":
			rule = "{type: cql2_text}"
		case name == "properties":
			rule = "{type: columns, many: comma, omit: [id]}"
		case slices.Contains(times, name):
			rule = "{type: interval, of: [timestamp, duration]}"
			if collection == "daily" && name != "last_modified" {
				rule = "{type: interval, of: [date, duration]}"
			} else if list = inZone(list); strings.Contains(list[0], "/") {
				list = strings.Split(list[0], "/")
			}
		case collection == "monitoring-locations" && name != "bbox" && number:
			rule = "{type: float64, many: cql2_in}"
		case collection == "monitoring-locations" && name != "bbox":
			rule = "{type: text, many: cql2_in}"
		}
		values[name] = list
		fmt.Fprintf(&params, "      %s: %s\n", name, rule)
	}
	method := "GET"
	if collection == "monitoring-locations" {
		method = "POST_IF_MANY"
	}
	base := map[string]string{
		"waterdata": "https://api.waterdata.usgs.gov/ogcapi/v0", "ngwmn": "https://api.waterdata.usgs.gov/ngwmn/ogcapi",
	}[test.Builder]
	if method == "POST_IF_MANY" && !strings.Contains(params.String(), "cql2_in") {
		method = "GET"
	}
	d, err := Parse(test.ID, fmt.Appendf(nil, `schema: service/v1
name: usgs
base_url: %s
limits: {page_rows: %s}
collections:
  data:
    request: {method: %s, path: /collections/%s/items, query: {limit: '{page_rows}'}}
    params:
%s    rows: {format: json}
    fields: {id: {type: text}}
`, base, limit, method, collection, params.String()))
	if err != nil {
		t.Fatal(err)
	}
	return d.Collections[0], values
}

// sameText compares with a text, or with the digest of a long one.
func sameText(t *testing.T, want json.RawMessage, got string) bool {
	t.Helper()
	var digest struct {
		Length int
		SHA256 string
	}
	if len(want) == 0 {
		return got == ""
	}
	if want[0] == '{' {
		decodeCase(t, want, &digest)
		sum := sha256.Sum256([]byte(got))
		return digest.Length == len(got) && digest.SHA256 == hex.EncodeToString(sum[:])
	}
	var text string
	decodeCase(t, want, &text)
	return text == got
}

func TestFirstRequestsSayWhatThoseOfTheRecordedClientSay(t *testing.T) {
	var file struct{ Cases []plannerCase }
	data, err := os.ReadFile("testdata/planner.json")
	if err != nil {
		t.Fatal(err)
	}
	decodeCase(t, data, &file)
	compared := 0
	for _, test := range file.Cases {
		if test.Builder == "plain" || test.Expect == nil || test.Expect.Total > 1 && test.Expect.Chunks == nil {
			continue
		}
		t.Run(test.ID, func(t *testing.T) {
			c, values := builderDefinition(t, test)
			if test.Expect.Total > 1 {
				for name, value := range test.Expect.Chunks[0] {
					values[name], _, _ = expanded(t, value)
				}
			}
			request, err := c.Request(values)
			if err != nil {
				t.Fatal(err)
			}
			want := test.Expect.FirstRequest
			if request.Method != want.Method || !sameText(t, want.Body, string(request.Body)) {
				t.Errorf("got %s %.300s\nwant %s %.300s", request.Method, request.Body, want.Method, want.Body)
			}
			if want.URL[0] == '{' {
				return
			}
			var text string
			decodeCase(t, want.URL, &text)
			compareURLs(t, text, request.URL)
			compared++
		})
	}
	if compared < 30 {
		t.Errorf("only %d requests were compared", compared)
	}
}

// compareURLs compares what two URLs say: the order of parameters is ours, and so is the comma that we do not escape.
func compareURLs(t *testing.T, want, got string) {
	t.Helper()
	wantURL, err := url.Parse(want)
	if err != nil {
		t.Fatal(err)
	}
	gotURL, err := url.Parse(got)
	if err != nil {
		t.Fatal(err)
	}
	query := wantURL.Query()
	for name, values := range query {
		// An empty value is the client's defect: it could not read a time that we can.
		if values[0] == "" {
			query.Set(name, gotURL.Query().Get(name))
		}
	}
	if diff := cmp.Diff(query, gotURL.Query()); diff != "" || wantURL.Host+wantURL.Path != gotURL.Host+gotURL.Path {
		t.Errorf("%s\n%s", got, diff)
	}
}
