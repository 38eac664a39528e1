package simulator

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

const (
	pagedSite = DailyPath + "?monitoring_location_id=USGS-05427718&time=2024-01-01/2024-01-31&limit=10"
	pagedUse  = waterUse + "?model=wu-irrigation-cu&variable=irrcutot&timeres=annualcy&startdate=2020&limit=20&location=huc2:04"
)

// faulty is a simulator with one fault that always strikes.
func faulty(f Fault) *Simulator {
	return New(Config{AliasHost: "alias.test", ForeignHost: "foreign.test", Faults: []Fault{f}})
}

// nexts follows up to n next links or cursors and returns each, cut to what tells it from the others.
func nexts(t *testing.T, s *Simulator, target string, n int) []string {
	t.Helper()
	var list []string
	for range n {
		w := ask(t, s, target)
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", target, w.Code, w.Body)
		}
		var next string
		switch {
		case strings.Contains(target, "/stations"):
			m := regexp.MustCompile(`"next_cursor":"([^"]+)"`).FindStringSubmatch(w.Body.String())
			if m == nil {
				return list
			}
			next = OpenHydroBase + "/stations?limit=40&cursor=" + m[1]
		case strings.Contains(target, "/nwaa-data"):
			next = linkNext(w)
		default:
			next = readPage(t, w.Body.Bytes()).link("next")
		}
		if next == "" {
			return list
		}
		list = append(list, next)
		target = next
	}
	return list
}

func TestNextLinksGoRoundWhenTold(t *testing.T) {
	t.Parallel()
	for _, target := range []string{pagedSite, pagedSite + "&filter=value%20IS%20NOT%20NULL", pagedUse, OpenHydroBase + "/stations?limit=40"} {
		repeated := nexts(t, faulty(Fault{Kind: FaultRepeatedNext}), target, 4)
		if len(repeated) != 4 || repeated[1] != repeated[2] || repeated[2] != repeated[3] {
			t.Errorf("A, A: %q", repeated)
		}
		cyclic := nexts(t, faulty(Fault{Kind: FaultCyclicNext}), target, 4)
		if len(cyclic) != 4 || cyclic[0] == cyclic[1] || cyclic[0] != cyclic[2] || cyclic[1] != cyclic[3] {
			t.Errorf("A, B, A, B: %q", cyclic)
		}
		trailing := nexts(t, faulty(Fault{Kind: FaultTrailingNext}), target, 9)
		if len(trailing) != 9 || trailing[7] != trailing[8] || trailing[0] == trailing[1] {
			t.Errorf("a link behind the last page: %q", trailing)
		}
		free := nexts(t, New(Config{}), target, 9)
		middle := nexts(t, New(Config{Faults: []Fault{{Kind: FaultEmptyPage, After: 1, Times: 1}}}), target, 9)
		if len(middle) != len(free)+1 {
			t.Errorf("an empty page in the middle: %q after %q", middle, free)
		}
	}
	for kind, host := range map[FaultKind]string{FaultForeignNext: "foreign.test", FaultAliasNext: "alias.test"} {
		for _, target := range []string{pagedSite, pagedUse} {
			if next := nexts(t, faulty(Fault{Kind: kind}), target, 1); !strings.HasPrefix(next[0], "http://"+host+strings.Split(target, "?")[0]) {
				t.Errorf("%s: %s", kind, next)
			}
		}
	}
	if next := nexts(t, faulty(Fault{Kind: FaultBadLink}), pagedSite, 1); !strings.HasPrefix(next[0], "http://[::1/") {
		t.Errorf("bad link: %s", next)
	}
	if w := ask(t, faulty(Fault{Kind: FaultBadLink}), pagedUse); w.Header().Get("Link") == "" || linkNext(w) != "" {
		t.Errorf("bad Link header: %q", w.Header().Get("Link"))
	}
}

func TestNumbersThatDisagree(t *testing.T) {
	t.Parallel()
	if body := ask(t, faulty(Fault{Kind: FaultWrongTotal}), pagedSite).Body.String(); !strings.Contains(body, `"numberReturned":10,"numberMatched":32`) {
		t.Errorf("total: %.300s", body)
	}
	if body := ask(t, faulty(Fault{Kind: FaultWrongTotal}), OpenHydroBase+"/events").Body.String(); !strings.Contains(body, `"total":24`) {
		t.Errorf("total: %s", body)
	}
	if body := ask(t, faulty(Fault{Kind: FaultClipped}), OpenHydroBase+"/events").Body.String(); !strings.Contains(body, `"clipped":true`) {
		t.Errorf("clipped: %s", body)
	}
	for rows, want := range map[int]int{0: 5, 3: 3, 30: 10} {
		s := faulty(Fault{Kind: FaultClampedLimit, Rows: rows})
		p := readPage(t, ask(t, s, pagedSite).Body.Bytes())
		if len(p.Features) != want || p.NumberReturned != want {
			t.Errorf("clamped to %d: %d rows", rows, len(p.Features))
		}
		if all, _ := walk(t, s, pagedSite); len(all) != 31 {
			t.Errorf("clamped pages have %d rows together", len(all))
		}
	}
	huge := regexp.MustCompile(`[^0-9]90{400}[^0-9]`)
	for _, target := range []string{
		pagedSite, pagedUse, OpenHydroBase + "/stations", OpenHydroBase + "/events", OpenHydroBase + "/alerts.jsonl",
		OpenHydroBase + "/readings.csv?start=2020-01-01&end=2020-12-31", collectionsPath + "peaks/items", collectionsPath + "monitoring-locations/items",
	} {
		if body := ask(t, faulty(Fault{Kind: FaultHugeNumber}), target).Body.Bytes(); !huge.Match(body) {
			t.Errorf("no huge number in %.300s", body)
		}
	}
}

func TestBodiesInAnotherCharset(t *testing.T) {
	t.Parallel()
	for _, target := range []string{pagedSite, OpenHydroBase + "/stations", ngwmnCollectionsPath + "sites/items"} {
		for kind, says := range map[FaultKind]bool{FaultCharset: false, FaultDeclaredCharset: true} {
			w := ask(t, faulty(Fault{Kind: kind}), target)
			if utf8.Valid(w.Body.Bytes()) || strings.Contains(w.Header().Get("Content-Type"), "charset=iso-8859-1") != says {
				t.Errorf("%s %s: %s", kind, target, w.Header().Get("Content-Type"))
			}
		}
	}
	plain, latin := ask(t, New(Config{}), OpenHydroBase+"/stations").Body.String(), ask(t, faulty(Fault{Kind: FaultDeclaredCharset}), OpenHydroBase+"/stations").Body.Bytes()
	var decoded strings.Builder
	for _, b := range latin {
		decoded.WriteRune(rune(b))
	}
	if decoded.String() != plain {
		t.Error("decoded as it says, the body differs")
	}
}

func TestBrokenCSV(t *testing.T) {
	t.Parallel()
	lines := strings.Split(ask(t, faulty(Fault{Kind: FaultRaggedRows}), pagedUse).Body.String(), "\n")
	for i, commas := range []int{2, 1, 3, 2} {
		if strings.Count(lines[i], ",") != commas {
			t.Errorf("line %d is %q", i, lines[i])
		}
	}
	header, _, _ := strings.Cut(ask(t, faulty(Fault{Kind: FaultDoubleHeader}), pagedUse).Body.String(), "\n")
	if header != "huc12_id,year,huc12_id" {
		t.Errorf("header is %q", header)
	}
	s := faulty(Fault{Kind: FaultRaggedRows})
	ask(t, s, pagedSite)
	if n := s.Counters().Faults[FaultRaggedRows]; n != 0 {
		t.Errorf("GeoJSON was struck %d times by a fault of CSV", n)
	}
}

func TestAnswersInPlaceOfTheService(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault  Fault
		status int
		body   string
		header string
	}{
		{Fault{Kind: Fault413}, 413, "413 Request Entity", "text/html"},
		{Fault{Kind: Fault414}, 414, "414 Request-URI", "text/html"},
		{Fault{Kind: FaultServerLimits}, 403, "exceeding server limits", "application/json"},
		{Fault{Kind: FaultErrorIn200}, 200, `"error_code":"ComplexityException"`, "application/json"},
		{Fault{Kind: FaultEmptyBody}, 200, "", "text/plain"},
		{Fault{Kind: FaultKeyEcho}, 400, "s3cret", "application/json"},
		{Fault{Kind: FaultKeyEcho, Status: 503}, 503, "s3cret", "application/json"},
		{Fault{Kind: FaultRedirect}, 302, "", "text/html"},
		{Fault{Kind: FaultRedirectLoop}, 302, "", "text/html"},
	} {
		s := faulty(test.fault)
		w := ask(t, s, pagedSite, "X-Api-Key", "s3cret")
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.body) || w.Header().Get("Content-Type") != test.header {
			t.Errorf("%s: %d %s %s", test.fault.Kind, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
		if c := s.Counters(); c.OK != 0 || c.Faults[test.fault.Kind] != 1 {
			t.Errorf("%s: ok %d, faults %v", test.fault.Kind, c.OK, c.Faults)
		}
		want := map[FaultKind]string{FaultRedirect: "http://foreign.test" + pagedSite, FaultRedirectLoop: "http://example.com" + pagedSite}
		if got := w.Header().Get("Location"); got != want[test.fault.Kind] {
			t.Errorf("%s leads to %s", test.fault.Kind, got)
		}
	}
}

func TestACursorIsGoneOnlyBehindTheFirstPage(t *testing.T) {
	t.Parallel()
	s := New(Config{PageRows: 3})
	second := map[string]string{
		pagedSite: nexts(t, s, pagedSite, 1)[0],
		pagedUse:  nexts(t, s, pagedUse, 1)[0],
		OpenHydroBase + "/readings.csv?start=2020-01-01&end=2020-12-31": OpenHydroBase + "/readings.csv?start=2020-01-01&end=2020-12-31&offset=5",
		OpenHydroBase + "/events":       OpenHydroBase + "/events?page=2",
		OpenHydroBase + "/alerts.jsonl": OpenHydroBase + "/alerts.jsonl?after=3",
	}
	for first, next := range second {
		s := faulty(Fault{Kind: FaultCursorGone, Times: 1})
		if w := ask(t, s, first); w.Code != http.StatusOK {
			t.Errorf("%s: %d", first, w.Code)
		}
		if w := ask(t, s, next); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "cursor") {
			t.Errorf("%s: %d %s", next, w.Code, w.Body)
		}
		if w := ask(t, s, next); w.Code != http.StatusOK {
			t.Errorf("%s again: %d %s", next, w.Code, w.Body)
		}
	}
}

func TestAGzipBombIsSmallOnTheWireAndALegalAnswer(t *testing.T) {
	t.Parallel()
	s := faulty(Fault{Kind: FaultGzipBomb})
	w := ask(t, s, pagedSite)
	if w.Header().Get("Content-Encoding") != "gzip" || w.Body.Len() > 4<<20 {
		t.Fatalf("%d bytes, %v", w.Body.Len(), w.Header())
	}
	unpacked, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, unpacked)
	if err != nil || n < 1<<30 {
		t.Errorf("unpacks to %d bytes, %v", n, err)
	}
}

func TestTheNthRequestOverAllServicesCanBeRefused(t *testing.T) {
	t.Parallel()
	targets := []string{pagedSite, pagedUse, OpenHydroBase + "/events", wells + "?limit=1"}
	for n := range targets {
		s := New(Config{Faults: []Fault{{Kind: Fault429, After: n, Times: 1, Delay: time.Hour}}})
		for i, target := range targets {
			w := ask(t, s, target)
			if refused := w.Code == http.StatusTooManyRequests; refused != (i == n) || refused && w.Header().Get("Retry-After") != "3600" {
				t.Errorf("request %d of %d: %d %v", i, n, w.Code, w.Header())
			}
		}
	}
}

func TestARedirectLoopEndsClients(t *testing.T) {
	t.Parallel()
	server := listen(t, faulty(Fault{Kind: FaultRedirectLoop}))
	_, _, err := fetch(t.Context(), server.Client(), server.URL+pagedSite)
	if err == nil || errors.Is(err, t.Context().Err()) || !strings.Contains(fmt.Sprint(err), "redirects") {
		t.Errorf("error is %v", err)
	}
}

func TestEveryKindHasItsRequests(t *testing.T) {
	t.Parallel()
	for _, kind := range FaultKinds() {
		strikes := slices.ContainsFunc([]nature{{}, {form: formFeatures}, {form: formCSV}, {form: formJSON, continued: true}}, kind.suits)
		if !strikes {
			t.Errorf("%s never strikes", kind)
		}
		if kind.holdsBody() && kind.strikesRows() {
			t.Errorf("%s is carried out twice", kind)
		}
	}
}
