package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// feature is one row as a client reads it.
type feature struct {
	Type     string
	ID       string
	Geometry *struct {
		Type        string
		Coordinates []float64
	}
	Properties struct {
		TimeSeriesID         string   `json:"time_series_id"`
		MonitoringLocationID string   `json:"monitoring_location_id"`
		ParameterCode        string   `json:"parameter_code"`
		StatisticID          string   `json:"statistic_id"`
		Time                 string   `json:"time"`
		Value                string   `json:"value"`
		Unit                 string   `json:"unit_of_measure"`
		Approval             string   `json:"approval_status"`
		Qualifier            []string `json:"qualifier"`
		LastModified         string   `json:"last_modified"`
	}
}

func readFeature(t *testing.T, text string) feature {
	t.Helper()
	var f feature
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		t.Fatalf("read feature: %v in %s", err, text)
	}
	return f
}

func TestARowHasTheFormsOfTheService(t *testing.T) {
	t.Parallel()
	rows, _ := walk(t, New(Config{}), DailyPath+"?monitoring_location_id=USGS-05427718,AKDNR-535134236016630&limit=50000&time=2020-01-01/..")
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	modified := regexp.MustCompile(`^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?\+00:00$`)
	value := regexp.MustCompile(`^(\d\.\d\d|\d\d\.\d|\d{3,})$`)
	ids := map[string]bool{}
	var qualified, whole, zero, provisional int
	for _, text := range rows {
		f := readFeature(t, text)
		p := f.Properties
		if f.Type != "Feature" || !uuid.MatchString(f.ID) || !modified.MatchString(p.LastModified) || !value.MatchString(p.Value) ||
			len(p.TimeSeriesID) != 32 || p.Unit != "ft^3/s" || p.ParameterCode != "00060" || p.StatisticID != "00003" {
			t.Fatalf("row is %s", text)
		}
		ids[f.ID] = true
		if len(p.Qualifier) > 0 {
			qualified++
		}
		if !strings.Contains(p.LastModified, ".") {
			whole++
		}
		if strings.Contains(p.Value, ".") && strings.HasSuffix(p.Value, "0") {
			zero++
		}
		if p.Approval == "Provisional" {
			provisional++
		}
	}
	if len(rows) != 2*1827 || len(ids) != len(rows) {
		t.Errorf("%d rows with %d ids, must be 3654", len(rows), len(ids))
	}
	if qualified == 0 || whole == 0 || zero == 0 || provisional != 2*365 {
		t.Errorf("%d with qualifier, %d without fraction, %d with trailing zero, %d provisional", qualified, whole, zero, provisional)
	}
}

func TestPagesTogetherAreTheOnePageInIDOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := New(Config{
			PageRows: rapid.IntRange(3, 60).Draw(rt, "page"),
			Values: Values{
				First: "1969-12-15", Last: "1970-01-20",
				GapShare: rapid.SampledFrom([]float64{0, 0.3, 0.9}).Draw(rt, "gaps"), NoDataShare: rapid.SampledFrom([]float64{0, 0.5}).Draw(rt, "empty"),
			},
		})
		sites := rapid.SliceOfN(rapid.IntRange(1, 30), 1, 4).Draw(rt, "sites")
		var names []string
		for _, n := range sites {
			names = append(names, fmt.Sprintf("USGS-%08d", n))
		}
		times := rapid.SampledFrom([]string{"", "&time=../1970-01-10", "&time=1970-01-01", "&time=1970-01-01/..", "&time=1800-01-01/1801-01-01"}).Draw(rt, "time")
		target := DailyPath + "?parameter_code=00065%2C00060&monitoring_location_id=" + strings.Join(names, rapid.SampledFrom([]string{",", "%2C"}).Draw(rt, "comma")) +
			times + "&limit="
		paged, _ := walk(t, s, target+fmt.Sprint(rapid.IntRange(3, 90).Draw(rt, "limit")))
		if err := s.Update(func(c *Config) { c.PageRows = 50_000 }); err != nil {
			rt.Fatal(err)
		}
		slices.Reverse(names)
		whole, pages := walk(t, s, DailyPath+"?limit=50000&parameter_code=00060,00065&monitoring_location_id="+strings.Join(names, ",")+times)
		if pages != 1 || !slices.Equal(paged, whole) {
			rt.Fatalf("%d rows in pages, %d in %d", len(paged), len(whole), pages)
		}
		keys := make([]string, len(whole))
		for i, text := range whole {
			p := readFeature(t, text).Properties
			keys[i] = p.MonitoringLocationID + p.ParameterCode + p.StatisticID + p.Time
		}
		if !slices.IsSorted(keys) || len(slices.Compact(slices.Clone(keys))) != len(keys) {
			rt.Fatal("rows are not in order, or one comes twice")
		}
	})
}

func TestEveryInstanceHasTheSameRows(t *testing.T) {
	t.Parallel()
	values := Values{GapShare: 0.1, NoDataShare: 0.2}
	target := "http://example.test" + DailyPath + "?limit=50000&monitoring_location_id=USGS-1,USGS-2,USGS-3&time=2000-01-01/2010-12-31"
	one := ask(t, New(Config{Values: values}), target).Body.String()
	two := ask(t, New(Config{Values: values, Seed: 99}), target).Body.String()
	if one != two {
		t.Error("the seed of chance changes the data")
	}
	values.Seed = 1
	if other := ask(t, New(Config{Values: values}), target).Body.String(); other == one {
		t.Error("the seed of the values changes nothing")
	}
}

func TestARefreshedRecordKeepsValuesUnderNewIDs(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	before, _ := walk(t, s, oneSite)
	if err := s.Update(func(c *Config) { c.Values.Version++ }); err != nil {
		t.Fatal(err)
	}
	after, _ := walk(t, s, oneSite)
	for i := range before {
		a, b := readFeature(t, before[i]), readFeature(t, after[i])
		if a.ID == b.ID || a.Properties.LastModified >= b.Properties.LastModified {
			t.Fatalf("row %d: id %s then %s, modified %s then %s", i, a.ID, b.ID, a.Properties.LastModified, b.Properties.LastModified)
		}
		if a.Properties.Value != b.Properties.Value || a.Properties.TimeSeriesID != b.Properties.TimeSeriesID {
			t.Fatalf("row %d changed its value or series", i)
		}
	}
}

func TestBadRequestsNameTheParameter(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	ok := "monitoring_location_id=USGS-1"
	for query, want := range map[string]string{
		"monitoring_location_id=5427718":              "monitoring_location_id",
		"monitoring_location_id=-5":                   "monitoring_location_id",
		"monitoring_location_id=usgs-5":               "monitoring_location_id",
		"monitoring_location_id=USGS-5,":              "monitoring_location_id",
		"monitoring_location_id=USGS-%22%7D&x":        "monitoring_location_id",
		ok + "&" + ok:                                 "given 2 times",
		ok + "&parameter_code=60":                     "parameter_code",
		ok + "&statistic_id=mean0":                    "statistic_id",
		ok + "&time=2024-02-30":                       "time",
		ok + "&time=2024-01":                          "time",
		ok + "&time=":                                 "time",
		ok + "&time=..":                               "time",
		ok + "&time=P7":                               "time",
		ok + "&time=2024-02-01/2024-01-01":            "time",
		ok + "&time=2024-01-01/2024-01-02/2024-01-03": "time",
		ok + "&limit=0":                               "limit",
		ok + "&limit=50001":                           "limit",
		ok + "&limit=ten":                             "limit",
		ok + "&f=csv":                                 "f",
		ok + "&skipGeometry=True":                     "skipGeometry",
		ok + "&properties=id":                         "properties",
		ok + "&properties=value,,":                    "properties",
		ok + "&sites=3":                               "sites: unknown parameter",
		ok + "&cursor=abc":                            "cursor",
		ok + "&cursor=" + position{series: 1, day: 10_000}.String(): "cursor",
		ok + "&cursor=" + position{series: 0, day: 1}.String():      "cursor",
		ok + "&lang=%zz": "query string",
	} {
		w := ask(t, s, DailyPath+"?"+query)
		var body struct{ Code, Description string }
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != http.StatusBadRequest ||
			body.Code != "InvalidParameterValue" || !strings.Contains(body.Description, want) {
			t.Errorf("%q: %d %s", query, w.Code, w.Body)
		}
	}
}

func TestOnlyTheAskedColumnsAreSent(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	rows, _ := walk(t, s, oneSite+"&properties=value,time&skipGeometry=true")
	if want := regexp.MustCompile(`^{"type":"Feature","id":"[^"]+","geometry":null,"properties":{"time":"2024-01-01","value":"[0-9.]+"}}$`); !want.MatchString(rows[0]) {
		t.Errorf("row is %s", rows[0])
	}
	rows, _ = walk(t, s, oneSite)
	if f := readFeature(t, rows[0]); f.Geometry == nil || f.Geometry.Type != "Point" {
		t.Errorf("geometry is missing in %s", rows[0])
	}
	if p := readPage(t, ask(t, s, DailyPath+"?monitoring_location_id=USGS-1").Body.Bytes()); p.NumberReturned != 10 {
		t.Errorf("without limit a page has %d rows, must be 10", p.NumberReturned)
	}
}

func TestTooManyRowsAre403(t *testing.T) {
	t.Parallel()
	s := New(Config{MaxQueryRows: 31})
	if w := ask(t, s, oneSite); w.Code != http.StatusOK {
		t.Errorf("31 rows: %d", w.Code)
	}
	w := ask(t, s, oneSite+"&statistic_id=00001,00003")
	if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "exceeding server limits") {
		t.Errorf("62 rows: %d %s", w.Code, w.Body)
	}
}

func TestSitesWithoutDataAreAboutTheirShare(t *testing.T) {
	t.Parallel()
	r := newRecord(Values{NoDataShare: 0.25}.withDefaults())
	with := 0
	for i := range 4000 {
		if r.hasData(fmt.Sprintf("USGS-%08d", i)) {
			with++
		}
	}
	if with < 2850 || with > 3150 {
		t.Errorf("%d of 4000 sites have data, must be about 3000", with)
	}
}

func TestDescriptionsListTheColumns(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	for path, n := range map[string]int{"queryables?f=json": len(dailyColumns()) + 1 + len(siteColumns()), "schema?lang=en-US": 10} {
		w := ask(t, s, collectionsPath+"daily/"+path)
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(w.Body.Bytes(), &schema); err != nil || len(schema.Properties) != n {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := ask(t, s, collectionsPath+"daily/schema?x=1"); w.Code != http.StatusBadRequest {
		t.Errorf("unknown parameter: %d", w.Code)
	}
}

func FuzzParseDaily(f *testing.F) {
	f.Add("monitoring_location_id=USGS-05427718%2CUSGS-1&time=2024-01-01/..&limit=100&f=json&lang=en-US&skipGeometry=true")
	f.Add("monitoring_location_id=USGS-1&cursor=" + position{series: 0, day: 10_000, behindEmpty: true}.String())
	f.Add("properties=value&parameter_code=00060,00065&statistic_id=00003")
	r := newRecord(Values{}.withDefaults())
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := parseDaily(raw, r, 100)
		if err != nil {
			return
		}
		if q.limit < 1 || q.limit > 100 || q.size() < 1 || q.first < r.first || q.last > r.last {
			t.Fatalf("%q gave %+v", raw, q)
		}
		if again, err := parsePosition(q.from.String()); err != nil || again != q.from {
			t.Fatalf("cursor of %+v is %+v, %v", q.from, again, err)
		}
	})
}
