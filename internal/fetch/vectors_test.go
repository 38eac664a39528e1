package fetch_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/pkg/service"
)

// statusCase is one recorded judgement of an existing client of the same services.
type statusCase struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	In   struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		JSON    json.RawMessage   `json:"body_json"`
		Text    string            `json:"body_text"`
	} `json:"in"`
	Expect judgement `json:"expect"`
}

type judgement struct {
	Error        *string  `json:"error"`
	RetryAfter   *float64 `json:"retry_after"`
	Retried      bool     `json:"retried_inline"`
	Resumable    bool     `json:"resumable"`
	Interruption string   `json:"interruption"`
}

// vectors reads the cases of a kind.
func vectors[C any](t *testing.T, kind string, least int) []C {
	t.Helper()
	data, err := os.ReadFile("testdata/classify.json")
	if err != nil {
		t.Fatal(err)
	}
	var set struct {
		Cases []json.RawMessage `json:"cases"`
	}
	if err := json.Unmarshal(data, &set); err != nil {
		t.Fatal(err)
	}
	var cases []C
	for _, raw := range set.Cases {
		var head struct{ Kind string }
		if err := json.Unmarshal(raw, &head); err != nil {
			t.Fatal(err)
		}
		if head.Kind != kind {
			continue // of another form; fan-outs are of internal/coordinator
		}
		var c C
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if len(cases) < least {
		t.Fatalf("only %d cases of %s", len(cases), kind)
	}
	return cases
}

func TestAStatusIsJudgedAsByTheRecordedClient(t *testing.T) {
	for _, c := range vectors[statusCase](t, "http_status", 70) {
		t.Run(c.ID, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
				for name, value := range c.In.Headers {
					out.Header().Set(name, value)
				}
				out.WriteHeader(c.In.Status)
				_, _ = out.Write(append([]byte(c.In.Text), c.In.JSON...))
			}))
			defer server.Close()
			d := definition(t, "keyed")
			if err := d.Rebase(server.URL); err != nil {
				t.Fatal(err)
			}
			if c.Expect.Error == nil {
				notAnError(t, d.Collections[0], c.In.Status)
				return
			}
			_, err := newClient(t, d.Collections[0], fetch.Config{}).FetchPage(t.Context(), task(t, d.Collections[0]), service.Walk{})
			refused := refusal(t, err, classWanted(c))
			if refused.Status != c.In.Status || refused.RetryAfter != hintWanted(c) {
				t.Errorf("status %d, wait %s, want %d, %s", refused.Status, refused.RetryAfter, c.In.Status, hintWanted(c))
			}
			// What the client sends again we send again, and what it can resume we can: a chunk that is given up as too
			// large goes on in its parts.
			isRetried := refused.Class == service.ClassQuota || refused.Class == service.ClassTransient
			if isRetried != c.Expect.Retried && c.In.Status != http.StatusRequestTimeout || c.Expect.Retried != c.Expect.Resumable {
				t.Errorf("class %s: sent again %t, want %t", refused.Class, isRetried, c.Expect.Retried)
			}
			if (refused.GivesUpAs == service.ClassTooLarge) != (c.In.Status == http.StatusGatewayTimeout) {
				t.Errorf("gives up as %q", refused.GivesUpAs)
			}
		})
	}
}

// notAnError judges what the client takes for a success: it asks no more of a status than to be below 400. We read pages of
// 200 to 299 alone, and refuse a redirect that cannot be followed.
func notAnError(t *testing.T, c *service.Collection, status int) {
	t.Helper()
	want := service.ClassOK
	switch {
	case status == http.StatusNoContent:
		want = service.ClassNoData
	case status >= 300:
		want = service.ClassBadLink
	}
	if got, _ := c.Classify(status, nil, nil); got != want {
		t.Errorf("class %s, want %s", got, want)
	}
}

func classWanted(c statusCase) service.Class {
	switch {
	case *c.Expect.Error == "RateLimited":
		return service.ClassQuota
	case *c.Expect.Error == "URLTooLong":
		return service.ClassTooLarge
	case *c.Expect.Error == "ServiceUnavailable":
		return service.ClassTransient
	case c.In.Status == http.StatusRequestTimeout:
		return service.ClassTransient // not sent again by the client; it is a failure of the moment
	case c.In.Status == http.StatusUnauthorized, c.In.Status == http.StatusForbidden:
		return service.ClassAuth
	}
	return service.ClassBadRequest
}

// hintWanted is the recorded wait; a hint of no wait is none.
func hintWanted(c statusCase) time.Duration {
	if c.Expect.RetryAfter == nil {
		return 0
	}
	return time.Duration(*c.Expect.RetryAfter * float64(time.Second))
}
