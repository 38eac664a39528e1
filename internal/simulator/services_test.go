package simulator

import (
	"encoding/csv"
	"encoding/json"
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

const (
	wells    = ngwmnCollectionsPath + "waterLevelObs/items"
	waterUse = NWDCBase + "/data"
)

func TestNGWMNSpendsTheQuotaOfWaterData(t *testing.T) {
	t.Parallel()
	s := New(Config{Quota: Quota{Limit: 2}})
	for i, target := range []string{oneSite, wells + "?limit=1", oneSite} {
		w := ask(t, s, target, "X-Api-Key", "k")
		if want := []int{200, 200, 429}[i]; w.Code != want {
			t.Errorf("request %d: %d", i, w.Code)
		}
	}
	w := ask(t, s, waterUse+"?model=wu-irrigation-cu&variable=irrcutot&location=huc12:010101010101", "X-Api-Key", "k")
	if w.Code != http.StatusOK || w.Header().Get("X-RateLimit-Limit") != "" {
		t.Errorf("NWDC has no quota: %d %v", w.Code, w.Header())
	}
}

func TestNGWMNWritesCamelCase(t *testing.T) {
	t.Parallel()
	s := New(Config{PageRows: 7})
	rows, pages := walkAny(t, s, wells+"?limit=50000&monitoring_location_id=USGS-1,MBMG-702934&datetime=1990-01-01T00:00:00Z/..")
	unknown := 0
	for _, text := range rows {
		f := readAny(t, text)
		if string(f.Properties["accuracyValue"]) == `"Unknown"` {
			unknown++
		}
		if at := property(t, text, "sampleTime"); at < "1990" || f.Properties["waterLevelAboveNAVD88Ft"] == nil {
			t.Fatalf("row is %s", text)
		}
	}
	if pages < 10 || unknown == 0 || unknown == len(rows) {
		t.Errorf("%d rows in %d pages, %d of unknown accuracy", len(rows), pages, unknown)
	}
	at := property(t, rows[3], "sampleTime")
	exact, _ := walkAny(t, s, wells+"?monitoring_location_id=USGS-1,MBMG-702934&sample_time="+url.QueryEscape(at))
	if len(exact) != 1 || exact[0] != rows[3] {
		t.Errorf("at exactly %s: %s", at, exact)
	}
	snake, _ := walkAny(t, New(Config{SnakeColumns: true}), wells+"?limit=1&monitoring_location_id=USGS-1&datetime=2024-01-01/..")
	if at := property(t, snake[0], "sample_time"); !strings.HasPrefix(at, "2024") {
		t.Errorf("in snake case: %s", snake[0])
	}
	for query, want := range map[string]string{"sites/items?state_name=Wisconsin&limit=5": "Wisconsin", "providers/items?state=WI,MN&limit=9": `"MN"`} {
		w := ask(t, s, ngwmnCollectionsPath+query)
		if w.Code != http.StatusOK || strings.HasPrefix(query, "p") && !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
	if w := ask(t, s, ngwmnCollectionsPath+"providers/items?state_name=Wisconsin"); w.Code != http.StatusBadRequest {
		t.Errorf("providers have a state, and no state_name: %d", w.Code)
	}
}

// walkAny follows next links where numberReturned is left out.
func walkAny(t *testing.T, h http.Handler, target string) (features []string, pages int) {
	t.Helper()
	for target != "" {
		w := ask(t, h, target)
		if w.Code != http.StatusOK {
			t.Fatalf("GET %s: %d %s", target, w.Code, w.Body)
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

func readCSV(t *testing.T, w *httptest.ResponseRecorder) [][]string {
	t.Helper()
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/csv") {
		t.Fatalf("%d %s: %s", w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	records, err := csv.NewReader(w.Body).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// linkNext reads a Link header.
func linkNext(w *httptest.ResponseRecorder) string {
	m := regexp.MustCompile(`^<([^>]*)>; rel="next"$`).FindStringSubmatch(w.Header().Get("Link"))
	if m == nil {
		return ""
	}
	return m[1]
}

func TestWaterUseComesInPagesOfLocations(t *testing.T) {
	t.Parallel()
	s := New(Config{PageRows: 20})
	target := waterUse + "?format=csv&model=wu-public-supply-wd&variable=pswdtot%2Cpswdgw&timeres=monthly&startdate=2019-11&enddate=2020&intersection=overlap&limit=600&location=huc2%3A01"
	var rows [][]string
	pages := 0
	for next := target; next != ""; pages++ {
		w := ask(t, s, next)
		records := readCSV(t, w)
		if want := []string{"huc12_id", "year_month", "pswdtot_mgd", "pswdgw_mgd"}; !slices.Equal(records[0], want) {
			t.Fatalf("header is %v", records[0])
		}
		rows = append(rows, records[1:]...)
		if next = linkNext(w); next != "" && !strings.HasPrefix(next, "http://example.com"+strings.Split(target, "&")[0]) {
			t.Fatalf("next is %s", next)
		}
	}
	if pages != 3 || len(rows) != 48*14 || rows[0][0] != "010101010101" || rows[0][1] != "2019-11" || rows[13][1] != "2020-12" {
		t.Errorf("%d pages, %d rows from %v", pages, len(rows), rows[0])
	}
	annual := readCSV(t, ask(t, s, waterUse+"?model=wu-irrigation-cu&variable=irrcutot&timeres=annualcy&startdate=2019&location=huc12%3A010101010101"))
	if len(annual) != 3 || annual[0][1] != "year" || annual[1][1] != "2019" {
		t.Errorf("annual values are %v", annual)
	}
}

func TestTheRealNWDCNamesAHostThatDoesNotServeIt(t *testing.T) {
	t.Parallel()
	s := New(Config{PageRows: 20, NameAlias: true})
	next := linkNext(ask(t, s, waterUse+"?model=wu-irrigation-cu&variable=irrcutot&location=huc2:04"))
	if !strings.HasPrefix(next, "https://water.usgs.gov/nwaa-data/data?model=") || !strings.HasSuffix(next, "&skip=20") {
		t.Errorf("next is %s", next)
	}
}

func TestBorderUnitsBelongToBothNeighboursWithOverlap(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	units := func(location, intersection string) []string {
		records := readCSV(t, ask(t, s, waterUse+"?model=wu-irrigation-cu&variable=irrcutot&timeres=annualcy&startdate=2020&location="+location+"&intersection="+intersection))
		var list []string
		for _, r := range records[1:] {
			list = append(list, strings.Join(r, ","))
		}
		return list
	}
	shared := func(a, b []string) int {
		return len(slices.DeleteFunc(slices.Clone(a), func(r string) bool { return !slices.Contains(b, r) }))
	}
	al, ak := units("stateCd:AL", "overlap"), units("stateCd:AK", "overlap")
	if n := shared(al, ak); n != 1 {
		t.Errorf("neighbours share %d units, with equal rows, must be 1", n)
	}
	if n := shared(units("stateCd:AL", "envelop"), units("stateCd:AK", "envelop")); n != 0 {
		t.Errorf("without overlap they share %d", n)
	}
	a, b := units("countyCd:01001", "overlap"), units("countyCd:01003", "overlap")
	if shared(a, b) != 1 || shared(a, al) != len(a) {
		t.Errorf("counties %v and %v", a, b)
	}
}

func TestBadWaterUseQueriesAreRefusedWithDetail(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	ok := map[string]string{"model": "wu-irrigation-cu", "variable": "irrcutot", "location": "stateCd:WI"}
	for change, isList := range map[string]bool{
		"model=nothing": false, "variable=pswdtot": true, "variable=": true, "location=WI": true, "location=stateCd:XX": false,
		"location=stateCd:Wisconsin": false, "location=countyCd:025": false, "location=huc8:0707": true, "location=huc3:070": true,
		"location=huc2:99": false, "timeres=daily": true, "startdate=2020-13": true, "startdate=20": true, "startdate=2021": false,
		"enddate=1999-12": false, "limit=0": true, "colour=red": true, "intersection=none": true, "skip=x": true, "format=json": true,
	} {
		query := url.Values{}
		for name, value := range ok {
			query.Set(name, value)
		}
		name, value, _ := strings.Cut(change, "=")
		query.Set(name, value)
		w := ask(t, s, waterUse+"?"+query.Encode())
		var body struct{ Detail any }
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", change, w.Code, w.Body)
			continue
		}
		if _, list := body.Detail.([]any); list != isList {
			t.Errorf("%s: %s", change, w.Body)
		}
	}
	if w := ask(t, s, waterUse+"?model=wu-irrigation-cu&variable=irrcutot&location=stateCd:WI&location=stateCd:MN"); w.Code != http.StatusBadRequest {
		t.Errorf("two locations: %d", w.Code)
	}
}

func TestStationsComeByCursor(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	var ids []string
	sentinels, pages := 0, 0
	for cursor := ""; ; {
		w := ask(t, s, OpenHydroBase+"/stations?basin=elbe&basin=odra&limit=15&cursor="+cursor)
		var p struct {
			Meta struct {
				Cursor *string `json:"next_cursor"`
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatalf("%v in %s", err, w.Body)
		}
		sentinels += strings.Count(w.Body.String(), `"area":-999999`)
		for _, m := range regexp.MustCompile(`"id":"([^"]+)"`).FindAllStringSubmatch(w.Body.String(), -1) {
			ids = append(ids, m[1])
		}
		if strings.Contains(w.Body.String(), "danube") || strings.Contains(w.Body.String(), "rhône") {
			t.Fatalf("another basin in %s", w.Body)
		}
		if pages++; p.Meta.Cursor == nil {
			break
		}
		cursor = *p.Meta.Cursor
	}
	if pages < 2 || sentinels == 0 || !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("%d pages, %d sentinels, %v", pages, sentinels, ids)
	}
	if w := ask(t, s, OpenHydroBase+"/stations?cursor=xyz"); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "cursor") {
		t.Errorf("unknown cursor: %d %s", w.Code, w.Body)
	}
}

func TestCursorsAge(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := New(Config{PageRows: 5, CursorTTL: time.Minute, Now: clock.Now})
	link := readPage(t, ask(t, s, oneSite).Body.Bytes()).link("next")
	general := readPage(t, ask(t, s, collectionsPath+"states/items").Body.Bytes()).link("next")
	cursor := regexp.MustCompile(`"next_cursor":"([^"]+)"`).FindStringSubmatch(ask(t, s, OpenHydroBase+"/stations").Body.String())[1]
	targets := []string{link, general, OpenHydroBase + "/stations?cursor=" + cursor}
	for _, wait := range []time.Duration{time.Minute, time.Second} {
		clock.advance(wait)
		for _, target := range targets {
			w := ask(t, s, target)
			if gone := w.Code == http.StatusBadRequest && strings.Contains(w.Body.String(), "cursor"); gone != (wait == time.Second) {
				t.Errorf("%s: %d %.200s", target, w.Code, w.Body)
			}
		}
	}
}

func TestReadingsClampTheLimitWithoutAWord(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	base := OpenHydroBase + "/readings.csv?order=station%2Cts&station=st-001&start=2020-10-01&end=2021-09-30&limit=500&offset="
	var rows [][]string
	for offset, want := range map[int]int{0: 5, 5: 5, 10: 2, 12: 0} {
		records := readCSV(t, ask(t, s, base+fmt.Sprint(offset)))
		if len(records)-1 != want || !slices.Equal(records[0], []string{"station", "ts", "flow", "remark"}) {
			t.Errorf("from %d: %v", offset, records)
		}
		rows = append(rows, records[1:]...)
	}
	if len(rows) != 12 {
		t.Errorf("%d rows", len(rows))
	}
	all := ""
	for offset := 0; offset < 400; offset += 5 {
		all += ask(t, s, OpenHydroBase+"/readings.csv?start=2020-01-01&end=2020-12-31&offset="+fmt.Sprint(offset)).Body.String()
	}
	for _, want := range []string{",-999999,", ",NA,", `,,"gauge ""broken"", repaired"` + "\r\n", "\"ice,\nthin\"\r\n"} {
		if !strings.Contains(strings.ReplaceAll(all, "\"ice,\r\n", "\"ice,\n"), want) {
			t.Errorf("%q is nowhere", want)
		}
	}
	for query, want := range map[string]int{
		"start=2020-01-01&end=2020-12-31&station=none": 404, "start=1900-01-01&end=1900-12-31&station=st-001": 404,
		"start=2020-01-01": 400, "start=2020-02-01&end=2020-01-01": 400, "start=2020-01-01&end=2020-12-31&offset=-1": 400,
	} {
		w := ask(t, s, OpenHydroBase+"/readings.csv?"+query)
		if w.Code != want || want == 404 && !strings.Contains(w.Body.String(), "no observations") {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}

func TestEventsHaveTotalsAndExactIDs(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	type page struct {
		Items []struct {
			ID   json.Number
			Kind string
		}
		Page, Pages, Total int
		Clipped            bool
	}
	read := func(query string) (p page) {
		w := ask(t, s, OpenHydroBase+"/events?sort=id&"+query)
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", query, w.Code, w.Body)
		}
		return p
	}
	if p := read("per_page=6"); p.Total != 23 || p.Pages != 4 || len(p.Items) != 6 || p.Items[0].ID != "9007199254740993" || p.Clipped {
		t.Errorf("page is %+v", p)
	}
	if p := read("per_page=6&page=4"); len(p.Items) != 5 {
		t.Errorf("last page is %+v", p)
	}
	if p := read("page=5&per_page=6"); p.Items == nil || len(p.Items) != 0 {
		t.Errorf("page behind the last is %+v", p)
	}
	if p := read("kind=flood%2Cice&per_page=500"); p.Total != 15 || len(p.Items) != 15 {
		t.Errorf("two kinds are %+v", p)
	}
	s = New(Config{MaxQueryRows: 10})
	if p := read("per_page=500"); !p.Clipped || len(p.Items) != 10 {
		t.Errorf("more than the service gives: %+v", p)
	}
}

func TestAlertsLoseTheLimitInTheirLinks(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	w := ask(t, s, OpenHydroBase+"/alerts.jsonl?limit=4")
	if lines := strings.Count(w.Body.String(), "\n"); lines != 4 || linkNext(w) != "alerts.jsonl?after=4" {
		t.Errorf("%d lines, next is %s", lines, linkNext(w))
	}
	w = ask(t, s, OpenHydroBase+"/alerts.jsonl?after=4")
	if lines := strings.Count(w.Body.String(), "\n"); lines != alertsStandard || linkNext(w) != "alerts.jsonl?after=7" {
		t.Errorf("without a limit: %d lines, next is %s", lines, linkNext(w))
	}
	w = ask(t, s, OpenHydroBase+"/alerts.jsonl?after=4&limit=4")
	if linkNext(w) != "" || !strings.Contains(w.Body.String(), `{"alert_id":"A-1","issued":"2024-03-07`) {
		t.Errorf("the last page: %s %s", linkNext(w), w.Body)
	}
}

func TestSearchesTakeTheirCursorInTheBody(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	send := func(path, kind, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, OpenHydroBase+path, strings.NewReader(body))
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	const form, object = "application/x-www-form-urlencoded", "application/json"
	ids := regexp.MustCompile(`"id":"(st-\d+)"`)
	walk := func(path, kind string, body func(cursor string) string) (list []string) {
		for cursor, pages := "", 0; pages < 50; pages++ {
			w := send(path, kind, body(cursor))
			if w.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", path, w.Code, w.Body)
			}
			for _, m := range ids.FindAllStringSubmatch(w.Body.String(), -1) {
				list = append(list, m[1])
			}
			m := regexp.MustCompile(`"(?:cursor|next)":"([^"]+)"`).FindStringSubmatch(w.Body.String())
			if m == nil {
				break
			}
			cursor = m[1]
		}
		return list
	}
	byForm := walk("/search", form, func(cursor string) string {
		return "basin=elbe&basin=rh%C3%B4ne&limit=7" + pick(cursor == "", "", "&cursor="+cursor)
	})
	byObject := walk("/query", object, func(cursor string) string {
		return `{"basin":["elbe","rhône"],"limit":7` + pick(cursor == "", "", `,"cursor":"`+cursor+`"`) + `}`
	})
	if len(byForm) < 20 || !slices.Equal(byForm, byObject) {
		t.Errorf("%d by form, %d by object", len(byForm), len(byObject))
	}
	open := walk("/query", object, func(string) string { return `{"open":true,"limit":100}` })
	if len(open) == 0 || len(open) == openStations {
		t.Errorf("%d open stations", len(open))
	}
	for _, wrong := range []struct {
		path, kind, body string
		want             int
	}{
		{"/query", object, `{"limit":"7"}`, 400},
		{"/query", object, `{"colour":"red"}`, 400},
		{"/query", object, `{"open":"true"}`, 400},
		{"/query", object, `{"limit":0}`, 400},
		{"/query", object, `{} {}`, 400},
		{"/query", form, `{}`, 415},
		{"/search", form, "colour=red", 400},
		{"/search", form, "limit=7&limit=8", 400},
		{"/search", object, "limit=7", 415},
		{"/search?limit=7", form, "", 400},
	} {
		if w := send(wrong.path, wrong.kind, wrong.body); w.Code != wrong.want {
			t.Errorf("%s %s: %d, must be %d", wrong.path, wrong.body, w.Code, wrong.want)
		}
	}
}

func TestOpenHydroAsksForItsCredentials(t *testing.T) {
	t.Parallel()
	s := New(Config{OpenTokens: []string{"good"}, OpenQuota: Quota{Limit: 3, Window: 10 * time.Minute, Model: QuotaFixed, RetryAfter: true}})
	for _, test := range []struct {
		target string
		header []string
		want   int
	}{
		{OpenHydroBase + "/events", nil, 200},
		{OpenHydroBase + "/events", []string{"Authorization", "Bearer bad"}, 401},
		{BearerBase + "/events", nil, 401},
		{BearerBase + "/events", []string{"Authorization", "Basic Z29vZA=="}, 401},
		{BearerBase + "/events", []string{"X-Api-Key", "good"}, 401},
		{BearerBase + "/events", []string{"Authorization", "Bearer good"}, 200},
		{KeyedBase + "/events", nil, 401},
		{KeyedBase + "/events?api_key=bad", nil, 401},
		{KeyedBase + "/events?api_key=good", nil, 200},
		{OpenHydroBase + "/events?api_key=good", nil, 400}, // the parameter is known only where it is wanted
	} {
		if w := ask(t, s, test.target, test.header...); w.Code != test.want {
			t.Errorf("%s %v: %d, must be %d", test.target, test.header, w.Code, test.want)
		}
	}
	w := ask(t, s, BearerBase+"/events", "Authorization", "Bearer good")
	if got := w.Header().Get("RateLimit"); !regexp.MustCompile(`^"default";r=0;t=\d+$`).MatchString(got) || w.Header().Get("RateLimit-Policy") != `"default";q=3;w=600` {
		t.Errorf("RateLimit is %q, policy %q", got, w.Header().Get("RateLimit-Policy"))
	}
	w = ask(t, s, BearerBase+"/events", "Authorization", "Bearer good")
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" || w.Header().Get("X-RateLimit-Limit") != "" {
		t.Errorf("a used-up quota: %d %v", w.Code, w.Header())
	}
	if w := ask(t, s, oneSite); w.Code != http.StatusOK {
		t.Errorf("another service pays: %d", w.Code)
	}
}

func TestWhoeverSendsACredentialIsSeen(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	ask(t, s, "http://one.test"+oneSite, "X-Api-Key", "s3cret")
	ask(t, s, "http://two.test"+OpenHydroBase+"/events", "Authorization", "Bearer s3cret")
	ask(t, s, "http://two.test"+KeyedBase+"/events?page=1&api_key=s3cret")
	ask(t, s, "http://three.test"+waterUse+"?token=s3cret", "X-Api-Key", "s3cret", "Authorization", "Basic s3cret")
	ask(t, s, "http://three.test"+waterUse)
	want := [][]string{
		{"one.test", serviceWaterData, "header X-Api-Key"},
		{"two.test", serviceOpenHydro, "header Authorization: bearer"},
		{"two.test", serviceOpenHydro, "query api_key"},
		{"three.test", serviceNWDC, "header X-Api-Key", "header Authorization: basic", "query token"},
		{"three.test", serviceNWDC},
	}
	for i, e := range s.Requests() {
		if got := append([]string{e.Host, e.Service}, e.Credentials...); !slices.Equal(got, want[i]) {
			t.Errorf("request %d: %v, must be %v", i, got, want[i])
		}
	}
	c := s.Counters()
	if by := c.ByService; by[serviceNWDC].Requests != 2 || by[serviceNWDC].WithCredential != 1 || by[serviceWaterData].OK != 1 ||
		by[serviceWaterData].Rows != 31 || by[serviceOpenHydro].MostInFlight != 1 || by[serviceOpenHydro].InFlight != 0 {
		t.Errorf("by service: %+v", by)
	}
	if c.ByPath[waterUse] != 2 || c.ByPath[KeyedBase+"/events"] != 1 {
		t.Errorf("by path: %v", c.ByPath)
	}
	for _, path := range []string{"counters", "requests"} {
		if body := ask(t, s, "/_simulator/"+path).Body.String(); strings.Contains(body, "s3cret") {
			t.Errorf("%s keep a secret: %s", path, body)
		}
	}
}
