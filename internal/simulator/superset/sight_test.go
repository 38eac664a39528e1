package superset_test

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidhq/braid/internal/simulator/superset"
)

// TestCountersAreExact has clients with a bound of their own send at once: the server never counts more in flight than they have.
func TestCountersAreExact(t *testing.T) {
	t.Parallel()
	const clients, each = 8, 60
	r := start(t, superset.Config{Cache: superset.CacheNull, Latency: superset.Latency{Slots: 3}})
	who := r.login("alpha")
	large := payload(t, 109, `{"queries": [{"columns": ["day", "device"], "metrics": ["sessions"], "filters": []}]}`) // several pieces
	var sending sync.WaitGroup
	for range clients {
		sending.Go(func() {
			for n := range each {
				body := large
				if n%2 == 0 {
					body = payload(t, 104, "")
				}
				if a := r.send("POST", "/api/v1/chart/data", who, body); a.status != http.StatusOK {
					t.Errorf("status %d, %v", a.status, a.err)
				}
			}
		})
	}
	sending.Wait()
	s := r.Stats()
	route := s.Routes[superset.ChartData]
	if route.Requests != clients*each || s.Requests != clients*each+1 || s.InFlight != 0 || route.InFlight != 0 || s.Statuses[200] != clients*each+1 {
		t.Errorf("counted %+v of %+v", route, s.Statuses)
	}
	if route.MaxInFlight < 1 || route.MaxInFlight > clients || s.MaxInFlight > clients {
		t.Errorf("in flight: %d, on the route %d, of %d clients", s.MaxInFlight, route.MaxInFlight, clients)
	}
	if s.Executed != clients*each || s.MaxDatabase > 3 || s.Identities["alpha"] != clients*each {
		t.Errorf("executed %d, at once %d, by alpha %d", s.Executed, s.MaxDatabase, s.Identities["alpha"])
	}
	attempts := map[string]int{}
	for i, request := range s.Log {
		if request.Ordinal != i+1 || request.Left < request.Arrived || (i > 0 && request.Arrived < s.Log[i-1].Arrived) {
			t.Fatalf("request %d: %+v", i, request)
		}
		attempts[request.PayloadHash] = max(attempts[request.PayloadHash], request.Attempt)
	}
	sum := sha256.Sum256([]byte(large))
	if n := attempts[hex.EncodeToString(sum[:])]; n != clients*each/2 {
		t.Errorf("%d attempts of one payload", n)
	}
}

func TestMarksCountWhatFollows(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{})
	who := r.login("alpha")
	r.Mark("trip")
	if m := r.Counters().Since("trip"); m.Requests != 0 || m.Ordinal != 1 {
		t.Errorf("at once: %+v", m)
	}
	r.ask(who, 101, "")
	r.login("alpha")
	if m := r.Counters().Since("trip"); m.Requests != 2 || m.Routes[superset.ChartData] != 1 || m.Routes["login"] != 1 {
		t.Errorf("later: %+v", m)
	}
	r.Mark("trip")
	if s := r.Counters(); s.Since("trip").Requests != 0 || len(s.Marks) != 1 || s.Since("none").Ordinal != 0 {
		t.Errorf("moved: %+v", s.Marks)
	}
	r.Reset()
	if s := r.Stats(); s.Requests != 0 || len(s.Log) != 0 || len(s.Marks) != 0 || len(r.Cache()) != 0 {
		t.Errorf("after a reset: %+v", s)
	}
}

func TestTheLogKeepsTheLatest(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{LogSize: 3})
	for range 5 {
		r.send("GET", "/health", nil, "")
	}
	s := r.Stats()
	if s.Requests != 5 || len(s.Log) != 3 || s.Log[0].Ordinal != 3 || s.Log[2].Ordinal != 5 {
		t.Errorf("%d requests, log %+v", s.Requests, s.Log)
	}
}

func TestEqualServersGiveEqualAnswers(t *testing.T) {
	t.Parallel()
	ask := func(config superset.Config, chart int64) string {
		r := start(t, config)
		return string(r.ask(r.login("gamma"), chart, "").body)
	}
	for _, chart := range []int64{101, 102, 103, 106, 109} {
		first, second := ask(superset.Config{Seed: 7}, chart), ask(superset.Config{Seed: 7}, chart)
		if first != second {
			t.Errorf("chart %d: one seed, two answers", chart)
		}
		if first == ask(superset.Config{Seed: 8}, chart) {
			t.Errorf("chart %d: two seeds, one answer", chart)
		}
	}
}

// data is the raw data of the first query object, and its rows as a set.
func data(t *testing.T, a answer) (string, map[string]int) {
	t.Helper()
	raw := a.fields(t)[0]["data"]
	var rows []json.RawMessage
	if err := json.Unmarshal(raw, &rows); err != nil {
		t.Fatal(err)
	}
	set := map[string]int{}
	for _, row := range rows {
		set[string(row)]++
	}
	return string(raw), set
}

func TestInconsistencies(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{Cache: superset.CacheNull, Data: superset.Data{ChangeAt: time.Minute}})
	who := r.login("alpha")
	first, set := data(t, r.ask(who, 101, ""))
	if again, _ := data(t, r.ask(who, 101, "")); again != first {
		t.Error("the same inputs, other rows")
	}
	r.Advance(time.Minute)
	if changed, _ := data(t, r.ask(who, 101, "")); changed == first {
		t.Error("the rows have not changed")
	}
	r = start(t, superset.Config{Cache: superset.CacheNull, Data: superset.Data{Shuffle: true}})
	who = r.login("alpha")
	orders := map[string]bool{}
	for range 4 {
		order, rows := data(t, r.ask(who, 101, ""))
		orders[order] = true
		if len(rows) != len(set) {
			t.Errorf("%d rows, want %d", len(rows), len(set))
		}
		for row, n := range rows {
			if set[row] != n {
				t.Errorf("%d of the row %s, want %d", n, row, set[row])
			}
		}
	}
	if len(orders) < 2 {
		t.Error("the order is always the same")
	}
}

// TestLargeAnswersAreStreamed reads a million rows, and 1 GB, without the server holding them.
func TestLargeAnswersAreStreamed(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 1 GB")
	}
	for name, c := range map[string]struct {
		rows, width int
		least       int64
	}{
		"a million rows": {1_000_000, 1, 40_000_000},
		"1 GB":           {16_000, 65_536, 1_000_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, superset.Config{Data: superset.Data{Rows: c.rows, Width: c.width}})
			who := r.login("alpha")
			for _, state := range []string{"null", "true"} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				n, head := r.drain(who, state == "null")
				if runtime.ReadMemStats(&after); after.Sys > before.Sys+64<<20 {
					t.Errorf("memory grew by %d", after.Sys-before.Sys)
				}
				if !strings.Contains(head, `"is_cached": `+state) || !strings.Contains(head, fmt.Sprintf(`"rowcount": %d,`, c.rows)) {
					t.Errorf("begins %s", head)
				}
				if state == "null" && n < c.least {
					t.Errorf("%d bytes", n)
				}
			}
		})
	}
}

// drain reads the chart of raw events, all of it or its beginning alone.
func (r *rig) drain(header http.Header, all bool) (n int64, head string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), "POST", r.base+"/api/v1/chart/data",
		strings.NewReader(payload(r.t, 141, `{"form_data": {"slice_id": 141, "dashboardId": 14}}`)))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header = header.Clone()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text := make([]byte, 1000)
	if _, err := io.ReadFull(resp.Body, text); err != nil {
		r.t.Fatal(err)
	}
	if all {
		if n, err = io.Copy(io.Discard, resp.Body); err != nil {
			r.t.Fatal(err)
		}
	}
	return n, string(text)
}

func TestCompressedAnswers(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{Gzip: true})
	who := r.login("alpha")
	who.Set("Accept-Encoding", "gzip")
	a := r.ask(who, 109, "")
	if a.header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("status %d, %v", a.status, a.header)
	}
	reader, err := gzip.NewReader(strings.NewReader(string(a.body)))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(reader); err != nil || !json.Valid(text) {
		t.Errorf("%v: %.100s", err, text)
	}
}

// bubble sends requests to a handler in a synctest bubble, where time is exact.
type bubble struct {
	*superset.Server
	header http.Header
}

func inBubble(t *testing.T, config superset.Config, test func(t *testing.T, b *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{Server: superset.New(config)}
		defer b.Close()
		w := b.send(t.Context(), "/api/v1/security/login", `{"username": "alpha", "password": "alpha-secret", "provider": "db"}`)
		var out struct {
			Access string `json:"access_token"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
			t.Fatalf("login: %d %s", w.Code, w.Body)
		}
		b.header = bearer(out.Access)
		test(t, b)
	})
}

func (b *bubble) send(ctx context.Context, path, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequestWithContext(ctx, "POST", path, strings.NewReader(body))
	maps.Copy(req.Header, b.header)
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	b.ServeHTTP(w, req)
	return w
}

// takes sends so many requests at once and gives how long each took, in order of their end.
func (b *bubble) takes(t *testing.T, body string, n int) []time.Duration {
	t.Helper()
	var mu sync.Mutex
	var all []time.Duration
	var sending sync.WaitGroup
	for range n {
		sending.Go(func() {
			began := time.Now()
			if w := b.send(t.Context(), "/api/v1/chart/data", body); w.Code != http.StatusOK {
				t.Errorf("status %d: %.200s", w.Code, w.Body)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, time.Since(began))
		})
	}
	sending.Wait()
	return all
}

func TestLatency(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	base := superset.Distribution{Low: 100 * ms}
	for _, c := range []struct {
		name    string
		latency superset.Latency
		cache   superset.CacheMode
		at      int // requests at once
		rounds  int
		want    []time.Duration
	}{
		{"constant", superset.Latency{Base: base}, "", 1, 1, []time.Duration{100 * ms}},
		{"of a chart", superset.Latency{Base: base, Charts: map[int64]superset.Distribution{104: {Low: 30 * ms}}}, "", 1, 1, []time.Duration{30 * ms}},
		{"per row", superset.Latency{Base: base, PerRow: ms}, "", 1, 1, []time.Duration{105 * ms}},
		{"a hit", superset.Latency{Base: base, Hit: 2 * ms}, "", 1, 2, []time.Duration{100 * ms, 2 * ms}},
		{"no bound", superset.Latency{Base: base}, superset.CacheNull, 4, 1, []time.Duration{100 * ms, 100 * ms, 100 * ms, 100 * ms}},
		{"two slots", superset.Latency{Base: base, Slots: 2}, superset.CacheNull, 5, 1, []time.Duration{100 * ms, 100 * ms, 200 * ms, 200 * ms, 300 * ms}},
		{
			"steps",
			superset.Latency{Base: base, Steps: []superset.Step{{From: 2, Factor: 5}, {From: 4, Factor: 1}}},
			superset.CacheNull, 1, 4,
			[]time.Duration{100 * ms, 500 * ms, 500 * ms, 100 * ms},
		},
		{
			"a freeze",
			superset.Latency{Base: base, Freeze: []superset.Freeze{{At: 2, For: 3 * time.Second}}},
			superset.CacheNull, 1, 3,
			[]time.Duration{100 * ms, 3100 * ms, 100 * ms},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, superset.Config{Latency: c.latency, Cache: c.cache}, func(t *testing.T, b *bubble) {
				var got []time.Duration
				for range c.rounds {
					got = append(got, b.takes(t, payload(t, 104, ""), c.at)...)
				}
				if len(got) != len(c.want) {
					t.Fatalf("took %v", got)
				}
				for i := range got {
					if got[i] != c.want[i] {
						t.Errorf("took %v, want %v", got, c.want)
						break
					}
				}
				for i, request := range b.Stats().Log[1:] {
					if took := request.Left - request.Arrived; c.at == 1 && took != c.want[i] {
						t.Errorf("the record of request %d says %v", i+1, took)
					}
				}
			})
		})
	}
}

func TestAFreezeHoldsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	inBubble(t, superset.Config{Latency: superset.Latency{Base: superset.Distribution{Low: time.Second}}}, func(t *testing.T, b *bubble) {
		time.AfterFunc(500*time.Millisecond, func() { b.Freeze(3 * time.Second) })
		if got := b.takes(t, payload(t, 104, ""), 1)[0]; got != 3500*time.Millisecond {
			t.Errorf("took %v", got)
		}
	})
}

func TestSlowBodies(t *testing.T) {
	t.Parallel()
	inBubble(t, superset.Config{Latency: superset.Latency{BodyBytes: 100, BodyTick: time.Second}}, func(t *testing.T, b *bubble) {
		began := time.Now()
		n := b.send(t.Context(), "/api/v1/chart/data", payload(t, 104, "")).Body.Len()
		if took, want := time.Since(began), time.Duration((n-1)/100)*time.Second; took != want {
			t.Errorf("%d bytes took %v, want %v", n, took, want)
		}
	})
}

func TestDistributionsAreDrawnFromTheSeed(t *testing.T) {
	t.Parallel()
	const low, high = 100 * time.Millisecond, 300 * time.Millisecond
	for _, d := range []superset.Distribution{{Shape: superset.Uniform, Low: low, High: high}, {Shape: superset.LogNormal, Low: low, Sigma: 0.4}} {
		t.Run(string(d.Shape), func(t *testing.T) {
			t.Parallel()
			draws := func(seed uint64) (all []time.Duration) {
				config := superset.Config{Seed: seed, Cache: superset.CacheNull, Latency: superset.Latency{Base: d}}
				inBubble(t, config, func(t *testing.T, b *bubble) {
					for range 200 {
						all = append(all, b.takes(t, payload(t, 104, ""), 1)...)
					}
				})
				return all
			}
			one, two, other := draws(1), draws(1), draws(2)
			below, same := 0, 0
			for i := range one {
				if one[i] != two[i] {
					t.Fatalf("draw %d: %v and %v", i, one[i], two[i])
				}
				if one[i] == other[i] {
					same++
				}
				if one[i] < low {
					below++
				}
				if d.Shape == superset.Uniform && (one[i] < low || one[i] > high) {
					t.Errorf("draw %d: %v", i, one[i])
				}
			}
			if d.Shape == superset.LogNormal && (below < 70 || below > 130) {
				t.Errorf("%d of 200 are below the median", below)
			}
			if same > 10 {
				t.Errorf("%d draws are those of another seed", same)
			}
		})
	}
}

// TestOrphansOccupyTheServer has a client give up while its query runs.
func TestOrphansOccupyTheServer(t *testing.T) {
	t.Parallel()
	for _, orphans := range []bool{false, true} {
		config := superset.Config{Orphans: orphans, Latency: superset.Latency{Base: superset.Distribution{Low: 10 * time.Second}}}
		inBubble(t, config, func(t *testing.T, b *bubble) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			b.send(ctx, "/api/v1/chart/data", payload(t, 104, ""))
			want := time.Second
			if orphans {
				want = 10 * time.Second
			}
			if took := time.Since(began); took != want || len(b.Cache()) != map[bool]int{true: 1}[orphans] {
				t.Errorf("orphans %v: took %v, cache %v", orphans, took, b.Cache())
			}
			if last := b.Stats().Log[1]; !last.Abandoned || b.Counters().InFlight != 0 {
				t.Errorf("log: %+v", last)
			}
		})
	}
}
