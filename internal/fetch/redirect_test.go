package fetch_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/service"
)

const topSecret = "s3cr3t/K&y+0451"

// trail tells where requests went and with which key.
func trail(w *world) []string {
	var trail []string
	for _, r := range w.requests() {
		trail = append(trail, strings.TrimSpace(r.Method+" "+r.Host+r.URL.Path+" "+r.Header.Get("X-Api-Key")))
	}
	return trail
}

func TestARedirectIsFollowedToListedHostsWithTheCredentialsOfEach(t *testing.T) {
	page := answer(200, onePage)
	for name, c := range map[string]struct {
		location string
		want     []string
	}{
		"same host":         {"/v2/things", []string{"GET example.com/v1/things " + topSecret, "GET example.com/v2/things " + topSecret}},
		"host without keys": {"https://mirror.example.com/things", []string{"GET example.com/v1/things " + topSecret, "GET mirror.example.com/things"}},
		"alias, by http":    {"http://old.example.com/things", []string{"GET example.com/v1/things " + topSecret, "GET example.com/things " + topSecret}},
		"user in the link":  {"https://me:pw@mirror.example.com/things", []string{"GET example.com/v1/things " + topSecret, "GET mirror.example.com/things"}},
	} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			t.Run(fmt.Sprint(name, " ", status), func(t *testing.T) {
				w := newWorld(t, map[string]http.HandlerFunc{
					"example.com": func(out http.ResponseWriter, r *http.Request) {
						if r.URL.Path == "/v1/things" {
							answer(status, "", "Location", c.location, "Set-Cookie", "a=b")(out, r)
							return
						}
						page(out, r)
					},
					"mirror.example.com": page,
				})
				keyed := collection(t, "keyed")
				got, err := w.client(t, keyed, topSecret).FetchPage(t.Context(), task(t, keyed), service.Walk{})
				if err != nil || got.Count != 2 {
					t.Fatalf("got %d rows, error %v; want 2", got.Count, err)
				}
				if diff := cmp.Diff(c.want, trail(w)); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				last := w.requests()[1]
				if last.Header.Get("Cookie")+last.Header.Get("Referer")+last.Header.Get("Authorization") != "" {
					t.Errorf("the redirected request carries %v", last.Header)
				}
			})
		}
	}
}

func TestARedirectThatMustNotBeFollowedIsABadLink(t *testing.T) {
	for name, c := range map[string]struct {
		method, location, message string
		status, requests          int
	}{
		"host that is not listed": {"GET", "https://evil.example/?k=" + topSecret, "evil.example", 302, 1},
		"other scheme":            {"GET", "ftp://example.com/", "ftp", 302, 1},
		"no URL":                  {"GET", "http://[" + topSecret, "no URL", 302, 1},
		"for ever":                {"GET", "/v1/things", "more than 5 redirects", 302, 6},
		"POST to GET":             {"POST", "/v1/things", "POST into a GET", 303, 1},
		"secret in the path":      {"GET", "https://mirror.example.com/" + topSecret, "has a secret in it", 302, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]http.HandlerFunc{
				"example.com":        answer(c.status, "", "Location", c.location),
				"mirror.example.com": answer(200, onePage),
			})
			task := encode(t, service.Request{Method: c.method, URL: "https://example.com/v1/things"})
			_, err := w.client(t, collection(t, "keyed"), topSecret).FetchPage(t.Context(), task, service.Walk{})
			refused := refusal(t, err, service.ClassBadLink)
			if !strings.Contains(refused.Message, c.message) {
				t.Errorf("message %q does not say %q", refused.Message, c.message)
			}
			if n := len(w.requests()); n != c.requests {
				t.Errorf("%d requests were sent, want %d", n, c.requests)
			}
			hasNoSecret(t, err)
		})
	}
}

func TestARedirectKeepsABodyOnlyWithAStatusThatSaysSo(t *testing.T) {
	w := newWorld(t, map[string]http.HandlerFunc{"example.com": func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/things" {
			answer(307, "", "Location", "/v2/things")(out, r)
			return
		}
		body := make([]byte, 100)
		n, _ := r.Body.Read(body)
		fmt.Fprintf(out, `{"items":[{"id":%q}]}`, r.Method+" "+string(body[:n]))
	}})
	task := encode(t, service.Request{Method: "POST", URL: "https://example.com/v1/things", Body: []byte("site = 1")})
	page, err := w.client(t, collection(t, "keyed"), "").FetchPage(t.Context(), task, service.Walk{})
	if err != nil || string(page.Rows) != "{\"id\":\"POST site = 1\"}\n" {
		t.Errorf("got rows %q, error %v", page.Rows, err)
	}
}

func TestARuleForARedirectsStatusIsStrongerThanTheRedirect(t *testing.T) {
	w := newWorld(t, map[string]http.HandlerFunc{"example.com": answer(302, "", "Location", "/login")})
	keyed := collection(t, "keyed", "collections:", "responses: [{when: {status: [302], header: {Location: '/login'}}, then: auth}]\ncollections:")
	_, err := w.client(t, keyed, topSecret).FetchPage(t.Context(), task(t, keyed), service.Walk{})
	refusal(t, err, service.ClassAuth)
	if n := len(w.requests()); n != 1 {
		t.Errorf("%d requests were sent, want 1", n)
	}
}
