package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/httpapi"
	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/messages"
)

func TestAPageOfQueriesLeadsToTheNext(t *testing.T) {
	d := &desk{statuses: []*messages.Status{sampleStatus()}, more: true}
	server := serve(t, d, httpapi.Config{})
	response, body := ask(t, server, "GET", "/v1/queries?limit=1&state=running,failed&owner=ada", "")
	var list struct{ Next string }
	if err := json.Unmarshal([]byte(body), &list); err != nil || list.Next == "" {
		t.Fatalf("%v: %s", err, body)
	}
	if s := d.selection; s.Limit != 1 || s.Owner != "ada" || !slices.Equal(s.States, []messages.QueryState{messages.Running, messages.Failed}) {
		t.Errorf("asked for %+v", s)
	}
	link, rest, _ := strings.Cut(strings.TrimPrefix(response.Header.Get("Link"), "<"), ">")
	if rest != `; rel="next"` {
		t.Errorf("Link is %q", response.Header.Get("Link"))
	}
	next, err := response.Request.URL.Parse(link)
	if err != nil || next.Path != "/v1/queries" || next.Query().Get("after") != list.Next {
		t.Fatalf("the link leads to %v, %v", next, err)
	}
	d.more = false
	response, body = ask(t, server, "GET", next.RequestURI(), "")
	if d.selection.After != sampleQuery().Place() || d.selection.Limit != 1 || d.selection.Owner != "ada" || len(d.selection.States) != 2 {
		t.Errorf("the next page asked for %+v", d.selection)
	}
	if response.Header.Get("Link") != "" || strings.Contains(body, `"next"`) {
		t.Errorf("the last page leads to %q: %s", response.Header.Get("Link"), body)
	}
	if ask(t, server, "GET", "/v1/queries", ""); d.selection.Limit != 100 {
		t.Errorf("without a limit it is %d", d.selection.Limit)
	}
}

func TestWhatIsNoPageIsRefused(t *testing.T) {
	d := &desk{}
	server := serve(t, d, httpapi.Config{})
	for _, values := range []url.Values{
		{"limit": {"0"}},
		{"limit": {"1001"}},
		{"limit": {"-1"}},
		{"limit": {"x"}},
		{"limit": {"1e3"}},
		{"after": {"x"}},
		{"after": {"q1"}},
		{"after": {strings.Repeat("A", 300)}},
		{"after": {"../../etc"}},
		{"state": {"unknown"}},
		{"state": {"running,unknown"}},
		{"owner": {"a b"}},
		{"owner": {"a\r\nb"}},
		{"owner": {strings.Repeat("a", 65)}},
		{"page": {"2"}},
	} {
		response, body := ask(t, server, "GET", "/v1/queries?"+values.Encode(), "")
		p := wantProblem(t, response, body, contract.RequestInvalid)
		if len(d.asked) > 0 || len(p.Errors) == 0 || !strings.HasPrefix(p.Errors[0].Location, "query.") {
			t.Errorf("%v: asked %q, %+v", values, d.asked, p)
		}
	}
}

func TestAKeyMakesASubmissionRepeatable(t *testing.T) {
	d := &desk{}
	server := serve(t, d, httpapi.Config{})
	with := func(values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header["Idempotency-Key"] = values }
	}
	digests := map[string]string{}
	for _, key := range []string{"8e03978e-40d5-43dd-bc93-6894a57f9324", `"8e03978e-40d5-43dd-bc93-6894a57f9324"`, "a", `"a\"b"`, `a"b`, strings.Repeat("~", 255)} {
		response, body := ask(t, server, "POST", "/v1/queries", validSpec, with(key))
		if response.StatusCode != 201 || len(d.submission.Key) != 64 {
			t.Errorf("%q: %s %+v: %s", key, response.Status, d.submission, body)
		}
		digests[d.submission.Key] = key
	}
	if len(digests) != 4 { // quotes are no part of a key
		t.Errorf("the keys are %q", digests)
	}
	if ask(t, server, "POST", "/v1/queries", validSpec); d.submission.Key != "" {
		t.Errorf("without a key it is %q", d.submission.Key)
	}
	d.asked = nil
	for _, values := range [][]string{{""}, {"a b"}, {"ä"}, {"a\tb"}, {`"a`}, {`"a"b`}, {`"`}, {`""`}, {`"a\x"`}, {strings.Repeat("a", 256)}, {"a", "a"}, {"a", "b"}} {
		response, body := ask(t, server, "POST", "/v1/queries", validSpec, with(values...))
		p := wantProblem(t, response, body, contract.RequestInvalid)
		if len(d.asked) > 0 || len(p.Errors) != 1 || p.Errors[0].Location != "header.Idempotency-Key" {
			t.Errorf("%q: asked %q, %+v", values, d.asked, p)
		}
	}
}

func TestARepeatedSubmissionIsToldFromAFirst(t *testing.T) {
	d := &desk{repeated: true}
	response, body := ask(t, serve(t, d, httpapi.Config{}), "POST", "/v1/queries", validSpec)
	if response.StatusCode != 200 || response.Header.Get("Location") != "/v1/queries/q1" || !strings.Contains(body, `"id":"q1"`) {
		t.Errorf("%s: %s", response.Status, body)
	}
}
