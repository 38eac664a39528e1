package httpapi_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/httpapi"
	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/access"
	"github.com/braidhq/braid/pkg/messages"
)

// audited is a line of the audit as the documentation describes it.
type audited struct {
	V                                                                      int
	Time, Event, Operation, Query, Name, Team, Role, Token, Remote, Reason string
	RequestID                                                              string `json:"request_id"`
	Status                                                                 int
}

func auditOf(t *testing.T, file string) []audited {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var events []audited
	for line := range strings.Lines(string(data)) {
		var e audited
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		events = append(events, e)
	}
	return events
}

func TestTheAuditTellsWhoChangesWhat(t *testing.T) {
	digest, err := access.ParseToken(tokenOf(t, operatorSeed))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		method, path, body string
		err                error
		want               []audited
	}{
		"submit": {"POST", "/v1/queries", validSpec, nil, []audited{
			{Event: "started", Operation: "submit-query"}, {Event: "done", Operation: "submit-query", Query: "q1", Status: 201},
		}},
		"cancel by the first letters": {"POST", "/v1/queries/q/cancel", "", nil, []audited{
			{Event: "started", Operation: "cancel-query", Query: "q"}, {Event: "done", Operation: "cancel-query", Query: "q1", Status: 200},
		}},
		"remove the latest": {"DELETE", "/v1/queries/latest", "", nil, []audited{
			{Event: "started", Operation: "remove-query", Query: "latest"}, {Event: "done", Operation: "remove-query", Query: "q1", Status: 204},
		}},
		"a failure": {"POST", "/v1/gc", "", messages.ErrUnreachable, []audited{
			{Event: "started", Operation: "collect-garbage"}, {Event: "failed", Operation: "collect-garbage", Status: 503},
		}},
		"reading":  {"GET", "/v1/queries/q1", "", nil, nil},
		"planning": {"POST", "/v1/plan", validSpec, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := guard(t)
			g.desk.err = c.err
			response, _ := ask(t, g.Server, c.method, c.path, c.body, bearer(tokenOf(t, operatorSeed)))
			got := auditOf(t, g.audit)
			if len(got) != len(c.want) {
				t.Fatalf("got %+v, want %+v", got, c.want)
			}
			for i, e := range got {
				want := c.want[i]
				want.V, want.Time, want.Name, want.Role, want.Token = 1, e.Time, "olga", "operator", digest.ID()
				want.Remote, want.RequestID = "127.0.0.1", response.Header.Get("X-Request-Id")
				if e != want || e.Time == "" {
					t.Errorf("event %d is %+v, want %+v", i, e, want)
				}
			}
			if logged := strings.Count(g.log.String(), "audit=true"); logged != len(c.want)/2 {
				t.Errorf("the log tells %d events, want one a change:\n%s", logged, g.log)
			}
		})
	}
}

func TestTheAuditTellsWhoWasRefused(t *testing.T) {
	g := guard(t)
	g.desk.statuses = []*messages.Status{sampleStatus()} // nobody's
	ask(t, g.Server, "GET", "/v1/queries", "")
	ask(t, g.Server, "POST", "/v1/gc", "", bearer(tokenOf(t, readerSeed)))
	ask(t, g.Server, "DELETE", "/v1/queries/q1", "", bearer(tokenOf(t, submitterSeed)))
	ask(t, g.Server, "POST", "/login", `{"token":"braid_x"}`)
	logIn(t, g, adminSeed)
	want := []audited{
		{Event: "refused", Operation: "list-queries", Status: 401},
		{Event: "refused", Operation: "collect-garbage", Name: "rita", Status: 403},
		{Event: "started", Operation: "remove-query", Name: "sam", Query: "q1"},
		{Event: "refused", Operation: "remove-query", Name: "sam", Query: "q1", Status: 403},
		{Event: "refused", Operation: "login", Status: 401},
		{Event: "login", Operation: "login", Name: "ada"},
	}
	got := auditOf(t, g.audit)
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i, e := range got {
		told := audited{Event: e.Event, Operation: e.Operation, Name: e.Name, Query: e.Query, Status: e.Status}
		if told != want[i] || e.Event == "refused" && e.Query == "" && e.Reason == "" {
			t.Errorf("event %d is %+v, want %+v", i, e, want[i])
		}
	}
}

func TestNothingIsChangedThatCannotBeWrittenDown(t *testing.T) {
	g := guard(t)
	if err := os.Remove(g.audit); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(g.audit, 0o700); err != nil { // whoever runs the test, nobody can write to a folder
		t.Fatal(err)
	}
	for _, route := range []string{"POST /v1/queries", "POST /v1/queries/q1/cancel", "POST /v1/queries/q1/resume", "DELETE /v1/queries/q1", "POST /v1/gc", "POST /v1/queries/q1/verify"} {
		method, path, _ := strings.Cut(route, " ")
		response, body := ask(t, g.Server, method, path, "", bearer(tokenOf(t, adminSeed)))
		wantProblem(t, response, body, contract.AuditUnwritable)
	}
	response, body := ask(t, g.Server, "POST", "/login", `{"token":"`+tokenOf(t, adminSeed)+`"}`)
	wantProblem(t, response, body, contract.AuditUnwritable)
	if len(g.desk.asked) > 0 {
		t.Errorf("asked %q", g.desk.asked)
	}
	if response, _ := ask(t, g.Server, "GET", "/v1/queries/q1", "", bearer(tokenOf(t, adminSeed))); response.StatusCode != http.StatusOK {
		t.Errorf("reading is refused too: %s", response.Status)
	}
	if response, _ := ask(t, g.Server, "GET", "/v1/queries/q1", ""); response.StatusCode != http.StatusUnauthorized {
		t.Errorf("a refusal that cannot be written down: %s", response.Status)
	}
	if err := os.Remove(g.audit); err != nil {
		t.Fatal(err)
	}
	if response, body := ask(t, g.Server, "POST", "/v1/gc", "", bearer(tokenOf(t, adminSeed))); response.StatusCode != http.StatusOK || len(auditOf(t, g.audit)) != 2 {
		t.Errorf("when it can be written again: %s %s", response.Status, body)
	}
	if _, err := httpapi.OpenAudit(t.TempDir(), nil); err == nil {
		t.Error("an audit file that is a folder is opened")
	}
}

func TestTheAuditFileMayBeMovedAway(t *testing.T) {
	g := guard(t)
	ask(t, g.Server, "POST", "/v1/gc", "", bearer(tokenOf(t, adminSeed)))
	if err := os.Rename(g.audit, g.audit+".1"); err != nil {
		t.Fatal(err)
	}
	ask(t, g.Server, "POST", "/v1/gc", "", bearer(tokenOf(t, adminSeed)))
	for _, file := range []string{g.audit, g.audit + ".1"} {
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 || len(auditOf(t, file)) != 2 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
}

func TestAHandlerThatThrowsIsWrittenDownAsFailed(t *testing.T) {
	g := guard(t)
	g.desk.panics = true
	ask(t, g.Server, "DELETE", "/v1/queries/q1", "", bearer(tokenOf(t, adminSeed)))
	if got := auditOf(t, g.audit); len(got) != 2 || got[1].Event != "failed" {
		t.Errorf("got %+v", got)
	}
}
