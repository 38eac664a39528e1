package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/httpapi"
	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/access"
	"github.com/braidhq/braid/pkg/messages"
)

// tokenOf is a token of a test: the same for the same seed.
func tokenOf(t testing.TB, seed byte) string {
	t.Helper()
	token, err := access.NewToken(bytes.NewReader(bytes.Repeat([]byte{seed}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func entryOf(t testing.TB, seed byte, name, team string, role access.Role, granted ...access.Permission) access.Entry {
	t.Helper()
	digest, err := access.ParseToken(tokenOf(t, seed))
	if err != nil {
		t.Fatal(err)
	}
	return access.Entry{Name: name, Team: team, Role: role, Permissions: granted, SHA256: digest}
}

// clock is a time that a test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// locked is a buffer that is written and read at once.
type locked struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// guarded is an API that asks for tokens.
type guarded struct {
	*httptest.Server
	desk   *desk
	access *httpapi.Access
	clock  *clock
	file   string // of the tokens
	audit  string // file
	log    *locked
}

// Seeds of the tokens that guard knows.
const (
	readerSeed byte = iota + 1
	submitterSeed
	operatorSeed
	adminSeed
	strangerSeed // is in no file
)

func people(t testing.TB) []access.Entry {
	t.Helper()
	return []access.Entry{
		entryOf(t, readerSeed, "rita", "rivers", access.Reader),
		entryOf(t, submitterSeed, "sam", "rivers", access.Submitter),
		entryOf(t, operatorSeed, "olga", "", access.Operator),
		entryOf(t, adminSeed, "ada", "", access.Admin),
	}
}

func writeTokens(t testing.TB, file string, entries ...access.Entry) {
	t.Helper()
	roster, err := access.NewRoster(entries)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, roster.Encode(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func guard(t *testing.T, entries ...access.Entry) *guarded {
	t.Helper()
	if entries == nil {
		entries = people(t)
	}
	g := &guarded{desk: &desk{}, clock: newClock(), file: filepath.Join(t.TempDir(), "tokens.yaml"), log: &locked{}}
	g.audit = filepath.Join(filepath.Dir(g.file), "audit.jsonl")
	writeTokens(t, g.file, entries...)
	log := slog.New(slog.NewTextHandler(g.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	if g.access, err = httpapi.OpenAccess(httpapi.AccessConfig{Tokens: g.file, Log: log, Now: g.clock.Now}); err != nil {
		t.Fatal(err)
	}
	audit, err := httpapi.OpenAudit(g.audit, log)
	if err != nil {
		t.Fatal(err)
	}
	g.Server = serve(t, g.desk, httpapi.Config{Access: g.access, Audit: audit, Log: log})
	return g
}

func bearer(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

// described is the part of the OpenAPI document that says who may.
type described struct {
	Paths map[string]map[string]struct {
		OperationID string                `json:"operationId"`
		Security    []map[string][]string `json:"security"`
		Permission  string                `json:"x-permission"`
	}
	Components struct {
		SecuritySchemes map[string]struct{ Type string }
	}
}

func describe(t *testing.T, g *guarded) described {
	t.Helper()
	var d described
	response, body := ask(t, g.Server, "GET", "/openapi.json", "", bearer(tokenOf(t, readerSeed)))
	if err := json.Unmarshal([]byte(body), &d); err != nil {
		t.Fatalf("%s: %v", response.Status, err)
	}
	return d
}

func TestEveryOperationDeclaresWhatItAsksFor(t *testing.T) {
	d := describe(t, guard(t))
	operations := 0
	for path, item := range d.Paths {
		for method, o := range item {
			operations++
			open := o.Permission == "open"
			if !open && o.Permission != "authenticated" && !slices.Contains(access.Permissions(), access.Permission(o.Permission)) {
				t.Errorf("%s %s (%s) asks for %q, which is no permission; add its line to rules in access_rules.go", method, path, o.OperationID, o.Permission)
			}
			if o.Security == nil || open != (len(o.Security) == 0) {
				t.Errorf("%s %s asks for %q, and its security is %v", method, path, o.Permission, o.Security)
			}
			for _, scheme := range o.Security {
				for name := range scheme {
					if d.Components.SecuritySchemes[name].Type == "" {
						t.Errorf("%s %s: the scheme %q is not described", method, path, name)
					}
				}
			}
		}
	}
	if operations < 19 {
		t.Errorf("only %d operations are described", operations)
	}
}

// Each operation of the document is asked by each role, and by nobody: it is carried out for those who hold its permission alone.
func TestEachRoleMayDoWhatItsPermissionsSay(t *testing.T) {
	g := guard(t)
	callers := map[string]struct {
		role access.Role
		edit func(*http.Request)
	}{
		"nobody": {"", func(*http.Request) {}}, "a stranger": {"", bearer(tokenOf(t, strangerSeed))},
		"a reader": {access.Reader, bearer(tokenOf(t, readerSeed))}, "a submitter": {access.Submitter, bearer(tokenOf(t, submitterSeed))},
		"an operator": {access.Operator, bearer(tokenOf(t, operatorSeed))}, "an admin": {access.Admin, bearer(tokenOf(t, adminSeed))},
	}
	own := sampleStatus()
	own.Query.Owner, own.Query.Team = "sam", "rivers"
	g.desk.statuses = []*messages.Status{own}
	for path, item := range describe(t, g).Paths {
		for method, o := range item {
			for name, c := range callers {
				concrete := strings.NewReplacer("{id}", "q1", "{slug}", "not-found", "{name}", "usgs", "{position}", "0", "{number}", "0").Replace(path)
				body := ""
				if method == "post" {
					body = validSpec
				}
				g.desk.asked = nil
				response, text := ask(t, g.Server, strings.ToUpper(method), concrete, body, c.edit)
				permission := access.Permission(o.Permission)
				may := o.Permission == "open" || c.role != "" && o.Permission == "authenticated" || slices.Contains(c.role.Permissions(), permission)
				refused := response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden
				if may == refused {
					t.Errorf("%s: %s %s (%s) answers %s: %s", name, method, path, o.Permission, response.Status, text)
				}
				if may {
					continue
				}
				slug := contract.Forbidden
				if c.role == "" {
					slug = contract.Unauthenticated
				}
				p := wantProblem(t, response, text, slug)
				if slug == contract.Forbidden && !strings.Contains(p.Detail, o.Permission) {
					t.Errorf("%s: %s %s: the refusal does not name %s: %s", name, method, path, o.Permission, p.Detail)
				}
				if len(g.desk.asked) > 0 {
					t.Errorf("%s: %s %s asked %q", name, method, path, g.desk.asked)
				}
			}
		}
	}
}

func TestWhatIsNoValidTokenIsRefusedAndNotShown(t *testing.T) {
	g := guard(t, append(people(t), func() access.Entry {
		e := entryOf(t, 50, "past", "", access.Admin)
		e.Expires = newClock().Now()
		return e
	}())...)
	good := tokenOf(t, adminSeed)
	set := func(values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header["Authorization"] = values }
	}
	for name, c := range map[string]struct {
		edit func(*http.Request)
		want string
	}{
		"none":               {set(), "Authorization"},
		"empty":              {set(""), "Bearer"},
		"the scheme alone":   {set("Bearer"), "Bearer"},
		"no scheme":          {set(good), "Bearer"},
		"basic":              {set("Basic YWRhOmFkYQ=="), "Bearer"},
		"another scheme":     {set("Token " + good), "Bearer"},
		"cut":                {set("Bearer " + good[:54]), "copied whole"},
		"two tokens":         {set("Bearer " + good + " " + good), "copied whole"},
		"with a parameter":   {set("Bearer " + good + ", realm=x"), "copied whole"},
		"several headers":    {set("Bearer "+good, "Bearer "+good), "2 times"},
		"of 8 KB":            {set("Bearer " + strings.Repeat("a", 8<<10)), "bytes"},
		"a token and 8 KB":   {set("Bearer " + strings.Repeat(" ", 8<<10) + good), "bytes"},
		"unknown":            {bearer(tokenOf(t, strangerSeed)), "unknown, or was revoked"},
		"expired":            {bearer(tokenOf(t, 50)), "expired"},
		"a tab in between":   {set("Bearer\t" + good), "Bearer"},
		"a cookie of nobody": {func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "braid_session", Value: "x"}) }, "session has ended"},
		"a token as cookie":  {func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "braid_session", Value: good}) }, "session has ended"},
		"two cookies": {func(r *http.Request) {
			r.AddCookie(&http.Cookie{Name: "braid_session", Value: "x"})
			r.AddCookie(&http.Cookie{Name: "braid_session", Value: "y"})
		}, "2 times"},
	} {
		t.Run(name, func(t *testing.T) {
			response, body := ask(t, g.Server, "GET", "/v1/queries", "", c.edit)
			p := wantProblem(t, response, body, contract.Unauthenticated)
			if !strings.Contains(p.Detail, c.want) || len(body) > 1<<10 {
				t.Errorf("it says %.300q, want %q", body, c.want)
			}
			if !strings.HasPrefix(response.Header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("WWW-Authenticate is %q", response.Header.Get("WWW-Authenticate"))
			}
			if strings.Contains(body, good[:20]) {
				t.Errorf("the answer shows the token: %s", body)
			}
		})
	}
	for name, edit := range map[string]func(*http.Request){"any case of the scheme": set("bEARER " + good), "blanks": set("Bearer   " + good)} {
		if response, body := ask(t, g.Server, "GET", "/v1/queries", "", edit); response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s: %s", name, response.Status, body)
		}
	}
	audit, err := os.ReadFile(g.audit)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"log": g.log.String(), "audit": string(audit)} {
		for _, seed := range []byte{adminSeed, strangerSeed, 50} {
			if strings.Contains(text, tokenOf(t, seed)[:20]) {
				t.Errorf("the %s shows a token", name)
			}
		}
	}
}

func TestATokenInAURLIsRefusedAndNotLogged(t *testing.T) {
	g := guard(t)
	token := tokenOf(t, adminSeed)
	for _, path := range []string{
		"/v1/queries?token=x", "/v1/queries?access_token=" + token, "/v1/queries?state=" + token, "/v1/queries/" + token, "/?token=" + token, "/v1/queries?" + token,
		"/v1/queries/braid%5F" + token[6:], "/nothing/" + token, "/healthz?token=",
	} {
		response, body := ask(t, g.Server, "GET", path, "", bearer(token))
		wantProblem(t, response, body, contract.TokenInURL)
		if strings.Contains(body, token[6:26]) {
			t.Errorf("%s: the answer shows it: %s", path, body)
		}
	}
	if strings.Contains(g.log.String(), token[6:26]) {
		t.Errorf("the log shows it: %s", g.log)
	}
}

func TestARequestHasAnIDThatItsAnswerItsProblemAndTheLogTell(t *testing.T) {
	g := guard(t)
	for given, kept := range map[string]bool{
		"req-1.a_B": true, strings.Repeat("a", 64): true, "": false, strings.Repeat("a", 65): false, "a b": false, "a\"b": false, "ä": false, tokenOf(t, adminSeed): false,
	} {
		for _, path := range []string{"/v1/queries", "/v1/queries?x=1", "/nothing"} {
			response, body := ask(t, g.Server, "GET", path, "", func(r *http.Request) { r.Header.Set("X-Request-Id", given) }, bearer(tokenOf(t, readerSeed)))
			id := response.Header.Get("X-Request-Id")
			if kept != (id == given) || id == "" {
				t.Errorf("%q is answered by %q", given, id)
			}
			var p contract.Problem
			if err := json.Unmarshal([]byte(body), &p); err != nil || response.StatusCode >= 400 && p.RequestID != id {
				t.Errorf("the problem tells %q, want %q: %v", p.RequestID, id, err)
			}
			if !strings.Contains(g.log.String(), "request_id="+id) {
				t.Errorf("the log does not tell %s", id)
			}
		}
	}
	if !strings.Contains(g.log.String(), "who=rita") {
		t.Error("the log does not tell who it was")
	}
}

func TestWhoamiTellsRoleAndPermissions(t *testing.T) {
	g := guard(t, entryOf(t, 1, "lea", "lakes", access.Submitter, access.LoadRun))
	_, body := ask(t, g.Server, "GET", "/v1/whoami", "", bearer(tokenOf(t, 1)))
	want := `{"name":"lea","team":"lakes","role":"submitter","permissions":["queries:read","queries:submit","queries:control-own","load:run"],"auth":true}`
	if strings.TrimSpace(body) != want {
		t.Errorf("got %s, want %s", body, want)
	}
	_, body = ask(t, serve(t, &desk{}, httpapi.Config{}), "GET", "/v1/whoami", "")
	if !strings.Contains(body, `"auth":false`) || !strings.Contains(body, `"name":""`) {
		t.Errorf("without tokens: %s", body)
	}
}

func TestASubmissionIsItsSubmitters(t *testing.T) {
	g := guard(t)
	ask(t, g.Server, "POST", "/v1/queries", validSpec, bearer(tokenOf(t, submitterSeed)))
	if want := (messages.Submission{Owner: "sam", Team: "rivers"}); g.desk.submission != want {
		t.Errorf("got %+v, want %+v", g.desk.submission, want)
	}
	d := &desk{}
	ask(t, serve(t, d, httpapi.Config{}), "POST", "/v1/queries", validSpec)
	if d.submission != (messages.Submission{}) {
		t.Errorf("without tokens: %+v", d.submission)
	}
}

func TestASubmitterChangesWhatIsItsOwnAndResumesItsTeams(t *testing.T) {
	for _, c := range []struct {
		owner, team     string
		seed            byte
		control, remove bool
	}{
		{"sam", "rivers", submitterSeed, true, true},
		{"tom", "rivers", submitterSeed, true, false},
		{"tom", "lakes", submitterSeed, false, false},
		{"tom", "", submitterSeed, false, false},
		{"", "", submitterSeed, false, false},
		{"", "", operatorSeed, true, true},
		{"tom", "lakes", adminSeed, true, true},
	} {
		for route, may := range map[string]bool{"POST /v1/queries/latest/resume": c.control, "POST /v1/queries/q/cancel": c.control, "DELETE /v1/queries/q1": c.remove} {
			t.Run(fmt.Sprintf("%s of %s %s by %d", route, c.owner, c.team, c.seed), func(t *testing.T) {
				g := guard(t)
				status := sampleStatus()
				status.Query.Owner, status.Query.Team = c.owner, c.team
				g.desk.statuses = []*messages.Status{status}
				method, path, _ := strings.Cut(route, " ")
				response, body := ask(t, g.Server, method, path, "", bearer(tokenOf(t, c.seed)))
				if !may {
					p := wantProblem(t, response, body, contract.Forbidden)
					if !strings.Contains(p.Detail, "queries:control") || len(g.desk.asked) != 1 {
						t.Errorf("%s; asked %q", p.Detail, g.desk.asked)
					}
					return
				}
				// What was judged is changed: the whole id is passed on, not what may mean another query by now.
				if last := g.desk.asked[len(g.desk.asked)-1]; response.StatusCode/100 != 2 || !strings.HasSuffix(last, " q1") {
					t.Errorf("%s: %s; asked %q", response.Status, body, g.desk.asked)
				}
			})
		}
	}
}

func TestTheFileOfTokensIsReadAgain(t *testing.T) {
	g := guard(t)
	asks := func(seed byte) int {
		response, _ := ask(t, g.Server, "GET", "/v1/queries", "", bearer(tokenOf(t, seed)))
		return response.StatusCode
	}
	writeTokens(t, g.file, entryOf(t, 9, "new", "", access.Reader))
	if asks(9) != 401 || asks(readerSeed) != 200 {
		t.Error("it is read before anybody asked for it")
	}
	g.access.Refresh()
	if asks(9) != 200 || asks(readerSeed) != 401 {
		t.Error("the new file is not known, or the old one still is")
	}
	for name, breakIt := range map[string]func() error{
		"no YAML":                func() error { return os.WriteFile(g.file, []byte("tokens: ["), 0o600) },
		"half of it":             func() error { return os.WriteFile(g.file, []byte("schema: access/v1\n"), 0o600) },
		"gone":                   func() error { return os.Remove(g.file) },
		"a folder":               func() error { return os.Mkdir(g.file, 0o700) },
		"others may write to it": func() error { return os.WriteFile(g.file, []byte("schema: access/v1\ntokens: []\n"), 0o600) },
		"too large":              func() error { return os.WriteFile(g.file, bytes.Repeat([]byte("#"), access.MaxRosterBytes+1), 0o600) },
	} {
		if err := os.RemoveAll(g.file); err != nil {
			t.Fatal(err)
		}
		if name == "gone" {
			writeTokens(t, g.file)
		}
		if err := breakIt(); err != nil {
			t.Fatal(err)
		}
		if name == "others may write to it" {
			if err := os.Chmod(g.file, 0o622); err != nil {
				t.Fatal(err)
			}
		}
		before := strings.Count(g.log.String(), "cannot be used")
		g.access.Refresh()
		g.access.Refresh()
		if told := strings.Count(g.log.String(), "cannot be used") - before; told != 1 || asks(9) != 200 {
			t.Errorf("%s: told %d times, the token that was known gets %d", name, told, asks(9))
		}
	}
	if err := os.RemoveAll(g.file); err != nil {
		t.Fatal(err)
	}
	writeTokens(t, g.file)
	g.access.Refresh()
	if asks(9) != 401 {
		t.Error("a file without tokens lets somebody in")
	}
}

func TestAFileThatOthersMayWriteLetsNobodyIn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	writeTokens(t, file, people(t)...)
	var log bytes.Buffer
	open := func(mode os.FileMode) error {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		_, err := httpapi.OpenAccess(httpapi.AccessConfig{Tokens: file, Log: slog.New(slog.NewTextHandler(&log, nil))})
		return err
	}
	if err := open(0o600); err != nil || log.Len() > 0 {
		t.Errorf("mode 600: %v, %s", err, &log)
	}
	if err := open(0o644); err != nil || !strings.Contains(log.String(), "chmod 600") {
		t.Errorf("mode 644: %v, %s", err, &log)
	}
	for _, mode := range []os.FileMode{0o620, 0o602, 0o666} {
		if err := open(mode); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if _, err := httpapi.OpenAccess(httpapi.AccessConfig{Tokens: file + ".none"}); err == nil {
		t.Error("a file that is not there is opened")
	}
}
