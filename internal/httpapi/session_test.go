package httpapi_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/access"
)

// logIn logs in and gives the cookie.
func logIn(t *testing.T, g *guarded, seed byte) *http.Cookie {
	t.Helper()
	response, body := ask(t, g.Server, "POST", "/login", `{"token":"`+tokenOf(t, seed)+`"}`)
	if response.StatusCode != http.StatusOK || len(response.Cookies()) != 1 {
		t.Fatalf("%s: %s, %v", response.Status, body, response.Cookies())
	}
	return response.Cookies()[0]
}

func with(cookie *http.Cookie) func(*http.Request) {
	return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value}) }
}

func form(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }

func TestALoginMakesASessionThatMayDoWhatItsTokenMay(t *testing.T) {
	g := guard(t)
	c := logIn(t, g, readerSeed)
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.Secure || c.Value == "" || strings.Contains(c.Value, "braid_") {
		t.Errorf("the cookie is %+v", c)
	}
	if response, body := ask(t, g.Server, "GET", "/v1/whoami", "", with(c)); !strings.Contains(body, `"rita"`) {
		t.Errorf("%s: %s", response.Status, body)
	}
	response, body := ask(t, g.Server, "POST", "/v1/queries", validSpec, with(c))
	wantProblem(t, response, body, contract.Forbidden)
	// A header that is wrong is not made good by a cookie.
	response, body = ask(t, g.Server, "GET", "/v1/whoami", "", with(c), bearer(tokenOf(t, strangerSeed)))
	wantProblem(t, response, body, contract.Unauthenticated)
	response, body = ask(t, g.Server, "POST", "/v1/queries", validSpec, with(logIn(t, g, submitterSeed)), func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") })
	wantProblem(t, response, body, contract.CrossOrigin)
}

func TestAFormOfABrowserLeadsBackToThePage(t *testing.T) {
	g := guard(t)
	g.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	page := func(r *http.Request) { r.Header.Set("Accept", "text/html,application/xhtml+xml") }
	response, body := ask(t, g.Server, "POST", "/login", url.Values{"token": {" " + tokenOf(t, adminSeed) + "\n"}}.Encode(), form, page)
	if response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != "/" || len(response.Cookies()) != 1 {
		t.Errorf("%s: %s %s", response.Status, response.Header, body)
	}
	response, _ = ask(t, g.Server, "POST", "/logout", "", with(response.Cookies()[0]), page)
	if response.StatusCode != http.StatusSeeOther || response.Cookies()[0].MaxAge >= 0 {
		t.Errorf("%s: %v", response.Status, response.Cookies())
	}
}

func TestALogoutEndsTheSession(t *testing.T) {
	g := guard(t)
	c := logIn(t, g, readerSeed)
	other := logIn(t, g, readerSeed)
	response, _ := ask(t, g.Server, "POST", "/logout", "", with(c))
	if response.StatusCode != http.StatusNoContent || len(response.Cookies()) != 1 || response.Cookies()[0].MaxAge >= 0 {
		t.Errorf("%s: %v", response.Status, response.Cookies())
	}
	response, body := ask(t, g.Server, "GET", "/v1/whoami", "", with(c))
	wantProblem(t, response, body, contract.Unauthenticated)
	if response, body = ask(t, g.Server, "GET", "/v1/whoami", "", with(other)); response.StatusCode != http.StatusOK {
		t.Errorf("another session of the token: %s: %s", response.Status, body)
	}
	if response, body = ask(t, g.Server, "POST", "/logout", ""); response.StatusCode != http.StatusNoContent {
		t.Errorf("without a session: %s: %s", response.Status, body)
	}
}

func TestALoginIsRefusedClearly(t *testing.T) {
	long := `{"token":"` + strings.Repeat("a", 5<<10) + `"}`
	for name, c := range map[string]struct {
		body, slug string
		edit       func(*http.Request)
	}{
		"empty":               {"", contract.NotJSON, func(*http.Request) {}},
		"text":                {"token", contract.NotJSON, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }},
		"no JSON":             {"{", contract.RequestInvalid, nil},
		"a list":              {"[]", contract.RequestInvalid, nil},
		"no token":            {"{}", contract.Unauthenticated, nil},
		"a number":            {`{"token":1}`, contract.RequestInvalid, nil},
		"unknown":             {`{"token":"` + tokenOf(t, strangerSeed) + `"}`, contract.Unauthenticated, nil},
		"malformed":           {`{"token":"braid_secret"}`, contract.Unauthenticated, nil},
		"too large":           {long, contract.TooLarge, nil},
		"a form without":      {"name=x", contract.RequestInvalid, form},
		"a form with two":     {"token=x&token=y", contract.RequestInvalid, form},
		"a form that is none": {"%zz", contract.RequestInvalid, form},
		"another origin":      {"{}", contract.CrossOrigin, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }},
	} {
		t.Run(name, func(t *testing.T) {
			edit := c.edit
			if edit == nil {
				edit = func(*http.Request) {}
			}
			response, body := ask(t, guard(t).Server, "POST", "/login", c.body, edit)
			wantProblem(t, response, body, c.slug)
			if len(response.Cookies()) > 0 || strings.Contains(body, "secret") {
				t.Errorf("%v, %s", response.Cookies(), body)
			}
		})
	}
}

func TestLoginsFromOneAddressAreLimited(t *testing.T) {
	g := guard(t)
	try := func() int {
		response, _ := ask(t, g.Server, "POST", "/login", `{"token":"braid_guess"}`)
		if response.StatusCode == http.StatusTooManyRequests && response.Header.Get("Retry-After") == "" {
			t.Error("it does not say when to try again")
		}
		return response.StatusCode
	}
	for range 10 {
		if got := try(); got != 401 {
			t.Errorf("got %d", got)
		}
	}
	if try() != 429 {
		t.Error("the eleventh login of a minute is tried")
	}
	if response, body := ask(t, g.Server, "GET", "/v1/whoami", "", bearer(tokenOf(t, readerSeed))); response.StatusCode != 200 {
		t.Errorf("who has a token is kept out too: %s %s", response.Status, body)
	}
	g.clock.pass(time.Minute)
	if try() != 401 {
		t.Error("after the minute it is still closed")
	}
}

func TestASessionEndsIdleOrOldOrWithItsToken(t *testing.T) {
	g := guard(t)
	standing := func(c *http.Cookie) int {
		response, _ := ask(t, g.Server, "GET", "/v1/whoami", "", with(c))
		return response.StatusCode
	}
	idle := logIn(t, g, readerSeed)
	g.clock.pass(2*time.Hour - 1)
	if standing(idle) != 200 {
		t.Error("it ends before it was idle for two hours")
	}
	g.clock.pass(2 * time.Hour)
	if standing(idle) != 401 {
		t.Error("it does not end when it was idle for two hours")
	}
	old := logIn(t, g, readerSeed)
	for range 11 {
		g.clock.pass(time.Hour)
		if standing(old) != 200 {
			t.Error("it ends while it is used")
		}
	}
	g.clock.pass(time.Hour)
	if standing(old) != 401 {
		t.Error("it does not end after twelve hours")
	}
	revoked, kept := logIn(t, g, readerSeed), logIn(t, g, adminSeed)
	writeTokens(t, g.file, entryOf(t, adminSeed, "ada", "", access.Admin))
	g.access.Refresh()
	if standing(revoked) != 401 || standing(kept) != 200 {
		t.Error("revoking a token does not end its sessions, or ends others")
	}
	// A token that comes back does not bring them back.
	writeTokens(t, g.file, people(t)...)
	g.access.Refresh()
	if standing(revoked) != 401 {
		t.Error("the session is back")
	}
}

func TestSessionsOfOneTokenDoNotEndThoseOfOthers(t *testing.T) {
	g := guard(t)
	other := logIn(t, g, adminSeed)
	var mine []*http.Cookie
	for range 21 {
		g.clock.pass(time.Minute) // for the limit of logins, and so that one is the oldest
		mine = append(mine, logIn(t, g, readerSeed))
	}
	for i, c := range append(mine, other) {
		want := 200
		if i == 0 {
			want = 401
		}
		if response, _ := ask(t, g.Server, "GET", "/v1/whoami", "", with(c)); response.StatusCode != want {
			t.Errorf("session %d: %s, want %d", i, response.Status, want)
		}
	}
}

func TestAStreamEndsWithTheTokenOrTheSessionItWasBegunWith(t *testing.T) {
	for name, end := range map[string]func(*guarded, *http.Cookie){
		"the token is revoked": func(g *guarded, _ *http.Cookie) {
			writeTokens(t, g.file, entryOf(t, adminSeed, "ada", "", access.Admin))
			g.access.Refresh()
		},
		"a logout": func(g *guarded, c *http.Cookie) { ask(t, g.Server, "POST", "/logout", "", with(c)) },
		"the session is over": func(g *guarded, _ *http.Cookie) {
			g.clock.pass(13 * time.Hour)
			g.access.Refresh()
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := guard(t)
			c := logIn(t, g, readerSeed)
			held := make(chan struct{})
			g.desk.hold = held
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.URL+"/v1/quotas", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			with(c)(request)
			answered := make(chan string, 1)
			go func() {
				response, err := g.Client().Do(request)
				if err != nil {
					answered <- err.Error()
					return
				}
				defer response.Body.Close()
				line, _ := bufio.NewReader(response.Body).ReadString('\n')
				answered <- fmt.Sprint(response.StatusCode, " ", line)
			}()
			<-held
			end(g, c)
			if got := <-answered; !strings.HasPrefix(got, "504") {
				t.Errorf("got %s", got)
			}
		})
	}
}
