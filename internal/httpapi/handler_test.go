package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/internal/httpapi"
	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

func TestEachRouteAsksItsPort(t *testing.T) {
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		asked              string
	}{
		"submit":        {"POST", "/v1/queries", validSpec, 201, "submit"},
		"list":          {"GET", "/v1/queries", "", 200, "statuses"},
		"status":        {"GET", "/v1/queries/q1", "", 200, "status q1"},
		"latest status": {"GET", "/v1/queries/latest", "", 200, "status "},
		"coverage":      {"GET", "/v1/queries/q1/coverage", "", 200, "coverage q1"},
		"manifest":      {"GET", "/v1/queries/q1/manifest", "", 200, "manifest q1"},
		"failures":      {"GET", "/v1/queries/q1/failures", "", 200, "failures q1"},
		"retry":         {"POST", "/v1/queries/q1/resume", `{"failed": true}`, 200, "retry q1"},
		"remove":        {"DELETE", "/v1/queries/q1", "", 204, "remove q1"},
		"resume":        {"POST", "/v1/queries/q1/resume", "", 200, "resume q1"},
		"cancel":        {"POST", "/v1/queries/q1/cancel", "", 200, "cancel q1"},
		"check":         {"GET", "/v1/queries/q1/verify", "", 200, "verify q1 false"},
		"verify":        {"POST", "/v1/queries/q1/verify", "", 200, "verify q1 true"},
		"gc":            {"POST", "/v1/gc", "", 200, "collect 0s false false"},
		"old garbage":   {"POST", "/v1/gc?older_than=30d&interrupted=true&dry_run=true", "", 200, "collect 720h0m0s true true"},
		"plan":          {"POST", "/v1/plan", validSpec, 200, "plan"},
		"quotas":        {"GET", "/v1/quotas", "", 200, "quotas"},
		"results":       {"GET", "/v1/queries/q1/results", "", 200, "table q1 parquet"},
		"csv results":   {"GET", "/v1/queries/q1/results?format=csv", "", 200, "table q1 csv"},
	} {
		t.Run(name, func(t *testing.T) {
			d := &desk{}
			response, body := ask(t, serve(t, d, httpapi.Config{}), c.method, c.path, c.body)
			if response.StatusCode != c.status || !slices.Equal(d.asked, []string{c.asked}) {
				t.Errorf("got %s, asked %q; want %d and %q: %s", response.Status, d.asked, c.status, c.asked, body)
			}
			if got := response.Header.Get("Cache-Control") + " " + response.Header.Get("X-Content-Type-Options"); got != "no-store nosniff" {
				t.Errorf("headers that every answer has are %q", got)
			}
		})
	}
}

func TestAnswersAreMessagesInTheirWireForm(t *testing.T) {
	server := serve(t, &desk{statuses: []*messages.Status{sampleStatus()}}, httpapi.Config{})
	_, body := ask(t, server, "POST", "/v1/queries", validSpec)
	q, err := messages.DecodeQuery([]byte(body))
	if diff := cmp.Diff(sampleQuery(), q); err != nil || diff != "" {
		t.Errorf("submit: %v, %s", err, diff)
	}
	_, body = ask(t, server, "POST", "/v1/plan", validSpec)
	p, err := messages.DecodePlanSummary([]byte(body))
	if diff := cmp.Diff(samplePlan(), p); err != nil || diff != "" {
		t.Errorf("plan: %v, %s", err, diff)
	}
	_, body = ask(t, server, "GET", "/v1/queries", "")
	var list struct{ Queries []*messages.Status }
	err = json.Unmarshal([]byte(body), &list)
	if diff := cmp.Diff([]*messages.Status{sampleStatus()}, list.Queries); err != nil || diff != "" {
		t.Errorf("list: %v, %s", err, diff)
	}
}

func TestASubmittedQuerySaysWhereItIs(t *testing.T) {
	d := &desk{}
	response, _ := ask(t, serve(t, d, httpapi.Config{}), "POST", "/v1/queries", validSpec)
	if got := response.Header.Get("Location"); got != "/v1/queries/q1" {
		t.Errorf("Location is %q", got)
	}
	if d.spec == nil || !slices.Equal(d.spec.Values["site"], []string{"a", "b"}) {
		t.Errorf("the port got %+v", d.spec)
	}
}

func TestAnEmptyListIsAListAndNotNull(t *testing.T) {
	_, body := ask(t, serve(t, &desk{}, httpapi.Config{}), "GET", "/v1/queries", "")
	if strings.TrimSpace(body) != `{"queries":[]}` {
		t.Errorf("got %s", body)
	}
}

func TestAResumePassesItsWaitOn(t *testing.T) {
	hour, none := time.Hour, time.Duration(0)
	for body, want := range map[string]*time.Duration{"": nil, "{}": nil, `{"wait_up_to":"1h"}`: &hour, `{"wait_up_to":"0s"}`: &none} {
		d := &desk{}
		response, text := ask(t, serve(t, d, httpapi.Config{}), "POST", "/v1/queries/q1/resume", body)
		if response.StatusCode != 200 || !cmp.Equal(d.waitUpTo, want) {
			t.Errorf("%q: got %s and %v, want %v: %s", body, response.Status, d.waitUpTo, want, text)
		}
	}
}

func TestEachSentinelHasItsOwnProblem(t *testing.T) {
	seen := map[string]bool{}
	for _, kind := range contract.Kinds() {
		if kind.Err == nil || seen[kind.Err.Error()] {
			continue
		}
		seen[kind.Err.Error()] = true
		d := &desk{err: fmt.Errorf("query q1: %w: what to do", kind.Err)}
		server := serve(t, d, httpapi.Config{})
		for _, path := range []string{"/v1/queries/q1", "/v1/queries/q1/results", "/v1/queries"} {
			response, body := ask(t, server, "GET", path, "")
			if p := wantProblem(t, response, body, kind.Slug); p.Detail != d.err.Error() {
				t.Errorf("%s: detail is %q, want %q", path, p.Detail, d.err)
			}
		}
	}
	if len(seen) != 19 {
		t.Errorf("%d sentinels were tried, want 19", len(seen))
	}
}

func TestGarbageOfNoAgeIsRefused(t *testing.T) {
	for _, age := range []string{"-1d", "0s", "long", "30", strings.Repeat("9", 30) + "d"} {
		d := &desk{}
		response, body := ask(t, serve(t, d, httpapi.Config{}), "POST", "/v1/gc?older_than="+age, "")
		if response.StatusCode/100 != 4 || len(d.asked) > 0 {
			t.Errorf("%s: got %s, asked %q: %s", age, response.Status, d.asked, body)
		}
	}
}

func TestAnUnknownErrorIsNotShown(t *testing.T) {
	response, body := ask(t, serve(t, &desk{err: errors.New("dial nats://user:secret@host")}, httpapi.Config{}), "GET", "/v1/queries/q1", "")
	wantProblem(t, response, body, contract.Internal)
	if strings.Contains(body, "secret") {
		t.Errorf("the body shows the error: %s", body)
	}
}

func TestAPanicIsAProblemAndTheServerLives(t *testing.T) {
	d := &desk{panics: true}
	server := serve(t, d, httpapi.Config{})
	response, body := ask(t, server, "GET", "/v1/queries/q1", "")
	wantProblem(t, response, body, contract.Internal)
	if response, _ := ask(t, server, "GET", "/healthz", ""); response.StatusCode != 200 {
		t.Errorf("afterwards: %s", response.Status)
	}
}

func TestFieldsAtFaultAreNamed(t *testing.T) {
	values := service.ValueErrors{{Parameter: "time", Message: "it has no end", Err: service.ErrInvalidValue}}
	for name, c := range map[string]struct {
		body string
		err  error
		want []string
	}{
		"wrong type":       {`{"v":1,"name":"x","service":"usgs","collection":"daily","values":{"site":"a"}}`, nil, []string{"values"}},
		"several problems": {`{"v":2,"name":"x y","service":"","collection":"daily","values":{},"select":["a","a"]}`, nil, []string{"v", "name", "service", "select[1]"}},
		"from the port":    {validSpec, fmt.Errorf("%w: %w", query.ErrInvalid, values), []string{"values.time"}},
		"syntax":           {`{"v":`, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			response, body := ask(t, serve(t, &desk{err: c.err}, httpapi.Config{}), "POST", "/v1/plan", c.body)
			p := wantProblem(t, response, body, contract.QueryInvalid)
			var got []string
			for _, f := range p.Errors {
				got = append(got, f.Location)
				if f.Message == "" {
					t.Errorf("%s has no message", f.Location)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("fields are %q, want %q: %s", got, c.want, body)
			}
		})
	}
}

func TestPollsThatAreAnsweredAreNotWorthALine(t *testing.T) {
	var told strings.Builder
	d := &desk{}
	server := serve(t, d, httpapi.Config{Log: slog.New(slog.NewTextHandler(&told, nil))})
	for _, path := range []string{"/v1/queries", "/v1/queries/q1", "/healthz", "/readyz"} {
		ask(t, server, "GET", path, "")
	}
	if told.Len() > 0 {
		t.Errorf("the log says:\n%s", told.String())
	}
	ask(t, server, "POST", "/v1/queries/q1/cancel", "")
	d.err = fmt.Errorf("read: %w", messages.ErrUnreachable)
	ask(t, server, "GET", "/v1/queries/q2", "")
	ask(t, server, "GET", "/v1/queries/q1/coverage", "")
	for _, path := range []string{"q1/cancel", "q2 status=503", "q1/coverage"} {
		if !strings.Contains(told.String(), path) {
			t.Errorf("nothing of %s in the log:\n%s", path, told.String())
		}
	}
}

func TestReadinessFollowsThePort(t *testing.T) {
	d := &desk{}
	server := serve(t, d, httpapi.Config{})
	if response, body := ask(t, server, "GET", "/readyz", ""); response.StatusCode != 200 {
		t.Errorf("ready: %s %s", response.Status, body)
	}
	d.ready = fmt.Errorf("reach NATS: %w", messages.ErrUnreachable)
	response, body := ask(t, server, "GET", "/readyz", "")
	wantProblem(t, response, body, "store-unreachable")
	d.ready = errors.New("some reason")
	response, body = ask(t, server, "GET", "/readyz", "")
	wantProblem(t, response, body, contract.NotReady)
	if response, _ := ask(t, server, "GET", "/healthz", ""); response.StatusCode != 200 {
		t.Errorf("a process that is not ready is not well: %s", response.Status)
	}
}

func TestTheDescriptionNamesEveryRouteAndItsProblems(t *testing.T) {
	server := serve(t, &desk{}, httpapi.Config{Version: "1.2.3"})
	response, body := ask(t, server, "GET", "/openapi.json", "")
	var d struct {
		Info  struct{ Version string }
		Paths map[string]map[string]struct {
			Responses   map[string]struct{ Content map[string]any }
			RequestBody struct{ Content map[string]any }
		}
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal([]byte(body), &d); err != nil || d.Info.Version != "1.2.3" {
		t.Fatalf("%s: %v, version %q", response.Status, err, d.Info.Version)
	}
	for _, route := range []string{
		"post /v1/queries", "get /v1/queries", "get /v1/queries/{id}", "delete /v1/queries/{id}", "post /v1/queries/{id}/resume",
		"post /v1/queries/{id}/cancel", "get /v1/queries/{id}/results", "post /v1/plan", "get /healthz", "get /readyz", "get /problems/{slug}",
	} {
		method, path, _ := strings.Cut(route, " ")
		operation, ok := d.Paths[path][method]
		if !ok || operation.Responses["default"].Content[contract.ProblemType] == nil {
			t.Errorf("%s is not described with its problems", route)
		}
		if takes := slices.Contains([]string{"post /v1/queries", "post /v1/plan", "post /v1/queries/{id}/resume"}, route); takes != (operation.RequestBody.Content["application/json"] != nil) {
			t.Errorf("%s: the description has a body: %v, want %v", route, !takes, takes)
		}
	}
	for _, schema := range []string{"Spec", "Query", "Status", "PlanSummary", "Problem", "QueryList"} {
		if d.Components.Schemas[schema] == nil {
			t.Errorf("schema %s is missing", schema)
		}
	}
	if _, page := ask(t, server, "GET", "/docs", ""); !strings.Contains(page, "/v1/queries/{id}/results") || strings.Contains(page, "<script") {
		t.Errorf("the page lacks a route or has a script: %s", page)
	}
}

func TestEachProblemTypeIsAnAddress(t *testing.T) {
	server := serve(t, &desk{}, httpapi.Config{})
	for _, kind := range contract.Kinds() {
		response, body := ask(t, server, "GET", kind.Type(), "")
		if response.StatusCode != 200 || !strings.Contains(body, kind.Title) || kind.Fix == "" {
			t.Errorf("%s: %s %s", kind.Type(), response.Status, body)
		}
	}
}

func TestWhatHasNoRouteIsAProblem(t *testing.T) {
	server := serve(t, &desk{}, httpapi.Config{})
	response, body := ask(t, server, "GET", "/v2/queries", "")
	wantProblem(t, response, body, contract.NoRoute)
	response, body = ask(t, server, "PUT", "/v1/queries", "")
	wantProblem(t, response, body, contract.MethodNotAllowed)
	if allow := response.Header.Get("Allow"); !strings.Contains(allow, http.MethodPost) {
		t.Errorf("Allow is %q", allow)
	}
}

func TestReadinessNamesTheLeaderAndFailsWithoutOne(t *testing.T) {
	d := &desk{}
	for name, c := range map[string]struct {
		leader string
		err    error
		slug   string // of the problem; empty: ready
	}{
		"led": {"c1", nil, ""}, "nobody leads": {"", nil, contract.NotReady},
		"unreachable": {"", fmt.Errorf("ask: %w", messages.ErrUnreachable), "store-unreachable"}, "unknown": {"", errors.New("planted"), contract.NotReady},
	} {
		server := httptest.NewServer(httpapi.New(httpapi.Config{Version: "1.2.3"}, httpapi.Ports{
			Commands: d, Views: d, Tables: d, Leader: func(context.Context) (string, error) { return c.leader, c.err },
		}))
		response, body := ask(t, server, "GET", "/readyz", "")
		server.Close()
		if c.slug != "" {
			if wantProblem(t, response, body, c.slug); response.Header.Get("Retry-After") == "" {
				t.Errorf("%s: it does not say when to ask again", name)
			}
			continue
		}
		if want := `{"status":"ok","nats":"ok","streams":"ok","leader":{"name":"c1"},"version":"1.2.3"}`; strings.TrimSpace(body) != want {
			t.Errorf("%s: %s", name, body)
		}
	}
}
