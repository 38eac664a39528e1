package superset_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator/superset"
)

// fakeStart is what the clock of tests stands at.
const fakeStart = "2026-09-01T10:00:00Z"

// rig is a server on loopback and a client with a cookie jar.
type rig struct {
	*superset.Server
	t    *testing.T
	base string
	jar  http.CookieJar
}

func start(t *testing.T, config superset.Config) *rig {
	t.Helper()
	if config.Now == nil {
		at, err := time.Parse(time.RFC3339, fakeStart)
		if err != nil {
			t.Fatal(err)
		}
		config.Now = func() time.Time { return at }
	}
	s := superset.New(config)
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.Close()
		s.Close()
	})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{Server: s, t: t, base: server.URL, jar: jar}
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error // of reading the body, or of the request
}

// message gives what an error says, under whatever key.
func (a answer) message() string {
	var body struct {
		Message json.RawMessage `json:"message"`
		Msg     string          `json:"msg"`
		Errors  []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	_ = json.Unmarshal(a.body, &body)
	for _, e := range body.Errors {
		return "errors: " + e.Message
	}
	if body.Msg != "" {
		return "msg: " + body.Msg
	}
	return strings.Trim(string(body.Message), `"`)
}

// fields reads the query objects of an answer.
func (a answer) fields(t *testing.T) []map[string]json.RawMessage {
	t.Helper()
	var body struct {
		Result []map[string]json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(a.body, &body); err != nil || a.status != http.StatusOK {
		t.Fatalf("status %d, %v: %.300s", a.status, err, a.body)
	}
	return body.Result
}

func (r *rig) send(method, path string, header http.Header, body string) answer {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.base+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	maps.Copy(req.Header, header)
	if body != "" && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	client := &http.Client{Jar: r.jar, Transport: http.DefaultTransport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, text, err}
}

// login gives the header of an identity of the default world.
func (r *rig) login(user string) http.Header {
	r.t.Helper()
	access, _ := r.tokens(user)
	return bearer(access)
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

func (r *rig) tokens(user string) (access, refresh string) {
	r.t.Helper()
	provider := "db"
	if user == "lena" {
		provider = "ldap"
	}
	a := r.send("POST", "/api/v1/security/login", nil,
		`{"username": "`+user+`", "password": "`+user+`-secret", "provider": "`+provider+`", "refresh": true}`)
	var out struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
	}
	if err := json.Unmarshal(a.body, &out); err != nil || a.status != http.StatusOK {
		r.t.Fatalf("login: status %d, %v: %s", a.status, err, a.body)
	}
	return out.Access, out.Refresh
}

// ask sends the stored query context of a chart, with members replaced.
func (r *rig) ask(header http.Header, chart int64, members string) answer {
	r.t.Helper()
	return r.send("POST", "/api/v1/chart/data", header, payload(r.t, chart, members))
}

func payload(t *testing.T, chart int64, members string) string {
	t.Helper()
	for _, c := range superset.DefaultWorld().Charts {
		if c.ID != chart {
			continue
		}
		var body, over map[string]any
		if err := json.Unmarshal([]byte(*c.QueryContext), &body); err != nil {
			t.Fatal(err)
		}
		if members != "" {
			if err := json.Unmarshal([]byte(members), &over); err != nil {
				t.Fatal(err)
			}
		}
		body["force"], body["result_type"] = false, "full"
		body["form_data"] = map[string]any{"slice_id": c.ID, "dashboardId": superset.SalesDashboard, "viz_type": c.VizType}
		maps.Copy(body, over)
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		return string(bytes.TrimSpace(text))
	}
	t.Fatalf("no chart %d", chart)
	return ""
}
