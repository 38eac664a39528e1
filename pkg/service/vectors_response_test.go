package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// clientCase is one recorded case of an existing client of these services.
type clientCase struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	In   struct {
		URL         string          `json:"url"`
		Link        *string         `json:"link"`
		ServiceHost string          `json:"service_host"`
		Text        string          `json:"text"`
		Body        json.RawMessage `json:"body"`
		Geometry    bool            `json:"include_geometry"`
	} `json:"in"`
	Expect struct {
		Error   string   `json:"error"`
		Value   *string  `json:"value"`
		SendKey bool     `json:"send_key"`
		Columns []string `json:"columns"`
		Rows    [][]any  `json:"rows"`
		Next    *string  `json:"next"`
	} `json:"expect"`
}

func clientCases(t *testing.T, file, kind string) []clientCase {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var set struct {
		Cases []json.RawMessage `json:"cases"`
	}
	if err := json.Unmarshal(data, &set); err != nil {
		t.Fatal(err)
	}
	var cases []clientCase
	for _, raw := range set.Cases {
		var head struct{ Kind string }
		if err := json.Unmarshal(raw, &head); err != nil {
			t.Fatal(err)
		}
		if head.Kind != kind {
			continue // of another form
		}
		var c clientCase
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		t.Fatalf("%s has no case of kind %s", file, kind)
	}
	return cases
}

func waterUse(t testing.TB) *Definition {
	t.Helper()
	return shipped(t, "usgs-nwdc", "water-use").Definition()
}

func TestNextLinksOfWaterUseAreThoseOfTheRecordedClient(t *testing.T) {
	for _, c := range clientCases(t, "adapters.json", "nwdc_next") {
		t.Run(c.ID, func(t *testing.T) {
			d := waterUse(t)
			if c.In.ServiceHost != "api.water.usgs.gov" { // the base leads elsewhere: a mirror
				scheme, rest, _ := strings.Cut(c.In.URL, "://")
				host, _, _ := strings.Cut(rest, "/")
				if err := d.Rebase(scheme + "://" + host); err != nil {
					t.Fatal(err)
				}
			}
			header := map[string][]string{}
			if c.In.Link != nil {
				header["Link"] = []string{*c.In.Link}
			}
			page, err := d.Collections[0].DecodePage(Walk{}, c.In.URL, header, []byte("huc12_id\n010900020502\n"))
			switch {
			case c.Expect.Error != "" && (classOf(err) == ClassBadLink || classOf(err) == ClassBadPage):
			case c.Expect.Error != "" || err != nil:
				t.Errorf("next %q, %v, want error %q", page.Next, err, c.Expect.Error)
			case c.Expect.Value == nil && page.Next != "", c.Expect.Value != nil && page.Next != *c.Expect.Value:
				t.Errorf("next %q, want %v", page.Next, c.Expect.Value)
			}
		})
	}
}

func classOf(err error) Class {
	if response, ok := errors.AsType[*ResponseError](err); ok {
		return response.Class
	}
	return ""
}

// clientNulls are the texts that the recorded client takes for a missing value; we take those that a field declares.
var clientNulls = []string{
	"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN",
	"None", "n/a", "nan", "null",
}

func TestTablesOfWaterUseAreThoseOfTheRecordedClient(t *testing.T) {
	for _, c := range clientCases(t, "adapters.json", "nwdc_csv") {
		t.Run(c.ID, func(t *testing.T) {
			page, err := waterUse(t).Collections[0].DecodePage(Walk{}, "https://api.water.usgs.gov/nwaa-data/data", nil, []byte(c.In.Text))
			if err != nil && strings.Contains(err.Error(), "values, and the header") && c.Expect.Error == "" {
				t.Skip("the client fills up a line with too few values; we refuse it, because it may be cut off")
			}
			if (err != nil) != (c.Expect.Error != "") {
				t.Fatalf("error %v, want %q", err, c.Expect.Error)
			}
			if err == nil {
				sameRows(t, page, c, func(row map[string]any, column string) any { return row[column] })
			}
		})
	}
}

// sameRows compares rows with the recorded table: our values are the server's texts, the client has read types from them.
func sameRows(t *testing.T, page Page, c clientCase, cell func(row map[string]any, column string) any) {
	t.Helper()
	lines := slices.Collect(strings.Lines(string(page.Rows)))
	if len(lines) != len(c.Expect.Rows) || page.Count != len(lines) {
		t.Fatalf("%d rows in %d lines, want %d", page.Count, len(lines), len(c.Expect.Rows))
	}
	for i, want := range c.Expect.Rows {
		var row map[string]any
		if err := json.Unmarshal([]byte(lines[i]), &row); err != nil {
			t.Fatal(err)
		}
		for j, column := range c.Expect.Columns {
			if got := cell(row, column); !sameCell(got, want[j]) {
				t.Errorf("row %d, column %s is %#v, want %#v", i, column, got, want[j])
			}
		}
	}
}

func sameCell(got, want any) bool {
	text, isText := got.(string)
	switch want := want.(type) {
	case nil:
		return got == nil || isText && slices.Contains(clientNulls, text)
	case float64:
		if isText {
			number, err := strconv.ParseFloat(text, 64)
			return err == nil && number == want
		}
	case bool:
		if isText {
			return strings.EqualFold(text, strconv.FormatBool(want))
		}
	}
	return fmt.Sprint(got) == fmt.Sprint(want)
}

func TestTheKeyGoesWhereTheRecordedClientSendsIt(t *testing.T) {
	d := daily(t).Definition()
	for _, c := range clientCases(t, "adapters.json", "api_key_scope") {
		if got := len(d.CredentialsFor(c.In.URL)) > 0; got != c.Expect.SendKey {
			t.Errorf("%s: %s: key sent: %t, want %t", c.ID, c.In.URL, got, c.Expect.SendKey)
		}
	}
}

const featuresDefinition = `schema: service/v1
name: water-data
base_url: https://api.waterdata.usgs.gov/ogcapi/v0
collections:
  features:
    request: {path: /items}
    paging: {style: link, next: '$.links[?rel=next].href'}
    rows: {format: geojson}
    fields:
      id: {type: text, from: '$.id'}
      geometry: {type: geometry, from: '$.geometry'}
`

func TestPagesOfFeaturesAreThoseOfTheRecordedClient(t *testing.T) {
	d, err := Parse("water-data.yaml", []byte(featuresDefinition))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range clientCases(t, "combine.json", "page") {
		t.Run(c.ID, func(t *testing.T) {
			var body struct {
				Features *[]json.RawMessage
				Links    []struct{ Rel string }
			}
			isTyped := json.Unmarshal(c.In.Body, &body) == nil
			page, err := d.Collections[0].DecodePage(Walk{}, c.In.URL, nil, c.In.Body)
			switch {
			case isTyped && body.Features == nil && !strings.Contains(string(c.In.Body), `"features"`):
				if classOf(err) != ClassBadPage {
					t.Errorf("the client takes an answer without features for an empty page; got %v, want it refused", err)
				}
				return
			case c.Expect.Error != "":
				if err == nil {
					t.Errorf("next %q, want an error", page.Next)
				}
				return
			case err != nil:
				t.Fatal(err)
			}
			sameRows(t, page, c, featureCell)
			want := ""
			if c.Expect.Next != nil {
				want = *c.Expect.Next
			}
			switch {
			case page.Count == 0 && page.Next != "" && want == "":
				t.Log("the client takes an empty page for the last one (a defect); we follow its link")
			case strings.HasPrefix(want, "http://"):
				// The client goes on in the clear. We do not, and then the port is the host's own.
				if secure, err := url.Parse(want); err != nil || page.Next != "https://"+secure.Hostname()+secure.RequestURI() {
					t.Errorf("next %q, want %q by https", page.Next, want)
				}
			case page.Next != want:
				t.Errorf("next %q, want %q", page.Next, want)
			}
		})
	}
}

// featureCell finds a cell as the client names it: members of nested objects with an underscore between, the coordinates of
// a geometry.
func featureCell(row map[string]any, column string) any {
	if geometry, ok := row["geometry"].(map[string]any); ok && column == "geometry" {
		return geometry["coordinates"]
	}
	if value, ok := row[column]; ok {
		return value
	}
	for _, name := range slices.Sorted(maps.Keys(row)) {
		rest, cut := strings.CutPrefix(column, name+"_")
		if inner, ok := row[name].(map[string]any); ok && cut {
			return featureCell(inner, rest)
		}
	}
	return nil
}
