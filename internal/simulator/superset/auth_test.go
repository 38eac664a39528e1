package superset_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator/superset"
)

func TestLoginAnswersLikeTheServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body  string
		contentType string
		status      int
		message     string
	}{
		{"a good one", `{"username": "alpha", "password": "alpha-secret", "provider": "db"}`, "", 200, ""},
		{"a wrong password", `{"username": "alpha", "password": "x", "provider": "db"}`, "", 401, "Not authorized"},
		{"nobody of that name", `{"username": "x", "password": "alpha-secret", "provider": "db"}`, "", 401, "Not authorized"},
		{"the other provider", `{"username": "lena", "password": "lena-secret", "provider": "db"}`, "", 401, "Not authorized"},
		{"an unknown provider", `{"username": "alpha", "password": "alpha-secret", "provider": "oauth"}`, "", 400, "Must be one of: db, ldap."},
		{"nothing", "", "application/json", 400, ""},
		{"no JSON", "username=alpha", "application/x-www-form-urlencoded", 400, "not JSON"},
		{"half of it", `{"username": "alpha"}`, "", 400, "Missing data"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, superset.Config{})
			header := http.Header{}
			if c.contentType != "" {
				header.Set("Content-Type", c.contentType)
			}
			a := r.send("POST", "/api/v1/security/login", header, c.body)
			if a.status != c.status || !strings.Contains(string(a.body), c.message) || strings.Contains(string(a.body), "refresh_token") {
				t.Errorf("status %d: %s", a.status, a.body)
			}
			if n := r.Stats().Logins["alpha"]; (n == 1) != (c.status == 200) {
				t.Errorf("%d logins were counted", n)
			}
		})
	}
}

// TestTokens sends something to the server with one header or another.
func TestTokens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		config  superset.Config
		header  func(r *rig) http.Header
		status  int
		message string
	}{
		{"none", superset.Config{}, func(*rig) http.Header { return nil }, 401, "msg: Missing Authorization Header"},
		{"a good one", superset.Config{}, func(r *rig) http.Header { return r.login("alpha") }, 200, ""},
		{"of ldap", superset.Config{}, func(r *rig) http.Header { return r.login("lena") }, 200, ""},
		{"expired", superset.Config{}, func(r *rig) http.Header {
			h := r.login("alpha")
			r.Advance(15 * time.Minute)
			return h
		}, 401, "msg: Token has expired"},
		{"about to expire", superset.Config{}, func(r *rig) http.Header {
			h := r.login("alpha")
			r.Advance(15*time.Minute - time.Second)
			return h
		}, 200, ""},
		{"revoked", superset.Config{}, func(r *rig) http.Header {
			h := r.login("alpha")
			r.RevokeTokens("alpha")
			return h
		}, 401, "msg: Token has been revoked"},
		{"rubbish", superset.Config{}, func(*rig) http.Header { return bearer("rubbish") }, 422, "msg: Not enough segments"},
		{"forged", superset.Config{}, func(r *rig) http.Header {
			access, _ := r.tokens("alpha")
			return bearer(access[:len(access)-4] + "AAAA")
		}, 422, "msg: Signature verification failed"},
		{"a refresh token", superset.Config{}, func(r *rig) http.Header {
			_, refresh := r.tokens("alpha")
			return bearer(refresh)
		}, 422, "msg: Only non-refresh tokens are allowed"},
		{"a JWT library that disagrees", superset.Config{SubjectMustBeString: true}, func(r *rig) http.Header { return r.login("alpha") }, 422, "msg: Subject must be a string"},
		{"of one without rights", superset.Config{}, func(r *rig) http.Header { return r.login("nobody") }, 403, "Forbidden"},
		{"of one without rights, old", superset.Config{Profile: superset.Old}, func(r *rig) http.Header { return r.login("nobody") }, 401, "Not authorized"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, c.config)
			a := r.ask(c.header(r), 101, "")
			if a.status != c.status || a.message() != c.message {
				t.Errorf("status %d, %q", a.status, a.message())
			}
		})
	}
}

func TestRefreshGivesAnAccessToken(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{})
	access, refresh := r.tokens("alpha")
	r.Advance(time.Hour)
	r.RevokeTokens("alpha") // not this one
	a := r.send("POST", "/api/v1/security/refresh", bearer(refresh), "")
	var out struct {
		Access string `json:"access_token"`
	}
	if err := json.Unmarshal(a.body, &out); err != nil || r.ask(bearer(out.Access), 101, "").status != http.StatusOK {
		t.Errorf("status %d, %v: %s", a.status, err, a.body)
	}
	if a := r.send("POST", "/api/v1/security/refresh", bearer(access), ""); a.status != http.StatusUnauthorized {
		t.Errorf("an expired access token: %d", a.status)
	}
	fresh, _ := r.tokens("alpha")
	if a := r.send("POST", "/api/v1/security/refresh", bearer(fresh), ""); a.status != 422 || a.message() != "msg: Only refresh tokens are allowed" {
		t.Errorf("an access token: %d %s", a.status, a.body)
	}
	if stats := r.Stats(); stats.Refreshes["alpha"] != 1 || stats.Logins["alpha"] != 2 {
		t.Errorf("counted %v, %v", stats.Refreshes, stats.Logins)
	}
}

func (r *rig) csrf(header http.Header) string {
	r.t.Helper()
	a := r.send("GET", "/api/v1/security/csrf_token/", header, "")
	var out struct {
		Result string `json:"result"`
	}
	if err := json.Unmarshal(a.body, &out); err != nil || out.Result == "" {
		r.t.Fatalf("status %d, %v: %s", a.status, err, a.body)
	}
	return out.Result
}

func (r *rig) guest(order string) answer {
	r.t.Helper()
	header := r.login("embedder")
	header.Set("X-Csrftoken", r.csrf(header))
	return r.send("POST", "/api/v1/security/guest_token/", header, order)
}

const salesOrder = `{"user": {"username": "visitor"}, "resources": [{"type": "dashboard", "id": "` + superset.SalesEmbedded + `"}], "rls": [{"clause": "region = 'EU'"}]}`

func guestHeader(t *testing.T, a answer) http.Header {
	t.Helper()
	var out struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal(a.body, &out); err != nil || out.Token == "" {
		t.Fatalf("status %d, %v: %s", a.status, err, a.body)
	}
	return http.Header{"X-Guesttoken": {out.Token}}
}

func TestGuestTokens(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{Profile: superset.V6})
	for name, c := range map[string]struct {
		order  string
		status int
	}{
		"good":          {salesOrder, 200},
		"not embedded":  {strings.Replace(salesOrder, superset.SalesEmbedded, "00000000-0000-4000-8000-000000000000", 1), 400},
		"no rules":      {strings.Replace(salesOrder, `"rls"`, `"rules"`, 1), 400},
		"no resources":  {`{"user": {}, "resources": [], "rls": []}`, 400},
		"not even JSON": {`{`, 400},
	} {
		if a := r.guest(c.order); a.status != c.status {
			t.Errorf("%s: status %d: %s", name, a.status, a.body)
		}
	}
	if a := r.send("POST", "/api/v1/security/guest_token/", r.login("alpha"), salesOrder); a.status != http.StatusForbidden {
		t.Errorf("of one who may not: %d", a.status)
	}
	guest := guestHeader(t, r.guest(salesOrder))
	object := r.ask(guest, 104, "").fields(t)[0]
	if object["query"] != nil || !strings.Contains(string(object["data"]), `"EU"`) || strings.Contains(string(object["data"]), `"US"`) {
		t.Errorf("a guest sees %s, query %s", object["data"], object["query"])
	}
	for name, c := range map[string]struct {
		chart   int64
		members string
		message string
	}{
		"another metric":         {104, `{"queries": [{"columns": ["region"], "metrics": ["orders", "revenue"]}]}`, "errors: Guest user cannot modify chart payload"},
		"another column":         {104, `{"queries": [{"columns": ["city"], "metrics": ["orders"]}]}`, "errors: Guest user cannot modify chart payload"},
		"no chart in form data":  {104, `{"form_data": {"dashboardId": 12}}`, ""},
		"another dashboard's":    {121, `{"form_data": {"slice_id": 121, "dashboardId": 13}}`, ""},
		"a dashboard without it": {121, "", ""},
	} {
		if a := r.ask(guest, c.chart, c.members); a.status != http.StatusForbidden || (c.message != "" && a.message() != c.message) {
			t.Errorf("%s: status %d: %s", name, a.status, a.body)
		}
	}
	if a := r.ask(guest, 104, `{"queries": [{"columns": ["region"], "metrics": ["orders"], "filters": [{"col": "region", "op": "IN", "val": ["EU"]}]}]}`); a.status != http.StatusOK {
		t.Errorf("filters are no change: %d %s", a.status, a.body)
	}
	r.Advance(5 * time.Minute)
	if a := r.ask(guest, 104, ""); a.status != http.StatusUnauthorized {
		t.Errorf("after five minutes: %d", a.status)
	}
	if stats := r.Stats(); stats.GuestTokens["embedder"] != 2 || stats.Identities["guest:visitor"] == 0 {
		t.Errorf("counted %v, %v", stats.GuestTokens, stats.Identities)
	}
}

func TestCSRF(t *testing.T) {
	t.Parallel()
	form := "application/x-www-form-urlencoded"
	for _, c := range []struct {
		name, contentType string
		token             func(r *rig, h http.Header) string
		status            int
		message           string
	}{
		{"no token", "", func(*rig, http.Header) string { return "" }, 400, "errors: 400 Bad Request: The CSRF token is missing."},
		{"no token, no JSON", form, func(*rig, http.Header) string { return "" }, 302, ""},
		{"no session", "", func(r *rig, h http.Header) string {
			token := r.csrf(h)
			r.jar = nil
			return token
		}, 400, "errors: 400 Bad Request: The CSRF session token is missing."},
		{"another session's", "", func(r *rig, h http.Header) string {
			r.csrf(h)
			return "0123"
		}, 400, "errors: 400 Bad Request: The CSRF tokens do not match."},
		{"token and session", "", func(r *rig, h http.Header) string { return r.csrf(h) }, 200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, superset.Config{CSRFChartData: true})
			header := r.login("alpha")
			header.Set("X-Csrftoken", c.token(r, header))
			if c.contentType != "" {
				header.Set("Content-Type", c.contentType)
			}
			a := r.ask(header, 101, "")
			if a.status != c.status || a.message() != c.message || (c.status == 302) != (a.header.Get("Location") == "/login/") {
				t.Errorf("status %d, %q, location %q", a.status, a.message(), a.header.Get("Location"))
			}
		})
	}
	r := start(t, superset.Config{Profile: superset.V6, CSRFChartData: true})
	who := r.login("alpha")
	who.Set("X-Csrftoken", r.csrf(who))
	if err := r.Update(func(c *superset.Config) { c.Async = true }); err != nil {
		t.Fatal(err)
	}
	r.send("GET", "/api/v1/chart/101", who, "") // the session gets a channel
	if a := r.ask(who, 101, ""); a.status != http.StatusAccepted {
		t.Errorf("after the session was changed: %d %s", a.status, a.body)
	}
	r = start(t, superset.Config{})
	if a := r.ask(r.login("alpha"), 101, ""); a.status != http.StatusOK {
		t.Errorf("chart/data is exempt unless told otherwise: %d", a.status)
	}
}

func TestSessionOfTheLoginPage(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{})
	page := string(r.send("GET", "/login/", nil, "").body)
	_, rest, _ := strings.Cut(page, `name="csrf_token" type="hidden" value="`)
	token, _, _ := strings.Cut(rest, `"`)
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	if a := r.send("POST", "/login/", form, "username=alpha&password=no&csrf_token="+token); a.header.Get("Location") != "/login/" {
		t.Errorf("a wrong password: %d to %s", a.status, a.header.Get("Location"))
	}
	if a := r.send("POST", "/login/", form, "username=alpha&password=alpha-secret&csrf_token="+token); a.header.Get("Location") != "/superset/welcome/" {
		t.Fatalf("login: %d to %s", a.status, a.header.Get("Location"))
	}
	if a := r.ask(nil, 101, ""); a.status != http.StatusOK {
		t.Errorf("by session: %d %s", a.status, a.body)
	}
	r.RevokeTokens("alpha")
	if a := r.ask(nil, 101, ""); a.status != http.StatusUnauthorized {
		t.Errorf("by a session that was ended: %d", a.status)
	}
}
