package superset_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator/superset"
)

// TestFaults has a fault strike a request and looks at what the client sees.
func TestFaults(t *testing.T) {
	t.Parallel()
	status := func(code int) superset.Fault { return superset.Fault{Action: superset.Status, Status: code} }
	is := func(code int, message string) func(*testing.T, answer) {
		return func(t *testing.T, a answer) {
			if a.status != code || a.message() != message {
				t.Errorf("status %d, %v: %s", a.status, a.err, a.body)
			}
		}
	}
	html := func(code int) func(*testing.T, answer) {
		return func(t *testing.T, a answer) {
			if a.status != code || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") || !strings.Contains(string(a.body), "<html>") {
				t.Errorf("status %d: %s", a.status, a.body)
			}
		}
	}
	ends := func(want error) func(*testing.T, answer) {
		return func(t *testing.T, a answer) {
			if !errors.Is(a.err, want) {
				t.Errorf("status %d, %v", a.status, a.err)
			}
		}
	}
	result := func(check func(objects []json.RawMessage) bool) func(*testing.T, answer) {
		return func(t *testing.T, a answer) {
			var body struct{ Result []json.RawMessage }
			if err := json.Unmarshal(a.body, &body); a.status != http.StatusOK || err != nil || !check(body.Result) {
				t.Errorf("status %d, %v: %.300s", a.status, err, a.body)
			}
		}
	}
	for _, c := range []struct {
		name  string
		fault superset.Fault
		check func(*testing.T, answer)
	}{
		{"400 of the database", status(400), is(400, "Error: canceling statement due to statement timeout")},
		{"another 400", superset.Fault{Action: superset.Status, Status: 400, Message: "Request is incorrect: x"}, is(400, "Request is incorrect: x")},
		{"401", status(401), is(401, "Not authorized")},
		{"403", status(403), is(403, "errors: Forbidden")},
		{"404", status(404), is(404, "Not found")},
		{"408", status(408), is(408, "errors: Request Timeout")},
		{"422", status(422), is(422, "msg: Not enough segments")},
		{"429", status(429), is(429, "errors: 429 Too Many Requests: 50 per 1 second")},
		{"500", status(500), is(500, "errors: Fatal error")},
		{"502", status(502), html(502)},
		{"503", status(503), html(503)},
		{"504", status(504), html(504)},
		{"500 of a proxy", superset.Fault{Action: superset.Status, Status: 500, HTML: true}, html(500)},
		{"429 with a time", superset.Fault{Action: superset.Status, Status: 429, RetryAfter: 7}, func(t *testing.T, a answer) {
			if a.header.Get("Retry-After") != "7" {
				t.Errorf("Retry-After is %q", a.header.Get("Retry-After"))
			}
		}},
		{"the login page", superset.Fault{Action: superset.LoginRedirect}, func(t *testing.T, a answer) {
			if a.status != http.StatusFound || a.header.Get("Location") != "/login/" {
				t.Errorf("status %d to %s", a.status, a.header.Get("Location"))
			}
		}},
		{"a page", superset.Fault{Action: superset.HTMLBody}, func(t *testing.T, a answer) {
			if a.status != http.StatusOK || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
				t.Errorf("status %d, %s", a.status, a.header.Get("Content-Type"))
			}
		}},
		{"reset at once", superset.Fault{Action: superset.Refuse}, func(t *testing.T, a answer) {
			if !errors.Is(a.err, syscall.ECONNRESET) && !errors.Is(a.err, io.EOF) { // EOF where the client notices the end first
				t.Errorf("status %d, %v", a.status, a.err)
			}
		}},
		{"reset in the body", superset.Fault{Action: superset.ResetBody, Bytes: 100}, func(t *testing.T, a answer) {
			if a.status != http.StatusOK || len(a.body) > 100 || a.err == nil {
				t.Errorf("status %d, %d bytes, %v", a.status, len(a.body), a.err)
			}
		}},
		{"cut short", superset.Fault{Action: superset.CutBody, Bytes: 100}, ends(io.ErrUnexpectedEOF)},
		{"cut before the last byte", superset.Fault{Action: superset.CutBody, Bytes: 1 << 30}, ends(io.ErrUnexpectedEOF)},
		{"no JSON", superset.Fault{Action: superset.WrongJSON}, func(t *testing.T, a answer) {
			if a.status != http.StatusOK || json.Valid(a.body) {
				t.Errorf("status %d: %s", a.status, a.body)
			}
		}},
		{"one result too few", superset.Fault{Action: superset.ResultLength, Length: 1}, result(func(o []json.RawMessage) bool { return len(o) == 1 })},
		{"none", superset.Fault{Action: superset.ResultLength}, result(func(o []json.RawMessage) bool { return len(o) == 0 })},
		{"one too many", superset.Fault{Action: superset.ResultLength, Length: 3}, result(func(o []json.RawMessage) bool { return len(o) == 3 })},
		{"a field that is not there", superset.Fault{Action: superset.Spoil, Query: 1, Drop: []string{"is_cached"}}, result(func(o []json.RawMessage) bool {
			return strings.Contains(string(o[0]), `"is_cached"`) && !strings.Contains(string(o[1]), `"is_cached"`)
		})},
		{"a field of another type", superset.Fault{Action: superset.Spoil, Query: -1, Set: map[string]json.RawMessage{"cache_timeout": json.RawMessage(`"1"`)}}, result(func(o []json.RawMessage) bool {
			return strings.Contains(string(o[0]), `"cache_timeout": "1"`) && strings.Contains(string(o[1]), `"cache_timeout": "1"`)
		})},
		{"no object", superset.Fault{Action: superset.Spoil, Replace: json.RawMessage(`17`)}, result(func(o []json.RawMessage) bool { return string(o[0]) == "17" && len(o[1]) > 100 })},
		{"slow headers", superset.Fault{Action: superset.SlowHeaders, Delay: time.Millisecond}, result(func(o []json.RawMessage) bool { return len(o) == 2 })},
		{"a token that ends", superset.Fault{Action: superset.RevokeToken}, is(401, "msg: Token has been revoked")},
		{"a filter that is not applied", superset.Fault{Action: superset.RejectFilter}, result(func(o []json.RawMessage) bool {
			return strings.Contains(string(o[0]), `"rejected_filters": [{"column":"order_month"`)
		})},
		{"the second query fails", superset.Fault{Action: superset.QueryFailed, Query: 1, Message: "division by zero"}, is(400, "Error: division by zero")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.fault.Match.Times = 1
			r := start(t, superset.Config{Profile: superset.V6, Faults: []superset.Fault{c.fault}})
			who := r.login("alpha")
			c.check(t, r.ask(who, 103, ""))
			stats := r.Stats()
			last := stats.Log[len(stats.Log)-1]
			if last.Fault != c.fault.Action || stats.InFlight != 0 {
				t.Errorf("log: %+v, in flight %d", last, stats.InFlight)
			}
			if c.fault.Action == superset.RevokeToken {
				who = r.login("alpha")
			}
			if a := r.ask(who, 103, ""); a.status != http.StatusOK {
				t.Errorf("the next one: %d, %v", a.status, a.err)
			}
		})
	}
}

func TestAHangEndsWhenTheClientGivesUp(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{Faults: []superset.Fault{{Action: superset.Hang}}})
	who := r.login("alpha")
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", r.base+"/api/v1/chart/data", strings.NewReader(payload(t, 101, "")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = who
	var asking sync.WaitGroup
	asking.Go(func() {
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			t.Error("was answered")
		}
	})
	for r.Counters().Routes[superset.ChartData].InFlight == 0 && t.Context().Err() == nil {
		r.send("GET", "/health", nil, "") // until it has arrived
	}
	cancel()
	asking.Wait()
	for r.Counters().Routes[superset.ChartData].InFlight > 0 && t.Context().Err() == nil {
		r.send("GET", "/health", nil, "") // until the server has noticed
	}
	for _, request := range r.Stats().Log {
		if request.Route == superset.ChartData && !request.Abandoned {
			t.Errorf("log: %+v", request)
		}
	}
}

func TestFaultsMatch(t *testing.T) {
	t.Parallel()
	bad := func(m superset.Match) []superset.Fault {
		return []superset.Fault{{Match: m, Action: superset.Status, Status: 500}}
	}
	for _, c := range []struct {
		name   string
		faults []superset.Fault
		want   string // of asking charts 101 and 102 as alpha, then as gamma, and all again: . is good, x is bad
	}{
		{"all", bad(superset.Match{}), "xxxxxxxx"},
		{"a chart", bad(superset.Match{Chart: 101}), "x.x.x.x."},
		{"a role", bad(superset.Match{Role: "Gamma"}), "..xx..xx"},
		{"from the third", bad(superset.Match{From: 3}), "..xxxxxx"},
		{"the third to fifth", bad(superset.Match{From: 3, To: 5}), "..xxx..."},
		{"three times", bad(superset.Match{Times: 3}), "xxx....."},
		{"first attempts", bad(superset.Match{Attempts: 1}), "xxxx...."},
		{"another route", bad(superset.Match{Route: "login"}), "........"},
		{"later", bad(superset.Match{Begin: time.Minute}), "........"},
		{"no longer", bad(superset.Match{End: time.Nanosecond}), "xxxxxxxx"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, superset.Config{})
			alpha, gamma := r.login("alpha"), r.login("gamma")
			if err := r.SetFaults(c.faults...); err != nil {
				t.Fatal(err)
			}
			got := ""
			for range 2 {
				for _, who := range []http.Header{alpha, gamma} {
					for _, chart := range []int64{101, 102} {
						got += map[int]string{200: ".", 500: "x"}[r.ask(who, chart, "").status]
					}
				}
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestChanceIsOfTheSeedNotOfTheOrder(t *testing.T) {
	t.Parallel()
	outcomes := func(seed uint64, charts []int64) map[int64]int {
		r := start(t, superset.Config{Seed: seed, Faults: []superset.Fault{{Match: superset.Match{Rate: 0.5}, Action: superset.Status, Status: 500}}})
		who := r.login("alpha")
		got := map[int64]int{}
		for attempt := range 4 {
			for _, chart := range charts {
				got[chart] += r.ask(who, chart, "").status << (attempt * 10)
			}
		}
		return got
	}
	charts, turned := []int64{101, 102, 103, 104, 105, 106}, []int64{106, 105, 104, 103, 102, 101}
	one, two, other := outcomes(1, charts), outcomes(1, turned), outcomes(2, charts)
	same := 0
	for _, chart := range charts {
		if one[chart] != two[chart] {
			t.Errorf("chart %d: %d and %d", chart, one[chart], two[chart])
		}
		if one[chart] == other[chart] {
			same++
		}
	}
	if same == len(charts) {
		t.Error("another seed, the same chances")
	}
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{RateLimit: 8, LoginRateLimit: 2, LimiterHeaders: true})
	who := r.login("alpha")
	r.login("gamma")
	if a := r.send("POST", "/api/v1/security/login", nil, `{}`); a.status != http.StatusTooManyRequests || a.message() != "errors: 429 Too Many Requests: 2 per 1 second" {
		t.Errorf("third login: %d %s", a.status, a.body)
	}
	for range 5 {
		if a := r.ask(who, 101, ""); a.status != http.StatusOK {
			t.Errorf("below the limit: %d", a.status)
		}
	}
	if a := r.ask(who, 101, ""); a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") != "1" {
		t.Errorf("above the limit: %d, Retry-After %q", a.status, a.header.Get("Retry-After"))
	}
	r.Advance(time.Second)
	if a := r.ask(who, 101, ""); a.status != http.StatusOK {
		t.Errorf("a second later: %d", a.status)
	}
	if err := r.Update(func(c *superset.Config) { c.LimiterHeaders, c.RateLimit = false, 1 }); err != nil {
		t.Fatal(err)
	}
	if a := r.ask(who, 101, ""); a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") != "" {
		t.Errorf("without headers: %d, Retry-After %q", a.status, a.header.Get("Retry-After"))
	}
}
