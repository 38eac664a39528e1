package simulator

import (
	"encoding/json"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestEachFaultLooksLikeItself(t *testing.T) {
	t.Parallel()
	healthy := ask(t, New(Config{}), "http://127.0.0.1"+oneSite).Body.String()
	isHTML := func(t *testing.T, _ int, body string, err error) {
		t.Helper()
		t.Helper()
		if err != nil || !strings.HasPrefix(body, "<html>") {
			t.Errorf("body is %.80q, %v", body, err)
		}
	}
	isJSON := func(code string) func(*testing.T, int, string, error) {
		return func(t *testing.T, _ int, body string, err error) {
			t.Helper()
			t.Helper()
			if err != nil || !json.Valid([]byte(body)) || !strings.Contains(body, code) {
				t.Errorf("body is %q, %v", body, err)
			}
		}
	}
	reset := func(t *testing.T, status int, _ string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("got an answer, %d", status)
		}
	}
	for kind, test := range map[FaultKind]struct {
		status int // 0: no answer
		check  func(t *testing.T, status int, body string, err error)
	}{
		Fault500:         {500, isJSON("NoApplicableCode")},
		Fault502:         {502, isHTML},
		Fault503:         {503, isJSON("SERVICE_UNAVAILABLE")},
		Fault504:         {504, isHTML},
		Fault429:         {429, isJSON("OVER_RATE_LIMIT")},
		FaultHTML:        {200, isHTML},
		FaultResetBefore: {0, reset},
		FaultResetAfter:  {0, reset},
		FaultHang:        {0, reset},
		FaultTruncated: {200, func(t *testing.T, _ int, body string, err error) {
			t.Helper()
			if err == nil || len(body) < len(healthy)/3 || json.Valid([]byte(body)) {
				t.Errorf("got %d bytes, %v", len(body), err)
			}
		}},
		FaultCutJSON: {200, func(t *testing.T, _ int, body string, err error) {
			t.Helper()
			if err != nil || len(body) < len(healthy)/3 || json.Valid([]byte(body)) {
				t.Errorf("got %d bytes, %v", len(body), err)
			}
		}},
		FaultSlowBody: {200, func(t *testing.T, _ int, body string, err error) {
			t.Helper()
			if p := readPage(t, []byte(body)); err != nil || len(p.Features) != 31 {
				t.Errorf("%d features, %v", len(p.Features), err)
			}
		}},
		FaultWrongCount: {200, func(t *testing.T, _ int, body string, _ error) {
			t.Helper()
			if p := readPage(t, []byte(body)); len(p.Features) != 31 || p.NumberReturned != 32 {
				t.Errorf("%d features, numberReturned %d", len(p.Features), p.NumberReturned)
			}
		}},
		FaultRepeatedNext: {200, func(t *testing.T, _ int, body string, _ error) {
			t.Helper()
			if p := readPage(t, []byte(body)); p.link("next") == "" || p.link("next") != p.link("self") {
				t.Errorf("next is %q", p.link("next"))
			}
		}},
		FaultEmptyPage: {200, func(t *testing.T, _ int, body string, _ error) {
			t.Helper()
			if p := readPage(t, []byte(body)); len(p.Features) != 0 || p.NumberReturned != 0 || !strings.Contains(p.link("next"), "cursor=") {
				t.Errorf("page is %s", body)
			}
		}},
		FaultForeignNext: {200, func(t *testing.T, _ int, body string, _ error) {
			t.Helper()
			if p := readPage(t, []byte(body)); !strings.HasPrefix(p.link("next"), "http://elsewhere.invalid/ogcapi/") {
				t.Errorf("next is %q", p.link("next"))
			}
		}},
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := New(Config{Faults: []Fault{{Kind: kind, Times: 1, Delay: time.Millisecond}}})
			server := listen(t, s)
			status, body, err := fetch(t.Context(), server.Client(), server.URL+oneSite)
			if status != test.status {
				t.Errorf("status %d, must be %d (%v)", status, test.status, err)
			}
			test.check(t, status, body, err)
			c := s.Counters()
			if c.Faults[kind] != 1 || c.InFlight != 0 {
				t.Errorf("faults %v, in flight %d", c.Faults, c.InFlight)
			}
			if (c.OK == 0) != kind.spoils() {
				t.Errorf("ok is %d", c.OK)
			}
			if status, body, err = fetch(t.Context(), server.Client(), server.URL+oneSite); status != 200 || err != nil || len(readPage(t, []byte(body)).Features) != 31 {
				t.Errorf("the next request: %d, %v", status, err)
			}
		})
	}
	if n := len(FaultKinds()); n != 38 {
		t.Errorf("%d kinds are listed; this test and TestTheNewFaults know 38", n)
	}
}

func TestWithEmptyPagesTheWalkStillFindsEveryRow(t *testing.T) {
	t.Parallel()
	want, _ := walk(t, New(Config{}), oneSite)
	s := New(Config{PageRows: 10, Faults: []Fault{{Kind: FaultEmptyPage}}})
	got, pages := walk(t, s, oneSite)
	if !slices.Equal(got, want) || pages != 8 { // an empty page before each of four
		t.Errorf("%d rows in %d pages", len(got), pages)
	}
	if n := s.Counters().Faults[FaultEmptyPage]; n != 4 {
		t.Errorf("%d empty pages counted", n)
	}
}

func TestAnEndlessForeignLinkKeepsTheQuery(t *testing.T) {
	t.Parallel()
	s := New(Config{PageRows: 10, ForeignHost: "127.0.0.9:1", Faults: []Fault{{Kind: FaultForeignNext}}})
	next := readPage(t, ask(t, s, oneSite).Body.Bytes()).link("next")
	if !strings.HasPrefix(next, "http://127.0.0.9:1"+oneSite+"&cursor=") {
		t.Errorf("next is %s", next)
	}
}

func TestLinesOfTheScriptCountAsTheySay(t *testing.T) {
	t.Parallel()
	s := New(Config{Faults: []Fault{
		{Kind: Fault503, Contains: "USGS-1&", After: 1, Times: 2, Delay: 1500 * time.Millisecond},
		{Kind: Fault500, Contains: "USGS-2", Attempts: 1},
	}})
	status := func(site string) int {
		w := ask(t, s, DailyPath+"?monitoring_location_id="+site+"&limit=1")
		if retry := w.Header().Get("Retry-After"); (w.Code == 503) != (retry == "2") {
			t.Errorf("%d with Retry-After %q", w.Code, retry)
		}
		return w.Code
	}
	var got []int
	for _, site := range []string{"USGS-1", "USGS-1", "USGS-2", "USGS-1", "USGS-1", "USGS-2", "USGS-2&lang=en", "USGS-2&lang=en"} {
		got = append(got, status(site))
	}
	if want := []int{200, 503, 500, 503, 200, 200, 500, 200}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// faultsOf asks for n sites twice, concurrently, and returns the fault of each URL and attempt.
func faultsOf(t *testing.T, s *Simulator, n int) map[string]FaultKind {
	t.Helper()
	var wait sync.WaitGroup
	for part := range 4 {
		wait.Go(func() {
			for i := part; i < 2*n; i += 4 {
				target := "http://x.test" + DailyPath + "?limit=1&monitoring_location_id=USGS-" + strconv.Itoa(i%n)
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
				s.exchange(discard{http.Header{}}, r)
			}
		})
	}
	wait.Wait()
	faults := map[string]FaultKind{}
	for _, e := range s.Requests() {
		faults[e.URL+" "+strconv.Itoa(e.Attempt)] = e.Fault
	}
	return faults
}

// discard is a response nobody reads.
type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(p []byte) (int, error) { return io.Discard.Write(p) }
func (d discard) WriteHeader(int)             {}

func TestTheSeedDecidesTheFaultsInAnyOrderOfArrival(t *testing.T) {
	t.Parallel()
	kinds := []FaultKind{Fault500, Fault503, FaultResetAfter, FaultWrongCount, FaultHTML}
	config := Config{Seed: 7, Faults: FaultMix(0.3, kinds...), LogSize: 10_000}
	one := faultsOf(t, New(config), 600)
	if two := faultsOf(t, New(config), 600); !maps.Equal(one, two) {
		t.Error("the same seed gave other faults")
	}
	config.Seed = 8
	if other := faultsOf(t, New(config), 600); maps.Equal(one, other) {
		t.Error("another seed gave the same faults")
	}
	counts := map[FaultKind]int{}
	for _, kind := range one {
		counts[kind]++
	}
	for _, kind := range kinds {
		if share := float64(counts[kind]) / float64(len(one)); math.Abs(share-0.06) > 0.025 {
			t.Errorf("%s struck %.3f of the requests, must be about 0.06", kind, share)
		}
	}
}

func TestLatencyIsWaitedByAnswersAndNotByRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Latency: time.Minute, LatencyJitter: 10 * time.Second, Quota: Quota{Limit: 2}})
		for i, target := range []string{oneSite, oneSite + "&lang=en", oneSite} {
			start := time.Now()
			w := ask(t, s, target)
			took := time.Since(start)
			if i < 2 && (took < time.Minute || took >= 70*time.Second) || i == 2 && took != 0 {
				t.Errorf("request %d: %d after %v", i, w.Code, took)
			}
		}
		start := time.Now()
		ask(t, s, "/_simulator/counters")
		if took := time.Since(start); took != 0 {
			t.Errorf("counters took %v", took)
		}
		log := s.Requests()
		if log[0].Duration == log[1].Duration || log[0].Duration < time.Minute {
			t.Errorf("durations %v and %v: jitter differs by URL", log[0].Duration, log[1].Duration)
		}
	})
}

func TestASlowBodyStallsHalfWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Faults: []Fault{{Kind: FaultSlowBody}}})
		start := time.Now()
		w := ask(t, s, oneSite)
		if took := time.Since(start); took != defaultStall || !w.Flushed || len(readPage(t, w.Body.Bytes()).Features) != 31 {
			t.Errorf("took %v, flushed %v", took, w.Flushed)
		}
	})
}

func TestAMixOfChanceZeroHasNoFaults(t *testing.T) {
	t.Parallel()
	if faults := FaultMix(0, FaultKinds()...); len(faults) != 0 {
		t.Errorf("faults are %v", faults)
	}
	if err := (Config{Faults: FaultMix(1, FaultKinds()...)}).Validate(); err != nil {
		t.Errorf("a mix of chance one is refused: %v", err)
	}
}
