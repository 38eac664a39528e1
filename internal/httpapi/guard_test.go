package httpapi_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/httpapi"
	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/internal/logging"
	"github.com/braidhq/braid/pkg/access"
)

func TestAPageOfAnotherOriginReadsNothingInTheBackground(t *testing.T) {
	for name, c := range map[string]struct {
		path, site, mode, dest string
		refused                bool
	}{
		"an image":             {"/v1/queries/q1/results", "cross-site", "no-cors", "image", true},
		"a fetch":              {"/v1/queries", "cross-site", "cors", "empty", true},
		"of a sibling":         {"/v1/queries", "same-site", "no-cors", "script", true},
		"a frame":              {"/v1/queries", "cross-site", "navigate", "iframe", true},
		"no mode":              {"/v1/queries", "cross-site", "", "", true},
		"metrics":              {"/metrics", "cross-site", "no-cors", "image", true},
		"a path that is none":  {"/v1/nothing", "cross-site", "no-cors", "image", true},
		"a link":               {"/v1/queries/q1/results", "cross-site", "navigate", "document", false},
		"our page":             {"/v1/queries", "same-origin", "cors", "empty", false},
		"the address line":     {"/v1/queries", "none", "navigate", "document", false},
		"a program":            {"/v1/queries", "", "", "", false},
		"whether we are there": {"/healthz", "cross-site", "no-cors", "image", false},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			d := &desk{}
			metrics := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { d.note("metrics") })
			response, body := ask(t, serve(t, d, httpapi.Config{Metrics: metrics}), method, c.path, "", func(r *http.Request) {
				for header, value := range map[string]string{"Sec-Fetch-Site": c.site, "Sec-Fetch-Mode": c.mode, "Sec-Fetch-Dest": c.dest} {
					if value != "" {
						r.Header.Set(header, value)
					}
				}
			})
			if refused := response.StatusCode == http.StatusForbidden && len(d.asked) == 0; refused != c.refused {
				t.Errorf("%s, %s: %s, asked %q", name, method, response.Status, d.asked)
			}
			if c.refused && method == "GET" {
				wantProblem(t, response, body, contract.CrossOrigin)
			}
		}
	}
}

func TestATokenIsFoundInAURLHoweverItIsWritten(t *testing.T) {
	token := tokenOf(t, readerSeed)
	escaped := strings.ReplaceAll(token, "_", "%5F")
	twice := strings.ReplaceAll(token, "b", "%2562")
	for name, target := range map[string]string{
		"a parameter":                     "/v1/queries?owner=" + token,
		"behind a semicolon":              "/v1/queries?owner=a;b=" + token,
		"behind a bad escape":             "/v1/queries?owner=%zz" + token,
		"with a bad escape":               "/v1/queries?x=%&owner=" + token,
		"escaped":                         "/v1/queries?owner=" + escaped,
		"escaped and bad":                 "/v1/queries?owner=%zz" + escaped,
		"twice escaped":                   "/v1/queries?owner=" + twice,
		"a name":                          "/v1/queries?" + token,
		"in the path":                     "/v1/queries/" + token,
		"escaped in the path":             "/v1/queries/" + escaped,
		"at the path's far end":           "/v1/" + strings.Repeat("a", 185) + token,
		"token=":                          "/v1/queries?token=x",
		"an escaped name":                 "/v1/queries?%74oken=x",
		"behind a semicolon, by its name": "/v1/queries?a;token=x",
		"beside a bad escape":             "/v1/queries?%zz&access_token=x",
	} {
		t.Run(name, func(t *testing.T) {
			g := guard(t)
			response, body := ask(t, g.Server, "GET", target, "", bearer(token))
			wantProblem(t, response, body, contract.TokenInURL)
			for _, text := range []string{body, g.log.String()} {
				if strings.Contains(text, token[6:26]) {
					t.Errorf("the token is told: %s", text)
				}
			}
			if got := auditOf(t, g.audit); len(got) != 1 || got[0].Event != "refused" || got[0].Status != 400 || strings.Contains(got[0].Operation, token[6:26]) {
				t.Errorf("the audit has %+v", got)
			}
		})
	}
	for _, target := range []string{"/v1/queries?owner=50%", "/v1/queries?owner=a;b", "/v1/queries?owner=token", "/v1/queries?owner=braid_x"} {
		g := guard(t)
		if _, body := ask(t, g.Server, "GET", target, "", bearer(token)); strings.Contains(body, contract.TokenInURL) {
			t.Errorf("%s: %s", target, body)
		}
	}
}

// What the audit tells the log has to be there behind the log's own redaction.
func TestTheLogTellsWhoWasRefusedAndWhy(t *testing.T) {
	told := &locked{}
	log, err := logging.New(told, logging.JSON, slog.LevelInfo)
	if err != nil {
		t.Fatal(err)
	}
	g := guard(t)
	server := serve(t, &desk{}, httpapi.Config{Access: g.access, Log: log})
	digest, err := access.ParseToken(tokenOf(t, readerSeed))
	if err != nil {
		t.Fatal(err)
	}
	ask(t, server, "POST", "/v1/gc", "", bearer(tokenOf(t, readerSeed)))
	ask(t, server, "GET", "/v1/queries", "")
	ask(t, server, "POST", "/v1/gc", "", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") })
	ask(t, server, "GET", "/v1/queries", "", func(r *http.Request) { r.Host = "evil.example" })
	ask(t, server, "GET", "/v1/queries?token="+tokenOf(t, readerSeed), "")
	for range 11 {
		ask(t, server, "POST", "/login", `{"token":"`+tokenOf(t, readerSeed)+`"}`)
	}
	type line struct {
		Event, Operation, Name, Reason string
		TokenID                        string `json:"token_id"`
		Status                         int
	}
	var got []line
	for text := range strings.Lines(told.String()) {
		var l struct {
			line
			Audit bool
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		if l.Audit {
			got = append(got, l.line)
		}
	}
	want := []line{
		{Event: "refused", Operation: "collect-garbage", Name: "rita", TokenID: digest.ID(), Status: 403},
		{Event: "refused", Operation: "list-queries", Status: 401},
		{Event: "refused", Operation: "POST /v1/gc", Status: 403},
		{Event: "refused", Operation: "GET /v1/queries", Status: 421},
		{Event: "refused", Operation: "GET /v1/queries", Status: 400},
		{Event: "refused", Operation: "login", Status: 429},
	}
	if len(got) != len(want) {
		t.Fatalf("the log has\n%s", told)
	}
	for i := range want {
		if got[i].Reason == "" {
			t.Errorf("line %d has no reason", i)
		}
		if got[i].Reason = ""; got[i] != want[i] {
			t.Errorf("line %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}
