package simulator

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func post(t *testing.T, h http.Handler, target, body string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(body)))
	return w
}

func TestAChangeKeepsWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	s := New(Config{PageRows: 7, Quota: Quota{Limit: 3, Window: time.Minute}, Faults: []Fault{{Kind: Fault500, Times: 1, Rate: 0.5}}})
	w := post(t, s, "/_simulator/config", `{"latency":"1ms","quota":{"limit":9}}`)
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	c := s.Config()
	if c.Latency != time.Millisecond || c.Quota.Limit != 9 || c.Quota.Window != time.Minute || c.PageRows != 7 ||
		len(c.Faults) != 1 || c.Faults[0] != (Fault{Kind: Fault500, Times: 1, Rate: 0.5}) {
		t.Errorf("config is %+v", c)
	}
	post(t, s, "/_simulator/config", `{"faults":[{"kind":"slow_body","delay":"3s"}]}`)
	if f := s.Config().Faults; len(f) != 1 || f[0] != (Fault{Kind: FaultSlowBody, Delay: 3 * time.Second}) {
		t.Errorf("faults are %+v", f)
	}
	post(t, s, "/_simulator/config", `{"faults":[]}`)
	if f := s.Config().Faults; len(f) != 0 {
		t.Errorf("faults are %+v", f)
	}
	read := ask(t, s, "/_simulator/config").Body.String()
	if again := post(t, s, "/_simulator/config", read); again.Body.String() != read {
		t.Errorf("what was read cannot be sent back: %s", again.Body)
	}
}

func TestABadChangeChangesNothing(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	before := ask(t, s, "/_simulator/config").Body.String()
	for body, want := range map[string]string{
		`{"latency":"1ms","page_rows":-1}`:             "page_rows",
		`{"latency":"soon"}`:                           "soon",
		`{"latency":"1ms","speed":1}`:                  "speed",
		`{"latency":"1ms"} {}`:                         "more than one",
		`{"latency":"1ms","faults":[{"kind":"rain"}]}`: "kind",
		"": "EOF",
		`{"foreign_host":"` + strings.Repeat("x", maxControlBody) + `"}`: "too large",
	} {
		w := post(t, s, "/_simulator/config", body)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%.60s: %d %s", body, w.Code, w.Body)
		}
	}
	if after := ask(t, s, "/_simulator/config").Body.String(); after != before {
		t.Errorf("config is %s", after)
	}
}

func TestControlPathsAreNeverCountedOrFaulted(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := New(Config{Now: c.Now, Quota: Quota{Limit: 1}, MaxInFlight: 1, URLBytes: 1000, Faults: []Fault{{Kind: Fault500}}})
	ask(t, s, oneSite, "X-Api-Key", "secret")
	for _, path := range []string{"counters", "requests", "requests?last=1", "config"} {
		if w := ask(t, s, "/_simulator/"+path); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	var counters Counters
	if err := json.Unmarshal(ask(t, s, "/_simulator/counters").Body.Bytes(), &counters); err != nil {
		t.Fatal(err)
	}
	if counters.Requests != 1 || counters.Faults[Fault500] != 1 || counters.ByStatus[500] != 1 || counters.MostInFlight != 1 {
		t.Errorf("counters are %+v", counters)
	}
	var log []Exchange
	if err := json.Unmarshal(ask(t, s, "/_simulator/requests?last=5").Body.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	if len(log) != 1 || log[0].URL != oneSite || log[0].Status != 500 || !log[0].Keyed || !log[0].Time.Equal(c.now) {
		t.Errorf("log is %+v", log)
	}
	for target, want := range map[string]int{"/_simulator/requests?last=x": 400, "/_simulator/nothing": 404, "/_simulator/reset": 405} {
		if w := ask(t, s, target); w.Code != want {
			t.Errorf("%s: %d, must be %d", target, w.Code, want)
		}
	}
}

func TestResetForgetsAndKeepsSpentQuotaUnlessAsked(t *testing.T) {
	t.Parallel()
	s := New(Config{Quota: Quota{Limit: 1}, Faults: []Fault{{Kind: Fault500, Times: 1}}})
	ask(t, s, oneSite)
	if w := post(t, s, "/_simulator/reset", ""); w.Code != http.StatusOK {
		t.Fatalf("reset: %d", w.Code)
	}
	if c := s.Counters(); c.Requests != 0 || len(c.ByURL) != 0 || len(s.Requests()) != 0 {
		t.Errorf("counters are %+v", c)
	}
	if w := ask(t, s, oneSite); w.Code != http.StatusTooManyRequests {
		t.Errorf("spent quota came back: %d", w.Code)
	}
	post(t, s, "/_simulator/reset?quota=refill", "")
	if w := ask(t, s, oneSite); w.Code != http.StatusInternalServerError {
		t.Errorf("the script did not start again: %d", w.Code)
	}
	if w := post(t, s, "/_simulator/reset?quota=no", ""); w.Code != http.StatusBadRequest {
		t.Errorf("quota=no: %d", w.Code)
	}
}

func TestAChangedQuotaStartsFresh(t *testing.T) {
	t.Parallel()
	s := New(Config{Quota: Quota{Limit: 1}})
	ask(t, s, oneSite)
	post(t, s, "/_simulator/config", `{"latency":"0s"}`)
	if w := ask(t, s, oneSite); w.Code != http.StatusTooManyRequests {
		t.Errorf("an unrelated change gave quota back: %d", w.Code)
	}
	post(t, s, "/_simulator/config", `{"quota":{"limit":0}}`)
	if w := ask(t, s, oneSite); w.Code != http.StatusOK {
		t.Errorf("quota 0 refuses: %d", w.Code)
	}
}
