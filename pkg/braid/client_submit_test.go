package braid_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/query"
)

func TestASubmissionWithAKeyIsSentOnceMoreWhenTheConnectionBreaks(t *testing.T) {
	spec := &query.Spec{V: 1, Name: "flows", Service: "usgs", Collection: "daily"}
	for name, c := range map[string]struct {
		breaks int // times
		slug   string
		sent   int
		err    error
	}{
		"at once": {0, "", 1, nil}, "broken once": {1, "", 2, nil}, "broken twice": {2, "", 2, braid.ErrServer},
		"refused": {0, "idempotency-key-reused", 1, query.ErrKeyReused}, "not ready": {0, contract.NotReady, 1, braid.ErrServer},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var keys []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				keys = append(keys, r.Header.Get("Idempotency-Key"))
				breaks := len(keys) <= c.breaks
				mu.Unlock()
				if breaks {
					panic(http.ErrAbortHandler)
				}
				if c.slug != "" {
					refuses(c.slug)(w)
					return
				}
				data, err := sampleQuery().Encode()
				if err != nil {
					t.Error(err)
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(data)
			}))
			defer server.Close()
			client, err := braid.NewClient(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			q, err := client.SubmitWithKey(t.Context(), spec, "k-1")
			server.Close() // which waits for the answers, so that the keys are all there
			if !errors.Is(err, c.err) || (q == nil) != (c.err != nil) || strings.Join(keys, " ") != strings.TrimSpace(strings.Repeat("k-1 ", c.sent)) {
				t.Errorf("%+v, %v; sent under %q", q, err, keys)
			}
		})
	}
	client, err := braid.NewClient("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", "a b", "ä", "\r\n", `"a"`, strings.Repeat("a", 256)} {
		if _, err := client.SubmitWithKey(t.Context(), spec, key); !errors.Is(err, query.ErrInvalid) {
			t.Errorf("%q: %v", key, err)
		}
	}
}

func TestAllPagesOfQueriesAreRead(t *testing.T) {
	pages := map[string]string{
		"":                        `{"queries":[],"next":""}`,
		"after=second&limit=1000": "",
	}
	one, err := sampleQuery().Encode()
	if err != nil {
		t.Fatal(err)
	}
	entry := `{"query":` + string(one) + `}`
	pages[""] = `{"queries":[` + entry + `],"next":"second"}`
	pages["after=second&limit=1000"] = `{"queries":[` + entry + "," + entry + `]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(pages[r.URL.RawQuery]))
	}))
	defer server.Close()
	client, err := braid.NewClient(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	all, err := client.Statuses(t.Context())
	if err != nil || len(all) != 3 || all[0].Query.ID != sampleQuery().ID {
		t.Errorf("%d queries, %v", len(all), err)
	}
	pages[""] = `{"queries":[],"next":"second"}`
	if _, err := client.Statuses(t.Context()); !errors.Is(err, braid.ErrServer) {
		t.Errorf("a list without an end: %v", err)
	}
}
