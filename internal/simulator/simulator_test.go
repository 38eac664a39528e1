package simulator

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a clock that a test moves by hand.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock {
	return &clock{now: time.Date(2026, 3, 1, 12, 20, 0, 0, time.UTC)}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// collectionPage is what a client reads of one answer.
type collectionPage struct {
	Type           string            `json:"type"`
	Features       []json.RawMessage `json:"features"`
	NumberReturned int               `json:"numberReturned"`
	Links          []struct{ Rel, Href string }
}

func (p collectionPage) link(rel string) string {
	for _, link := range p.Links {
		if link.Rel == rel {
			return link.Href
		}
	}
	return ""
}

// ask sends one request past the network.
func ask(t *testing.T, h http.Handler, target string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func readPage(t *testing.T, body []byte) collectionPage {
	t.Helper()
	var p collectionPage
	if err := json.Unmarshal(body, &p); err != nil {
		t.Fatalf("read page: %v in %.200q", err, body)
	}
	return p
}

// walk follows next links from a target and returns every feature and the number of pages.
func walk(t *testing.T, h http.Handler, target string) (features []string, pages int) {
	t.Helper()
	for target != "" {
		w := ask(t, h, target)
		if w.Code != http.StatusOK {
			t.Fatalf("GET %s: %d %s", target, w.Code, w.Body)
		}
		p := readPage(t, w.Body.Bytes())
		if p.NumberReturned != len(p.Features) {
			t.Fatalf("numberReturned is %d for %d features", p.NumberReturned, len(p.Features))
		}
		for _, f := range p.Features {
			features = append(features, string(f))
		}
		if pages++; pages > 10_000 {
			t.Fatal("the next links never end")
		}
		target = p.link("next")
	}
	return features, pages
}

// listen starts a server for tests that need a real connection.
func listen(t *testing.T, s *Simulator) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server
}

// fetch sends one request over the network and reads the whole answer.
func fetch(ctx context.Context, client *http.Client, url string) (status int, body string, err error) {
	var text strings.Builder
	status, err = fetchTo(ctx, client, url, &text)
	return status, text.String(), err
}

func fetchTo(ctx context.Context, client *http.Client, url string, body io.Writer) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	response, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(body, response.Body)
	return response.StatusCode, err
}

const oneSite = DailyPath + "?monitoring_location_id=USGS-05427718&time=2024-01-01/2024-01-31&limit=50000"

func TestURLAboveTheLimitIs414InHTML(t *testing.T) {
	t.Parallel()
	s := New(Config{URLBytes: 300, Quota: Quota{Limit: 5}})
	base := "http://example.test" + oneSite + "&lang="
	atLimit := base + strings.Repeat("x", 300-len(base))
	if w := ask(t, s, atLimit); w.Code == http.StatusRequestURITooLong {
		t.Errorf("URL of 300 bytes: %d", w.Code)
	}
	w := ask(t, s, atLimit+"x")
	if w.Code != http.StatusRequestURITooLong || w.Header().Get("Content-Type") != "text/html" {
		t.Errorf("URL of 301 bytes: %d, %s", w.Code, w.Header().Get("Content-Type"))
	}
	if got := w.Header().Get("X-RateLimit-Remaining"); got != "4" {
		t.Errorf("remaining is %s, must be 4: a 414 costs nothing and still says where the client stands", got)
	}
	if c := s.Counters(); c.TooLong != 1 || c.Requests != 2 {
		t.Errorf("too_long %d, requests %d", c.TooLong, c.Requests)
	}
}

func TestKeysAreCheckedAndNeverSpendQuota(t *testing.T) {
	t.Parallel()
	s := New(Config{Keys: []string{"good"}, RequireKey: true, Quota: Quota{Limit: 2}})
	for _, test := range []struct {
		key, code string
		status    int
	}{
		{"", "API_KEY_MISSING", 403},
		{"bad", "API_KEY_INVALID", 403},
		{"good", "", 200},
	} {
		w := ask(t, s, oneSite, "X-Api-Key", test.key)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.code) {
			t.Errorf("key %q: %d %.80s", test.key, w.Code, w.Body)
		}
	}
	c := s.Counters()
	if c.Denied != 2 || c.OK != 1 || c.WithKey != 2 {
		t.Errorf("denied %d, ok %d, with key %d", c.Denied, c.OK, c.WithKey)
	}
}

func TestUnknownPathsAndMethodsAreRefused(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	if w := ask(t, s, "/ogcapi/v0/collections/nothing/items"); w.Code != http.StatusNotFound {
		t.Errorf("unknown collection: %d", w.Code)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, collectionsPath+"daily/schema", strings.NewReader("{}")))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET" {
		t.Errorf("POST: %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
	w = httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, oneSite, strings.NewReader(strings.Repeat("x", maxBody+1))))
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("huge body: %d", w.Code)
	}
}

func TestRefusedConfigsNameTheirField(t *testing.T) {
	t.Parallel()
	for field, config := range map[string]Config{
		"latency":              {Latency: -1},
		"page_rows":            {PageRows: 50_001},
		"url_bytes":            {URLBytes: -1},
		"max_in_flight_status": {MaxInFlightStatus: 500},
		"quota.limit":          {Quota: Quota{Limit: -1}},
		"quota.model":          {Quota: Quota{Model: "weekly"}},
		"faults[0]: kind":      {Faults: []Fault{{Kind: "meteor"}}},
		"faults[1]: rate":      {Faults: []Fault{{Kind: Fault500}, {Kind: Fault500, Rate: 1.5}}},
		"values.first":         {Values: Values{First: "yesterday"}},
		"values.gap_share":     {Values: Values{GapShare: 2}},
	} {
		err := config.Validate()
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: error is %v", field, err)
		}
	}
	if err := (Config{}).Validate(); err != nil {
		t.Errorf("the zero value is refused: %v", err)
	}
}

func TestGzipIsTheSameAnswerInFewerBytes(t *testing.T) {
	t.Parallel()
	s := New(Config{Gzip: true})
	server := listen(t, s)
	_, zipped, err := fetch(t.Context(), server.Client(), server.URL+oneSite) // the client asks for gzip and unpacks it by itself
	if err != nil {
		t.Fatal(err)
	}
	w := ask(t, s, server.URL+oneSite)
	if w.Body.String() != zipped {
		t.Error("the unpacked answer differs from the plain one")
	}
	for header, want := range map[string]bool{
		"gzip": true, "br, gzip;q=0.5": true, "compress, gzip": true, "gzip;q=0": false, "gzip; q=0.0": false, "br": false, "": false,
	} {
		if acceptsGzip(header) != want {
			t.Errorf("Accept-Encoding %q: %v", header, !want)
		}
	}
}
