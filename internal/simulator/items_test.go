package simulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// cqlType is the content type of a CQL2-JSON body.
const cqlType = "application/query-cql-json"

// postCQL sends a CQL2-JSON document.
func postCQL(t *testing.T, h http.Handler, target, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(body))
	r.Header.Set("Content-Type", cqlType)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// walkPost follows next links with the same body.
func walkPost(t *testing.T, h http.Handler, target, body string) (features []string, pages int) {
	t.Helper()
	for target != "" {
		w := postCQL(t, h, target, body)
		if w.Code != http.StatusOK {
			t.Fatalf("POST %s: %d %s", target, w.Code, w.Body)
		}
		p := readPage(t, w.Body.Bytes())
		for _, f := range p.Features {
			features = append(features, string(f))
		}
		if pages++; pages > 1_000 {
			t.Fatal("the next links never end")
		}
		target = p.link("next")
	}
	return features, pages
}

type anyFeature struct {
	Type       string
	ID         json.RawMessage
	Geometry   json.RawMessage
	Properties map[string]json.RawMessage
}

func readAny(t *testing.T, text string) anyFeature {
	t.Helper()
	var f anyFeature
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatalf("read feature: %v in %s", err, text)
	}
	return f
}

// property is a text property of a feature, or its JSON.
func property(t *testing.T, feature, name string) string {
	t.Helper()
	raw := readAny(t, feature).Properties[name]
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// forms are what the values of each type look like.
func forms() map[ColumnType]*regexp.Regexp {
	return map[ColumnType]*regexp.Regexp{
		TypeText:      regexp.MustCompile(`^"(.|\n)*"$`),
		TypeDecimal:   regexp.MustCompile(`^"([0-9]+(\.[0-9]+)?)?"$`),
		typeOddNumber: regexp.MustCompile(`^"([0-9]+(\.[0-9]+)?|Unknown)"$`),
		TypeNumber:    regexp.MustCompile(`^[0-9]+\.[0-9]+$`),
		TypeInteger:   regexp.MustCompile(`^[0-9]+$`),
		TypeDate:      regexp.MustCompile(`^"\d{4}-\d\d-\d\d"$`),
		TypeTimestamp: regexp.MustCompile(`^"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)"$`),
		TypeLocalTime: regexp.MustCompile(`^"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}"$`),
		TypeList:      regexp.MustCompile(`^\[".+"\]$`),
		TypeJSON:      regexp.MustCompile(`^\[.*\]$`),
	}
}

func TestEveryCollectionHasRowsWithExactlyItsColumns(t *testing.T) {
	t.Parallel()
	for _, col := range append(WaterDataCollections(), NGWMNCollections()...) {
		t.Run(col.Service+" "+col.Name, func(t *testing.T) {
			t.Parallel()
			s := New(Config{PageRows: 500, Values: Values{Sites: 60, First: "2020-01-01", Last: "2020-02-10", Step: 24 * time.Hour, HydrologicUnits: 700}})
			base := collectionsPath
			if col.Service == serviceNGWMN {
				base = ngwmnCollectionsPath
			}
			target := base + col.Name + "/items?limit=50000&f=json"
			var rows []string
			for next := target; next != ""; {
				w := ask(t, s, next)
				if w.Code != http.StatusOK {
					t.Fatalf("%s: %d %s", next, w.Code, w.Body)
				}
				if has := strings.Contains(w.Body.String(), `"numberReturned"`); has == (col.Service == serviceNGWMN) {
					t.Fatalf("numberReturned is there: %v", has)
				}
				p := readPage(t, w.Body.Bytes())
				for _, f := range p.Features {
					rows = append(rows, string(f))
				}
				next = p.link("next")
			}
			if len(rows) < 2 || col.Name == "hydrologic-unit-codes" && len(rows) != 700 {
				t.Fatalf("%d rows", len(rows))
			}
			checkRows(t, col, rows)
		})
	}
}

func checkRows(t *testing.T, col Collection, rows []string) {
	t.Helper()
	want := names(col.Columns)
	if col.Service == serviceNGWMN {
		for i := range want {
			want[i] = wireName(want[i])
		}
	}
	form := forms()
	ids, filled, located := map[string]bool{}, map[string]bool{}, false
	for _, text := range rows {
		f := readAny(t, text)
		if ids[string(f.ID)] {
			t.Fatalf("id %s comes twice", f.ID)
		}
		ids[string(f.ID)] = true
		if numeric := f.ID[0] != '"'; numeric != col.NumericID {
			t.Fatalf("id is %s", f.ID)
		}
		located = located || strings.HasPrefix(string(f.Geometry), `{"type":"Point"`)
		if hasMember := strings.Contains(text, `"geometry"`); hasMember != (col.Geometry || col.Service == serviceWaterData) {
			t.Fatalf("geometry is there: %v in %s", hasMember, text)
		}
		if len(f.Properties) != len(want) {
			t.Fatalf("%d properties, must be %d: %s", len(f.Properties), len(want), text)
		}
		for i, name := range want {
			raw, has := f.Properties[name]
			if !has {
				t.Fatalf("%s is missing in %s", name, text)
			}
			if string(raw) == "null" {
				continue
			}
			filled[name] = true
			if !form[col.Columns[i].Type].Match(raw) {
				t.Fatalf("%s is %s, must be %s", name, raw, col.Columns[i].Type)
			}
		}
	}
	if located != col.Geometry {
		t.Errorf("has places: %v", located)
	}
	for _, name := range want {
		always := []string{
			"sublocation_identifier", "web_description", "basin_code", "contributing_drainage_area", "hole_constructed_depth", "qwWellType",
			"statistical_basis", "time_basis", "weight_basis", "particle_size_basis", "sample_fraction", "temperature_basis",
		}
		if !filled[name] && !slices.Contains(always, name) {
			t.Errorf("%s is null in every row", name)
		}
	}
}

func TestTheGeneralPathHasTheRowsOfTheFastOne(t *testing.T) {
	t.Parallel()
	s := New(Config{PageRows: 37, Values: Values{First: "1969-12-01", Last: "1970-02-10", GapShare: 0.2, NoDataShare: 0.3}})
	query := DailyPath + "?limit=50000&parameter_code=00060,00065&monitoring_location_id=USGS-01,USGS-02,USGS-03,USGS-04"
	fast, _ := walk(t, s, query)
	filtered, _ := walk(t, s, query+"&filter="+url.QueryEscape("parameter_code IN ('00060','00065')"))
	posted, pages := walkPost(t, s, DailyPath+"?limit=50000&parameter_code=00060,00065",
		`{"op":"in","args":[{"property":"monitoring_location_id"},["USGS-04","USGS-01","USGS-02","USGS-03"]]}`)
	if len(fast) == 0 || !slices.Equal(fast, filtered) || !slices.Equal(fast, posted) || pages < 3 {
		t.Errorf("%d rows, filtered %d, posted %d in %d pages", len(fast), len(filtered), len(posted), pages)
	}
}

func TestManyLocationsGoByPostOnly(t *testing.T) {
	t.Parallel()
	s := New(Config{PageRows: 2})
	items := collectionsPath + "monitoring-locations/items?limit=50000"
	w := ask(t, s, items+"&id=USGS-1%2CUSGS-2")
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "POST") {
		t.Errorf("a comma list: %d %s", w.Code, w.Body)
	}
	one, _ := walk(t, s, items+"&id=USGS-1")
	if len(one) != 1 || property(t, one[0], "id") != "USGS-1" {
		t.Errorf("one site: %s", one)
	}
	body := `{"op":"and","args":[{"op":"in","args":[{"property":"id"},["USGS-1","USGS-2","USGS-3","USGS-4","USGS-5"]]}]}`
	many, pages := walkPost(t, s, items, body)
	if len(many) != 5 || pages != 3 {
		t.Errorf("%d sites in %d pages", len(many), pages)
	}
	next := readPage(t, postCQL(t, s, items, body).Body.Bytes()).link("next")
	if w := ask(t, s, next); w.Code != http.StatusBadRequest {
		t.Errorf("a next link without its body: %d", w.Code)
	}
	if w := postCQL(t, s, next, strings.Replace(body, "USGS-5", "USGS-6", 1)); w.Code != http.StatusBadRequest {
		t.Errorf("a next link with another body: %d", w.Code)
	}
	state := property(t, many[0], "state_name")
	narrowed, _ := walkPost(t, s, items+"&state_name="+url.QueryEscape(state), body)
	for _, f := range narrowed {
		if property(t, f, "state_name") != state {
			t.Errorf("%s is not in %s", f, state)
		}
	}
	if len(narrowed) == 0 || len(narrowed) == 5 {
		t.Errorf("%d sites in %s", len(narrowed), state)
	}
}

func TestBodiesAreChecked(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	items := collectionsPath + "monitoring-locations/items"
	for body, want := range map[string]int{
		"":   400,
		"{}": 400,
		"[]": 400,
		`{"op":"near","args":[{"property":"id"},"USGS-1"]}`:                                           400,
		`{"op":"in","args":[{"property":"id"},"USGS-1"]}`:                                             400,
		`{"op":"in","args":["id",["USGS-1"]]}`:                                                        400,
		`{"op":"=","args":[{"property":"colour"},"red"]}`:                                             400,
		`{"op":"=","args":[{"property":"id"},5]}`:                                                     500,
		`{"op":"not","args":[{"op":"=","args":[{"property":"id"},"USGS-1"]}]}`:                        200,
		`{"op":"or","args":[{"op":"isNull","args":[{"property":"id"}]}]}`:                             200,
		`{"op":"between","args":[{"property":"state_name"},"M","N"]}`:                                 200,
		`{"op":"like","args":[{"property":"state_name"},"New%"]}`:                                     200,
		strings.Repeat(`{"op":"not","args":[`, 200) + strings.Repeat(`]}`, 200):                       400,
		`{"op":"and","args":[{"op":"in","args":[{"property":"state_name"},["Wisconsin","Nevada"]]}]}`: 200,
	} {
		if w := postCQL(t, s, items, body); w.Code != want {
			t.Errorf("%.80s: %d, must be %d: %.200s", body, w.Code, want, w.Body)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, items, strings.NewReader(`{"op":"isNull","args":[{"property":"id"}]}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest {
		t.Errorf("another content type: %d", w.Code)
	}
}

func TestLargeBodiesAreRefused(t *testing.T) {
	t.Parallel()
	s := New(Config{BodyBytes: 2_000, FirewallBytes: 1_000})
	items := collectionsPath + "monitoring-locations/items"
	body := func(n int) string {
		ids := `"` + strings.Join(slices.Repeat([]string{"USGS-01234567"}, n), `","`) + `"`
		return `{"op":"in","args":[{"property":"id"},[` + ids + `]]}`
	}
	for n, want := range map[int]int{10: 200, 100: 403, 200: 413} {
		w := postCQL(t, s, items, body(n))
		if w.Code != want || want == 403 && w.Header().Get("Content-Type") != "text/html" {
			t.Errorf("%d ids: %d %s", n, w.Code, w.Header().Get("Content-Type"))
		}
	}
}

func TestFiltersInTextSelectRows(t *testing.T) {
	t.Parallel()
	s := New(Config{Values: Values{First: "2024-01-01", Last: "2024-01-31"}})
	count := func(filter string) int {
		target := DailyPath + "?limit=50000&filter=" + url.QueryEscape(filter)
		rows, _ := walk(t, s, target)
		return len(rows)
	}
	for filter, want := range map[string]int{
		"monitoring_location_id = 'USGS-1'":                                                                                                             31,
		"monitoring_location_id = 'USGS-1' OR monitoring_location_id = 'USGS-2'":                                                                        62,
		"monitoring_location_id IN ('USGS-1','USGS-2')  or  monitoring_location_id='X-9'":                                                               93,
		"monitoring_location_id='USGS-1' AND time >= '2024-01-30'":                                                                                      2,
		"(monitoring_location_id='USGS-1' AND time < '2024-01-02') OR (monitoring_location_id='USGS-2' AND time BETWEEN '2024-01-05' AND '2024-01-06')": 3,
		"monitoring_location_id='USGS-1' AND NOT time > '2024-01-02'":                                                                                   2,
		"monitoring_location_id='USGS-1' AND \"time\" <> '2024-01-02'":                                                                                  30,
		"monitoring_location_id='USGS-1' AND time LIKE '%-1_'":                                                                                          10,
		"monitoring_location_id='USGS-1' AND time NOT IN ('2024-01-01')":                                                                                30,
		"monitoring_location_id='USGS-1' AND value IS NULL":                                                                                             0,
		"monitoring_location_id='USGS-1' AND value IS NOT NULL":                                                                                         31,
		"monitoring_location_id='O''Brien' OR monitoring_location_id='not a site'":                                                                      0,
		"monitoring_location_id='USGS-1' AND (qualifier = 'e' OR qualifier IS NULL)":                                                                    31,
		"monitoring_location_id='USGS-1' AND (state_name = 'Nowhere' OR state_code IS NOT NULL AND time = '2024-01-03')":                                1,
	} {
		if n := count(filter); n != want {
			t.Errorf("%s: %d rows, must be %d", filter, n, want)
		}
	}
	for filter, want := range map[string]int{
		"value > 20": 500, "value IN (1, 2)": 500, "20 < value": 500, "value BETWEEN '1' AND 2": 500,
		"value =": 500, "(value = '1'": 500, "value = '1": 500, "value = '1' OR": 500, "; DROP": 500, "value NEAR '1'": 500,
		strings.Repeat("(", 200): 500, "colour = 'red'": 400,
	} {
		if w := ask(t, s, DailyPath+"?filter="+url.QueryEscape(filter)); w.Code != want {
			t.Errorf("%.40s: %d, must be %d", filter, w.Code, want)
		}
	}
	if w := ask(t, s, DailyPath+"?filter-lang=sql&filter=x"); w.Code != http.StatusBadRequest {
		t.Errorf("another language: %d", w.Code)
	}
	rows, _ := walk(t, s, DailyPath+"?limit=50000&filter-lang=cql-json&filter="+url.QueryEscape(`{"op":"=","args":[{"property":"monitoring_location_id"},"USGS-1"]}`))
	if len(rows) != 31 {
		t.Errorf("cql-json: %d rows", len(rows))
	}
}

func TestContinuousValuesAreLimitedInTime(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	items := collectionsPath + "continuous/items?limit=50000&monitoring_location_id=USGS-1&parameter_code=00060"
	rows, _ := walk(t, s, items)
	if len(rows) != 366*4 || property(t, rows[0], "time") != "2024-01-01T00:00:00+00:00" {
		t.Errorf("without a time: %d rows from %s", len(rows), rows[0])
	}
	for times, want := range map[string]int{
		"2020-01-01T00:00:00Z/2022-12-31T23:59:59Z": 200,
		"2020-01-01T00:00:00Z/2023-01-02T00:00:00Z": 400,
		"../2020-01-01T00:00:00Z":                   400,
		"2023-01-01T00:00:00Z/..":                   200,
		"P1M":                                       200,
		"P4Y":                                       400,
		"2024-02-30":                                400,
		"2024-01-01T12:30Z":                         400,
	} {
		if w := ask(t, s, items+"&time="+url.QueryEscape(times)); w.Code != want {
			t.Errorf("%s: %d, must be %d", times, w.Code, want)
		}
	}
	day, _ := walk(t, s, items+"&time=2024-03-01T06:00:00Z/2024-03-01T18:00:00Z")
	if len(day) != 3 || property(t, day[0], "time") != "2024-03-01T06:00:00+00:00" || property(t, day[2], "time") != "2024-03-01T18:00:00+00:00" {
		t.Errorf("both ends belong to an interval: %s", day)
	}
	fine := New(Config{Values: Values{Step: 15 * time.Minute}})
	hour, _ := walk(t, fine, items+"&time=2024-03-01T06:00:00Z/2024-03-01T06:59:59Z")
	if len(hour) != 4 {
		t.Errorf("an hour has %d rows", len(hour))
	}
}

func TestWindowsOfContinuousValuesMakeTheWhole(t *testing.T) {
	t.Parallel()
	s := New(Config{PageRows: 1_000, Values: Values{GapShare: 0.1}})
	items := collectionsPath + "continuous/items?limit=50000&monitoring_location_id=USGS-1,USGS-2&time="
	whole, _ := walk(t, s, items+"2021-01-01T00:00:00Z/2022-12-31T23:59:59Z")
	var parts []string
	for _, times := range []string{"2021-01-01T00:00:00Z/2021-12-31T23:59:59Z", "2022-01-01T00:00:00Z/2022-12-31T23:59:59Z"} {
		rows, _ := walk(t, s, items+times)
		parts = append(parts, rows...)
	}
	slices.Sort(whole)
	slices.Sort(parts)
	if len(whole) == 0 || !slices.Equal(whole, parts) {
		t.Errorf("%d rows, %d in windows", len(whole), len(parts))
	}
}

func TestNumberMatchedIsThatOfTheWholeQuery(t *testing.T) {
	t.Parallel()
	s := New(Config{PageRows: 10, CountMatched: true, Values: Values{GapShare: 0.5}})
	rows, _ := walk(t, s, oneSite)
	w := ask(t, s, oneSite)
	if want := fmt.Sprintf(`"numberReturned":10,"numberMatched":%d,`, len(rows)); !strings.Contains(w.Body.String(), want) {
		t.Errorf("%s is missing in %s", want, w.Body)
	}
}

func TestQueriesWithTooManyRowsAreRefusedInEveryCollection(t *testing.T) {
	t.Parallel()
	s := New(Config{MaxQueryRows: 5})
	for _, path := range []string{collectionsPath + "peaks/items", ngwmnCollectionsPath + "waterLevelObs/items"} {
		w := ask(t, s, path+"?monitoring_location_id=USGS-1")
		if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "exceeding server limits") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		if w := ask(t, s, path+"?monitoring_location_id=USGS-1&parameter_code=00060"+"&datetime=2020-01-01/2020-06-30"); path[1] == 'o' && w.Code != http.StatusOK {
			t.Errorf("%s, less: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestPlacesAndOtherQueryablesSelectRows(t *testing.T) {
	t.Parallel()
	s := New(Config{Values: Values{Sites: 200}})
	sites := collectionsPath + "monitoring-locations/items?limit=50000"
	all, _ := walk(t, s, sites)
	west, _ := walk(t, s, sites+"&bbox=-125,20,-100,50")
	east, _ := walk(t, s, sites+"&bbox=-100,20,0,-60,50,9000")
	if len(all) < 190 || len(west) == 0 || len(east) == 0 || len(west)+len(east) >= len(all) { // some have no place
		t.Errorf("%d sites, %d west, %d east", len(all), len(west), len(east))
	}
	state := property(t, all[0], "state_name")
	daily, _ := walk(t, s, DailyPath+"?limit=50000&time=2024-01-01&state_name="+url.QueryEscape(state))
	if len(daily) == 0 || len(daily) > len(all)/5 {
		t.Errorf("%d daily values in %s", len(daily), state)
	}
	bare, _ := walk(t, s, collectionsPath+"peaks/items?monitoring_location_id=USGS-1&parameter_code=00060&water_year=2001,2002&properties=value,water_year&skipGeometry=true&limit=9")
	if len(bare) != 2 || !regexp.MustCompile(`^{"type":"Feature","id":"[^"]+","geometry":null,"properties":{"value":"[0-9.]+","water_year":2001}}$`).MatchString(bare[0]) {
		t.Errorf("peaks are %s", bare)
	}
	for _, wrong := range []string{"&bbox=1,2,3", "&bbox=5,0,1,0", "&colour=red", "&properties=id", "&id=5", "&limit=0", "&datetime=2024"} {
		if w := ask(t, s, sites+wrong); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", wrong, w.Code)
		}
	}
}

func TestADatasetChangesOnlyWithItsSeedAndVersion(t *testing.T) {
	t.Parallel()
	target := collectionsPath + "field-measurements/items?limit=50000&monitoring_location_id=USGS-1"
	one, _ := walk(t, New(Config{}), target)
	two, _ := walk(t, New(Config{Seed: 9, PageRows: 7}), target)
	refreshed, _ := walk(t, New(Config{Values: Values{Version: 1}}), target)
	if !slices.Equal(one, two) {
		t.Error("the seed of chance or the size of pages changes the data")
	}
	for i := range one {
		before, after := readAny(t, one[i]), readAny(t, refreshed[i])
		if string(before.ID) == string(after.ID) || string(before.Properties["value"]) != string(after.Properties["value"]) {
			t.Fatalf("row %d: %s then %s", i, one[i], refreshed[i])
		}
	}
}

func FuzzParseCQLText(f *testing.F) {
	f.Add("a = 'x' OR b IN ('y','z') AND NOT (c LIKE '%1_' OR d IS NOT NULL)")
	f.Add("a BETWEEN '1' AND '2' or \"b c\" <> 'O''Brien'")
	f.Fuzz(func(t *testing.T, text string) {
		e, err := parseCQLText(text)
		if err != nil {
			return
		}
		e.holds(func(string) cell { return textCell(text) })
		if _, limited := e.only("a"); limited && len(e.properties()) == 0 {
			t.Fatal("a filter without properties limits one")
		}
	})
}

func FuzzParseCQLJSON(f *testing.F) {
	f.Add([]byte(`{"op":"and","args":[{"op":"in","args":[{"property":"a"},["x","y"]]},{"op":"isNull","args":[{"property":"b"}]}]}`))
	f.Add([]byte(`{"op":"not","args":[{"op":"between","args":[{"property":"a"},"1","2"]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := parseCQLJSON(body)
		if err != nil {
			if !errors.Is(err, errBody) && !errors.Is(err, errFilter) {
				t.Fatalf("error is %v", err)
			}
			return
		}
		if e.op == opAll || len(e.properties()) == 0 {
			t.Fatalf("%s holds for every row", body)
		}
		e.holds(func(string) cell { return textCell("x") })
	})
}
