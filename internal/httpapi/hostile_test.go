package httpapi_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/httpapi"
	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/query"
)

func TestHostileBodiesAreRefusedAndAskNobody(t *testing.T) {
	deep := `{"v":1,"values":` + strings.Repeat(`{"a":`, 20_000) + `1` + strings.Repeat("}", 20_000) + `}`
	plain := func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }
	form := func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }
	for name, c := range map[string]struct {
		path, body, slug string
		edit             func(*http.Request)
	}{
		"text":               {"/v1/queries", validSpec, contract.NotJSON, plain},
		"form":               {"/v1/queries", validSpec, contract.NotJSON, form},
		"text for a resume":  {"/v1/queries/q1/resume", `{}`, contract.NotJSON, plain},
		"empty":              {"/v1/queries", "", contract.QueryInvalid, nil},
		"null":               {"/v1/queries", "null", contract.QueryInvalid, nil},
		"a list":             {"/v1/plan", "[]", contract.QueryInvalid, nil},
		"unknown field":      {"/v1/queries", strings.Replace(validSpec, `"v"`, `"extra":1,"v"`, 1), contract.QueryInvalid, nil},
		"long unknown field": {"/v1/queries", `{"` + strings.Repeat("x", 1<<20) + `":1}`, contract.QueryInvalid, nil},
		"trailing data":      {"/v1/queries", validSpec + validSpec, contract.QueryInvalid, nil},
		"deep nesting":       {"/v1/queries", deep, contract.QueryInvalid, nil},
		"other version":      {"/v1/queries", strings.Replace(validSpec, `"v":1`, `"v":9`, 1), contract.QueryInvalid, nil},
		"resume: unknown":    {"/v1/queries/q1/resume", `{"wait":"1h"}`, contract.RequestInvalid, nil},
		"resume: number":     {"/v1/queries/q1/resume", `{"wait_up_to":3600}`, contract.RequestInvalid, nil},
		"resume: negative":   {"/v1/queries/q1/resume", `{"wait_up_to":"-1h"}`, contract.RequestInvalid, nil},
		"resume: trailing":   {"/v1/queries/q1/resume", `{} {}`, contract.RequestInvalid, nil},
		"resume: too large":  {"/v1/queries/q1/resume", `{"wait_up_to":"` + strings.Repeat("1", 5000) + `h"}`, contract.TooLarge, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := &desk{}
			edit := c.edit
			if edit == nil {
				edit = func(*http.Request) {}
			}
			response, body := ask(t, serve(t, d, httpapi.Config{}), "POST", c.path, c.body, edit)
			wantProblem(t, response, body, c.slug)
			if len(d.asked) > 0 || len(body) > 16<<10 {
				t.Errorf("asked %q, answered %d bytes", d.asked, len(body))
			}
		})
	}
}

// endless is a body of blanks that notes how much of it was read.
type endless struct{ n int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.n += int64(len(p))
	return len(p), nil
}

func TestABodyOverItsBoundIsRefusedWhateverLengthItClaims(t *testing.T) {
	d := &desk{}
	handler := d.handler(httpapi.Config{})
	for _, c := range []struct {
		name            string
		length, mayRead int64
	}{{"told", query.MaxSpecBytes + 1, 0}, {"not told", -1, query.MaxSpecBytes + 1}} {
		body := new(endless)
		request, err := http.NewRequestWithContext(t.Context(), "POST", "http://localhost/v1/queries", body)
		if err != nil {
			t.Fatal(err)
		}
		request.ContentLength = c.length
		request.Header.Set("Content-Type", "application/json")
		answer := newAnswer()
		handler.ServeHTTP(answer, request)
		if !strings.Contains(answer.body.String(), contract.TypePath+contract.TooLarge) || answer.status != 413 || len(d.asked) > 0 {
			t.Errorf("%s: got %d %s, asked %q", c.name, answer.status, answer.body.String(), d.asked)
		}
		if body.n > c.mayRead {
			t.Errorf("%s: %d bytes were read, at most %d need be", c.name, body.n, c.mayRead)
		}
	}
}

// answer keeps what a handler answers without a connection.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func newAnswer() *answer { return &answer{header: http.Header{}} }

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

func TestHostileParametersAreRefusedAndAskNobody(t *testing.T) {
	for path, slug := range map[string]string{
		"/v1/queries/q1/results?format=exe":                     contract.RequestInvalid,
		"/v1/queries/q1/results?partial=maybe":                  contract.RequestInvalid,
		"/v1/queries/q1/results?fromat=csv":                     contract.RequestInvalid,
		"/v1/queries/q1/results?" + strings.Repeat("x", 20<<10): contract.RequestInvalid,
		"/v1/queries/q1?x=1":                                    contract.RequestInvalid,
		"/v1/queries/a%2Fb":                                     "not-found",
		"/v1/queries/..%2f..%2fsecret":                          "not-found",
		"/v1/queries/" + strings.Repeat("a", 65):                "not-found",
		"/v1/queries/a%22%0d%0aSet-Cookie:x/results?format=csv": "not-found",
	} {
		d := &desk{}
		response, body := ask(t, serve(t, d, httpapi.Config{}), "GET", path, "")
		wantProblem(t, response, body, slug)
		if len(d.asked) > 0 || len(body) > 16<<10 {
			t.Errorf("%.60s: asked %q, answered %d bytes", path, d.asked, len(body))
		}
	}
}

func TestAPageOfAnotherOriginChangesNothing(t *testing.T) {
	foreign := map[string]func(*http.Request){
		"cross-site":       func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"same-site":        func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"old browser":      func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"sandboxed origin": func(r *http.Request) { r.Header.Set("Origin", "null") },
	}
	for name, edit := range foreign {
		for _, route := range []string{"POST /v1/queries", "POST /v1/queries/q1/cancel", "POST /v1/queries/q1/resume", "DELETE /v1/queries/q1", "POST /v1/plan"} {
			d := &desk{}
			method, path, _ := strings.Cut(route, " ")
			response, body := ask(t, serve(t, d, httpapi.Config{}), method, path, "", edit)
			wantProblem(t, response, body, contract.CrossOrigin)
			if len(d.asked) > 0 {
				t.Errorf("%s, %s: asked %q", name, route, d.asked)
			}
		}
	}
	d := &desk{}
	server := serve(t, d, httpapi.Config{})
	own := func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Origin", server.URL)
	}
	if response, body := ask(t, server, "POST", "/v1/queries/q1/cancel", "", own); response.StatusCode != 200 {
		t.Errorf("our own page is refused: %s %s", response.Status, body)
	}
	response, _ := ask(t, server, "GET", "/v1/queries", "", foreign["old browser"])
	for name := range response.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("%s lets other origins read", name)
		}
	}
}

func TestOverLoopbackOnlyKnownHostNamesAreAnswered(t *testing.T) {
	server := serve(t, &desk{}, httpapi.Config{Hosts: []string{"Braid.example.org"}})
	for host, known := range map[string]bool{
		"localhost": true, "LOCALHOST:7420": true, "127.0.0.1": true, "127.9.9.9:1": true, "[::1]:80": true, "[::1]": true,
		"braid.example.org": true, "braid.example.org:443": true,
		"evil.example": false, "localhost.evil.example:80": false, "127.0.0.1.evil.example": false, "10.0.0.1": false, "169.254.169.254": false,
	} {
		response, body := ask(t, server, "GET", "/v1/queries", "", func(r *http.Request) { r.Host = host })
		if known && response.StatusCode != 200 {
			t.Errorf("%s is refused: %s", host, body)
		}
		if !known {
			wantProblem(t, response, body, contract.UnknownHost)
		}
	}
}

func TestTheLogHasOneLineARequestAndNothingOfTheQuery(t *testing.T) {
	var log bytes.Buffer
	server := serve(t, &desk{}, httpapi.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	ask(t, server, "POST", "/v1/queries", strings.Replace(validSpec, "flows", "hidden", 1))
	ask(t, server, "GET", "/v1/queries/q1/results?format=hidden", "")
	server.Close()
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(log.String()), "\n"), func(line string) bool { return strings.Contains(line, "audit=true") })
	if len(lines) != 2 || strings.Contains(log.String(), "hidden") {
		t.Fatalf("the log is:\n%s", log.String())
	}
	for _, part := range []string{"method=POST", "path=/v1/queries", "status=201", "duration="} {
		if !strings.Contains(lines[0], part) {
			t.Errorf("%s lacks %s", lines[0], part)
		}
	}
}
