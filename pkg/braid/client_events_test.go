package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// script answers the requests for events, one after the other, and notes the ids that they go on behind.
type script struct {
	answers []func(w http.ResponseWriter)
	behind  []string
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.behind = append(s.behind, r.Header.Get("Last-Event-ID"))
	answer := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	answer(w)
}

func statusLine(state messages.QueryState) string {
	status := sampleStatus()
	status.Query.State = state
	data, err := json.Marshal(status)
	if err != nil {
		panic(err)
	}
	return "event: status\ndata: " + string(data) + "\n\n"
}

func says(text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
	}
}

func refuses(slug string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		kind := contract.KindNamed(slug)
		w.Header().Set("Content-Type", contract.ProblemType)
		w.WriteHeader(kind.Status)
		_ = json.NewEncoder(w).Encode(contract.NewProblem(kind, "as was planted"))
	}
}

func TestEachRequestOfAWatchSaysWhoSendsIt(t *testing.T) {
	token := tokenOf(t, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			refuses(contract.Unauthenticated)(w)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/v1/load/") {
			says("event: status\ndata: {\"run\": {\"id\": \"r1\"}}\n\nevent: end\ndata: {}\n\n")(w)
			return
		}
		says(statusLine(messages.Complete) + "event: end\ndata: {\"state\": \"complete\"}\n\n")(w)
	}))
	defer server.Close()
	client, err := braid.NewClient(server.URL, braid.WithToken(token))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, err := range client.Watch(t.Context(), "q1", "") {
		if err != nil {
			t.Error("query", err)
		}
	}
	told := 0
	if err := client.LoadRuns().FollowRun(t.Context(), "r1", func(*load.RunStatus) error { told++; return nil }); err != nil || told != 1 {
		t.Error("load run", told, err)
	}
}

// watchAll tells what a Watch gives, such as "1 status running, 2-end end complete".
func watchAll(t *testing.T, handler http.Handler, last string) (string, error) {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	client, err := braid.NewClient(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var told []string
	for e, err := range client.Watch(t.Context(), "q1", last) {
		if err != nil {
			return strings.Join(told, ", "), err
		}
		state := e.State
		if e.Status != nil {
			state = e.Status.Query.State
		}
		told = append(told, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.ID, e.Kind, state)))
	}
	return strings.Join(told, ", "), nil
}

func TestAWatchTakesUpABrokenStreamWhereItWas(t *testing.T) {
	s := &script{answers: []func(http.ResponseWriter){
		says("retry: 10\n\n: hello\nid: 1\n" + statusLine(messages.Running) + "event: unheard-of\ndata: {}\n\nid: 2\r\n" + statusLine(messages.Running)),
		refuses(contract.NotReady),
		says("id: 3\n" + statusLine(messages.Complete)[:40]), // it breaks off within an event, whose id counts all the same to nobody
		says("id: 4\n" + statusLine(messages.Complete) + "id: 4-end\nevent: end\ndata: {\"id\":\"q1\",\"state\":\"complete\"}\n\nid: 5\n" + statusLine(messages.Running)),
	}}
	got, err := watchAll(t, s, "")
	want := "1 status running, 2 status running, 4 status complete, 4-end end complete"
	if got != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if behind := strings.Join(s.behind, ","); behind != ",2,2,2" {
		t.Errorf("the requests went on behind %q", behind)
	}
}

func TestAWatchEndsWhereItIsTold(t *testing.T) {
	none := func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }
	for name, c := range map[string]struct {
		answers []func(http.ResponseWriter)
		want    string
		err     error
	}{
		"seen already":           {[]func(http.ResponseWriter){none}, "", nil},
		"removed":                {[]func(http.ResponseWriter){says("id: 7\nevent: removed\ndata: {\"id\":\"q1\"}\n\n")}, "7 removed", nil},
		"gone meanwhile":         {[]func(http.ResponseWriter){says("retry: 10\nid: 1\n" + statusLine(messages.Running)), refuses("not-found")}, "1 status running, removed", nil},
		"never there":            {[]func(http.ResponseWriter){refuses("not-found")}, "", messages.ErrNotFound},
		"refused":                {[]func(http.ResponseWriter){refuses(contract.UnknownHost)}, "", braid.ErrServer},
		"not ready at the start": {[]func(http.ResponseWriter){refuses(contract.NotReady)}, "", braid.ErrServer},
		"no stream of events":    {[]func(http.ResponseWriter){func(w http.ResponseWriter) { _, _ = io.WriteString(w, "hello") }}, "", braid.ErrServer},
		"an endless line": {[]func(http.ResponseWriter){func(w http.ResponseWriter) {
			says("data: ")(w)
			_, _ = io.Copy(w, io.LimitReader(zeros{}, 64<<20))
		}, refuses("not-found")}, "removed", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := watchAll(t, &script{answers: c.answers}, "6")
			if got != c.want || !errors.Is(err, c.err) {
				t.Errorf("got %q, %v, want %q, %v", got, err, c.want, c.err)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestAServerWithoutEventsIsPolled(t *testing.T) {
	states := []messages.QueryState{messages.Running, messages.Running, messages.Complete}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/events") {
			refuses(contract.NoRoute)(w)
			return
		}
		status := sampleStatus()
		status.Query.State = states[0]
		states = states[1:]
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(status)
	})
	got, err := watchAll(t, handler, "")
	if want := "status running, status complete, end complete"; got != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestAWatchEndsWithItsContextAndWithItsReader(t *testing.T) {
	held := make(chan struct{})
	defer close(held)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		says("id: 1\n" + statusLine(messages.Running))(w)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-held:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	client, err := braid.NewClient(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for e, err := range client.Watch(t.Context(), "q1", "") {
		if err != nil || e.ID != "1" {
			t.Errorf("got %+v, %v", e, err)
		}
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for e, err := range client.Watch(ctx, "q1", "") {
		if last = err; e != nil {
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("got %v", last)
	}
}
