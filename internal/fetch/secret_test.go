package fetch_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/pkg/service"
)

// hasNoSecret looks through an error, its causes, and all that can be printed of them.
func hasNoSecret(t *testing.T, err error) {
	t.Helper()
	for ; err != nil; err = errors.Unwrap(err) {
		noSecretIn(t, fmt.Sprintf("%v %+v %#v", err, err, err))
	}
}

func noSecretIn(t *testing.T, text string) {
	t.Helper()
	for _, form := range []string{topSecret, url.QueryEscape(topSecret), url.PathEscape(topSecret), topSecret[:8], base64.StdEncoding.EncodeToString([]byte(topSecret))} {
		if strings.Contains(text, form) {
			t.Errorf("%q has the secret in it", text)
		}
	}
}

func TestACredentialIsSentInThePlaceThatItsDefinitionNames(t *testing.T) {
	for send, want := range map[string]func(*http.Request) bool{
		"{header: X-Api-Key}": func(r *http.Request) bool { return r.Header.Get("X-Api-Key") == topSecret },
		"{bearer: true}":      func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer "+topSecret },
		"{basic: true}": func(r *http.Request) bool {
			return r.Header.Get("Authorization") == "Basic "+base64.StdEncoding.EncodeToString([]byte(topSecret))
		},
		"{query: key}": func(r *http.Request) bool { return r.URL.RawQuery == "a=1&key="+url.QueryEscape(topSecret) },
	} {
		t.Run(send, func(t *testing.T) {
			w := newWorld(t, map[string]http.HandlerFunc{"example.com": answer(200, onePage)})
			keyed := collection(t, "keyed", "{header: X-Api-Key}", send)
			task := encode(t, service.Request{Method: "GET", URL: "https://example.com/v1/things?a=1"})
			if _, err := w.client(t, keyed, topSecret).FetchPage(t.Context(), task, service.Walk{}); err != nil {
				t.Fatal(err)
			}
			if r := w.requests()[0]; !want(r) {
				t.Errorf("sent %s with %v", r.URL, r.Header)
			}
		})
	}
}

func TestTheCursorOfTheNextPageHasNoSecret(t *testing.T) {
	escaped := url.QueryEscape(topSecret)
	for name, c := range map[string]struct{ send, next, want string }{
		"own parameter":      {"{query: key}", "/v1/things?page=2&key=" + escaped + "&f=json", "https://example.com/v1/things?page=2&f=json"},
		"in another case":    {"{query: key}", "/v1/things?KEY=" + escaped + "&page=2", "https://example.com/v1/things?page=2"},
		"escaped name":       {"{query: key}", "/v1/things?%6Bey=x&page=2", "https://example.com/v1/things?page=2"},
		"alone":              {"{query: key}", "/v1/things?key=" + escaped, "https://example.com/v1/things"},
		"header echoed":      {"{header: X-Api-Key}", "/v1/things?token=" + escaped + "&page=2", "https://example.com/v1/things?page=2"},
		"nothing to take":    {"{query: key}", "/v1/things?page=2&q=a,b%2C%20c&&z", "https://example.com/v1/things?page=2&q=a,b%2C%20c&&z"},
		"to a listed host":   {"{query: key}", "https://mirror.example.com/things?key=" + escaped + "&page=2", "https://mirror.example.com/things?page=2"},
		"user in the link":   {"{header: X-Api-Key}", "https://me:" + escaped + "@example.com/v1/things?page=2", "https://example.com/v1/things?page=2"},
		"parameter of a cut": {"{query: key}", "/v1/things?page=2&key=old", "https://example.com/v1/things?page=2"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]http.HandlerFunc{"example.com": answer(200, fmt.Sprintf(`{"items":[],"next":%q}`, c.next))})
			keyed := collection(t, "keyed", "{header: X-Api-Key}", c.send)
			page, err := w.client(t, keyed, topSecret).FetchPage(t.Context(), task(t, keyed), service.Walk{})
			if err != nil || page.Next != c.want {
				t.Errorf("next is %q, error %v; want %q", page.Next, err, c.want)
			}
		})
	}
	t.Run("in the path", func(t *testing.T) {
		w := newWorld(t, map[string]http.HandlerFunc{"example.com": answer(200, fmt.Sprintf(`{"items":[],"next":"/v1/%s/2"}`, topSecret))})
		keyed := collection(t, "keyed")
		_, err := w.client(t, keyed, topSecret).FetchPage(t.Context(), task(t, keyed), service.Walk{})
		refusal(t, err, service.ClassBadLink)
		hasNoSecret(t, err)
	})
}

func TestANextPageOnAnotherHostIsFetchedWithoutTheCredential(t *testing.T) {
	for _, send := range []string{"{header: X-Api-Key}", "{query: key}", "{bearer: true}", "{basic: true}"} {
		w := newWorld(t, map[string]http.HandlerFunc{
			"example.com":        answer(200, `{"items":[],"next":"https://mirror.example.com/things?page=2"}`),
			"mirror.example.com": answer(200, onePage),
		})
		keyed := collection(t, "keyed", "{header: X-Api-Key}", send)
		client := w.client(t, keyed, topSecret)
		page, err := client.FetchPage(t.Context(), task(t, keyed), service.Walk{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.FetchPage(t.Context(), task(t, keyed), service.Walk{Cursor: page.Next}); err != nil {
			t.Fatal(err)
		}
		r := w.requests()[1]
		if r.Host != "mirror.example.com" {
			t.Fatalf("the second request went to %s", r.Host)
		}
		noSecretIn(t, fmt.Sprint(r.URL, r.Header))
	}
}

func TestNoErrorHasASecretInIt(t *testing.T) {
	echo := func(r *http.Request) string {
		secret := r.Header.Get("X-Api-Key") + r.URL.Query().Get("key") + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		return secret
	}
	quoted := func(text string) string {
		data, _ := json.Marshal(text)
		return string(data)
	}
	for name, handler := range map[string]http.HandlerFunc{
		"JSON message": func(out http.ResponseWriter, r *http.Request) {
			answer(403, `{"message":`+quoted("bad key "+echo(r))+`}`)(out, r)
		},
		"URL in a message": func(out http.ResponseWriter, r *http.Request) {
			answer(400, "no such page "+r.URL.String()+" "+echo(r))(out, r)
		},
		"HTML title": func(out http.ResponseWriter, r *http.Request) {
			answer(503, "<html><title>"+echo(r)+"</title>")(out, r)
		},
		"title, status 200": func(out http.ResponseWriter, r *http.Request) {
			answer(200, "<html><title>"+echo(r)+"</title>")(out, r)
		},
		"text, status 200": func(out http.ResponseWriter, r *http.Request) { answer(200, "key is "+echo(r))(out, r) },
		"cut off in the middle": func(out http.ResponseWriter, r *http.Request) {
			answer(200, strings.Repeat("x", 110)+echo(r))(out, r) // DecodePage shows 120 bytes
		},
		"JSON without a list": func(out http.ResponseWriter, r *http.Request) { answer(200, `{"key":`+quoted(echo(r))+`}`)(out, r) },
		"compression":         func(out http.ResponseWriter, r *http.Request) { answer(200, "", "Content-Encoding", echo(r))(out, r) },
		"bad header": func(out http.ResponseWriter, r *http.Request) {
			conn, _, err := out.(http.Hijacker).Hijack()
			if err == nil {
				fmt.Fprintf(conn, "HTTP/1.1 %s\r\n\r\n", echo(r))
				_ = conn.Close()
			}
		},
		"closed": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"next link": func(out http.ResponseWriter, r *http.Request) {
			answer(200, `{"items":[],"next":`+quoted("https://evil.example/?"+echo(r))+`}`)(out, r)
		},
		"next link, no URL": func(out http.ResponseWriter, r *http.Request) {
			answer(200, `{"items":[],"next":`+quoted("http://["+echo(r))+`}`)(out, r)
		},
		"next host": func(out http.ResponseWriter, r *http.Request) {
			answer(200, `{"items":[],"next":`+quoted("https://"+url.PathEscape(echo(r))+".example/")+`}`)(out, r)
		},
	} {
		for _, send := range []string{"{header: X-Api-Key}", "{query: key}", "{bearer: true}"} {
			t.Run(name+" "+send, func(t *testing.T) {
				w := newWorld(t, map[string]http.HandlerFunc{"example.com": handler})
				keyed := collection(t, "keyed", "{header: X-Api-Key}", send)
				_, err := w.client(t, keyed, topSecret).FetchPage(t.Context(), task(t, keyed), service.Walk{})
				if err == nil {
					t.Fatal("no error")
				}
				hasNoSecret(t, err)
			})
		}
	}
}

func TestASecretThatTheBoundOfAMessageCutsIsHidden(t *testing.T) {
	w := newWorld(t, map[string]http.HandlerFunc{"example.com": func(out http.ResponseWriter, r *http.Request) {
		answer(403, `{"message":"`+strings.Repeat("x", 360+len(r.URL.RawQuery))+r.Header.Get("X-Api-Key")+strings.Repeat("x", 200)+`"}`)(out, r)
	}})
	keyed := collection(t, "keyed", "credentials: [key]", "credentials: [key, second]",
		"timeouts:", "  second: {send: {header: X-Second}, from: [env:SECOND], signup: 'https://example.com/second'}\ntimeouts:")
	client := newClient(t, keyed, fetch.Config{Transport: w.transport, Credentials: func(c service.Credential) (string, bool, error) {
		return topSecret, c.ID == "key", nil
	}})
	for cut := range 4 * len(topSecret) { // the hint takes its part, so the place of the cut is searched
		task := encode(t, service.Request{Method: "GET", URL: "https://example.com/v1/things?" + strings.Repeat("x", cut)})
		_, err := client.FetchPage(t.Context(), task, service.Walk{})
		if message := refusal(t, err, service.ClassAuth).Message; !strings.Contains(message, "example.com/second") {
			t.Fatalf("message %q", message)
		}
		hasNoSecret(t, err)
	}
}

func TestABasicPasswordIsHiddenByItself(t *testing.T) {
	w := newWorld(t, map[string]http.HandlerFunc{"example.com": answer(401, "wrong password "+topSecret)})
	keyed := collection(t, "keyed", "{header: X-Api-Key}", "{basic: true}")
	_, err := w.client(t, keyed, "ada:"+topSecret).FetchPage(t.Context(), task(t, keyed), service.Walk{})
	refusal(t, err, service.ClassAuth)
	hasNoSecret(t, err)
}

func TestARequiredCredentialThatIsMissingStopsTheRequestAndTellsWhereToGetOne(t *testing.T) {
	w := newWorld(t, map[string]http.HandlerFunc{"example.com": answer(200, onePage)})
	keyed := collection(t, "keyed", "required: false", "required: true")
	_, err := w.client(t, keyed, "").FetchPage(t.Context(), task(t, keyed), service.Walk{})
	message := refusal(t, err, service.ClassAuth).Message
	for _, part := range []string{"key", "env:THINGS_KEY", "file:things.key", "https://example.com/signup"} {
		if !strings.Contains(message, part) {
			t.Errorf("message %q does not name %s", message, part)
		}
	}
	if n := len(w.requests()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestACredentialThatCannotBeReadOrSentStopsTheRequest(t *testing.T) {
	w := newWorld(t, map[string]http.HandlerFunc{"example.com": answer(200, onePage)})
	keyed := collection(t, "keyed")
	broken := errors.New("mode 0644")
	client := newClient(t, keyed, fetch.Config{Transport: w.transport, Credentials: func(service.Credential) (string, bool, error) {
		return "", false, broken
	}})
	_, err := client.FetchPage(t.Context(), task(t, keyed), service.Walk{})
	if refused := refusal(t, err, service.ClassAuth); !errors.Is(err, broken) || !strings.Contains(refused.Message, "mode 0644") {
		t.Errorf("got %v, want the reason", err)
	}
	_, err = w.client(t, keyed, topSecret+"\r\nX-Evil: 1").FetchPage(t.Context(), task(t, keyed), service.Walk{})
	refusal(t, err, service.ClassAuth)
	hasNoSecret(t, err)
	if n := len(w.requests()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestARefusalWithoutACredentialTellsWhereToGetOne(t *testing.T) {
	for status, class := range map[int]service.Class{429: service.ClassQuota, 403: service.ClassAuth} {
		w := newWorld(t, map[string]http.HandlerFunc{"example.com": answer(status, strings.Repeat("wait ", 200))})
		keyed := collection(t, "keyed")
		_, err := w.client(t, keyed, "").FetchPage(t.Context(), task(t, keyed), service.Walk{})
		if message := refusal(t, err, class).Message; !strings.Contains(message, "https://example.com/signup") || len(message) > 500 {
			t.Errorf("status %d: message %q", status, message)
		}
		_, err = w.client(t, keyed, topSecret).FetchPage(t.Context(), task(t, keyed), service.Walk{})
		if message := refusal(t, err, class).Message; strings.Contains(message, "signup") {
			t.Errorf("status %d with a credential: message %q", status, message)
		}
	}
}

func TestASecretDoesNotGoOverHTTPToAnotherMachine(t *testing.T) {
	exposed := collection(t, "exposed")
	client := newClient(t, exposed, fetch.Config{Credentials: fixed(topSecret)})
	_, err := client.FetchPage(t.Context(), task(t, exposed), service.Walk{})
	if refused := refusal(t, err, service.ClassAuth); !strings.Contains(refused.Message, "https") {
		t.Errorf("message %q", refused.Message)
	}
	// To this machine itself it may go: here nobody listens, and the attempt to connect is the proof.
	_, err = client.FetchPage(t.Context(), encode(t, service.Request{Method: "GET", URL: "http://localhost/v1/things"}), service.Walk{})
	refusal(t, err, service.ClassTransient)
}

func TestAURLThatACredentialMakesTooLongIsNotSent(t *testing.T) {
	w := newWorld(t, map[string]http.HandlerFunc{"example.com": answer(200, onePage)})
	keyed := collection(t, "keyed", "{header: X-Api-Key}", "{query: key}")
	task := encode(t, service.Request{Method: "GET", URL: "https://example.com/v1/things?site=" + strings.Repeat("1", 60)})
	_, err := w.client(t, keyed, topSecret).FetchPage(t.Context(), task, service.Walk{})
	refusal(t, err, service.ClassTooLarge)
	if n := len(w.requests()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestAPageWhoseRowsRepeatASecretIsNotKept(t *testing.T) {
	for name, c := range map[string]struct{ send, body string }{
		"value":     {"{header: X-Api-Key}", `{"items":[{"id":%s}]}`},
		"query":     {"{query: key}", `{"items":[{"id":"1","self":%s}]}`},
		"name":      {"{bearer: true}", `{"items":[{"id":"1",%s:1}]}`},
		"elsewhere": {"{header: X-Api-Key}", `{"items":[{"id":"1"}],"you":%s}`},
	} {
		t.Run(name, func(t *testing.T) {
			quoted, err := json.Marshal("https://example.com/?k=" + topSecret)
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, map[string]http.HandlerFunc{"example.com": answer(200, fmt.Sprintf(c.body, quoted))})
			keyed := collection(t, "keyed", "{header: X-Api-Key}", c.send)
			page, err := w.client(t, keyed, topSecret).FetchPage(t.Context(), task(t, keyed), service.Walk{})
			noSecretIn(t, string(page.Rows)+page.Next+fmt.Sprint(page.Columns))
			if name == "elsewhere" && err == nil {
				return // what is not kept may be said
			}
			refusal(t, err, service.ClassBadPage)
			hasNoSecret(t, err)
		})
	}
}

func TestNoCursorHasASecretInIt(t *testing.T) {
	styles := map[string]string{
		"cursor":      "{style: cursor, next: '$.next', send: {after: '{}'}}",
		"link header": "{style: link, next: 'header:Link[rel=next]'}",
	}
	for name, paging := range styles {
		w := newWorld(t, map[string]http.HandlerFunc{"example.com": func(out http.ResponseWriter, r *http.Request) {
			secret := r.Header.Get("X-Api-Key")
			out.Header().Set("Link", "<https://example.com/v1/"+url.PathEscape(secret)+">; rel=\"next\"")
			fmt.Fprintf(out, `{"items":[{"id":"1"}],"next":%q}`, "after "+secret)
		}})
		keyed := collection(t, "keyed", "{style: link, next: '$.next'}", paging)
		page, err := w.client(t, keyed, topSecret).FetchPage(t.Context(), task(t, keyed), service.Walk{})
		refusal(t, err, service.ClassBadLink)
		hasNoSecret(t, err)
		noSecretIn(t, page.Next)
		if t.Failed() {
			t.Errorf("with paging by %s", name)
		}
	}
}

func TestNoErrorOfATableHasASecretInIt(t *testing.T) {
	for name, body := range map[string]string{
		"text":            "SECRET\n",
		"a column twice":  "id,SECRET,SECRET\n",
		"HTML":            "<html><title>SECRET",
		"cut off":         "id\n\"SECRET",
		"foreign link":    "id\n1\n",
		"undeclared name": "id,SECRET\n1,2\n",
	} {
		for _, send := range []string{"{header: X-Api-Key}", "{query: key}"} {
			w := newWorld(t, map[string]http.HandlerFunc{"example.com": func(out http.ResponseWriter, r *http.Request) {
				secret := r.Header.Get("X-Api-Key") + r.URL.Query().Get("key")
				out.Header().Set("Content-Encoding", "gzip")
				out.Header().Set("Link", `<https://evil.example/`+secret+`>; rel="next"`)
				_, _ = out.Write(zipped(t, strings.NewReader(strings.ReplaceAll(body, "SECRET", secret))))
			}})
			keyed := collection(t, "keyed", "{header: X-Api-Key}", send, "{style: link, next: '$.next'}", "{style: link, next: 'header:Link[rel=next]'}",
				"{format: json, at: '$.items[*]'}", "{format: csv}", "      id: {type: text}", "      id: {type: text}\n    unknown_fields: fail")
			_, err := w.client(t, keyed, topSecret).FetchPage(t.Context(), task(t, keyed), service.Walk{})
			if err == nil {
				t.Fatalf("%s: no error", name)
			}
			hasNoSecret(t, err)
		}
	}
}

func TestAShortSecretIsLookedForAsAWord(t *testing.T) {
	tests := []struct {
		secret, row string
		want        bool
	}{
		{"abc1234", `{"id":"abc1234"}`, true},
		{"abc1234", `{"id":"key=abc1234&x"}`, true},
		{"abc1234", `{"id":"k_abc1234"}`, true},
		{"abc1234", `{"id":"line\nabc1234\n"}`, true},
		{"abc1234", `{"id":"tab\u0009abc1234"}`, true},
		{"abc1234", `{"id":"https://example.com/v1/?a=key%3Dabc1234"}`, true},
		{"abc1234", `{"id":"xabc1234 abc12345 abc1234"}`, true},
		{"abc1234", `{"id":"xabc1234","b":"abc12345","c":"éabc1234"}`, false},
		{"1234", `{"id":"12345","b":91234,"value":0.12340}`, false},
		{"1234", `{"id":1234}`, true},
		{"abc", `{"id":"abc"}`, false}, // too short to look for
		{"abc12345", `{"id":"xabc123456"}`, true},
		{`a"b4`, `{"id":"a\"b4"}`, true},
	}
	keyed := collection(t, "keyed")
	for _, test := range tests {
		w := newWorld(t, map[string]http.HandlerFunc{"example.com": answer(200, `{"items":[`+test.row+`]}`)})
		_, err := w.client(t, keyed, test.secret).FetchPage(t.Context(), task(t, keyed), service.Walk{})
		if (err != nil) != test.want {
			t.Errorf("%s in %s: %v, want refused %t", test.secret, test.row, err, test.want)
		}
		if err != nil {
			refusal(t, err, service.ClassBadPage)
		}
	}
	w := newWorld(t, map[string]http.HandlerFunc{"example.com": answer(200, `{"items":[],"next":"/v1/abc1234/things"}`)})
	_, err := w.client(t, keyed, "abc1234").FetchPage(t.Context(), task(t, keyed), service.Walk{})
	refusal(t, err, service.ClassBadLink)
}
