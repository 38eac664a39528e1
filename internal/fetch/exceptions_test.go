package fetch_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/pkg/service"
)

// exceptionCase is one recorded judgement about an exception of the client, which a few words describe.
type exceptionCase struct {
	ID     string
	In     struct{ Exception string }
	Expect judgement
}

// What went wrong on the way to a service, in the words of the vectors. The name service comes before the connection that was not
// made because of it.
var (
	nameProblem = regexp.MustCompile(`DNS (EAI_\w+)`)
	statusSent  = regexp.MustCompile(`error for status (\d+)`)
	httpProblem = regexp.MustCompile(`http\.(\w+)`)
)

const foreignLink = "cross-host link refusal"

// first gives what the pattern finds in the exception, "" when it does not.
func (c exceptionCase) first(pattern *regexp.Regexp) string {
	found := pattern.FindStringSubmatch(c.In.Exception)
	if found == nil {
		return ""
	}
	return found[1]
}

// unhappened is why an exception has nothing to happen here, "" when it has.
func (c exceptionCase) unhappened() string {
	words := c.In.Exception
	if strings.HasPrefix(words, "DataRetrievalError in context of") {
		return "how an exception in Python names its context; our errors have one chain"
	}
	switch c.first(httpProblem) {
	case "PoolTimeout":
		return "our pool of connections makes no request wait: the slots are the only throttle"
	case "LocalProtocolError", "StreamError", "StreamConsumed", "StreamClosed", "ResponseNotRead", "RequestNotRead", "CookieConflict":
		return "a wrong use of the client's HTTP library by the client"
	case "HTTPError", "RequestError", "TransportError", "HTTPStatusError":
		return "a class that other ones derive from, or that its library raises only when told to"
	case "":
		if c.first(nameProblem) == "" && c.first(statusSent) == "" && !strings.Contains(words, foreignLink) {
			return "an error of the client's own program, or of its settings, which no service causes"
		}
	}
	return ""
}

// trouble is what a client meets, in one of three places.
type trouble struct {
	handler http.HandlerFunc
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	proxy   func(*http.Request) (*url.URL, error)
}

// trouble makes the exception happen.
func (c exceptionCase) trouble(t *testing.T) trouble {
	t.Helper()
	if code := c.first(nameProblem); code != "" {
		return trouble{dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: nameError(code)}
		}}
	}
	if status := c.first(statusSent); status != "" {
		return trouble{handler: answer(number(t, status), "", "Retry-After", "9")}
	}
	if strings.Contains(c.In.Exception, foreignLink) {
		return trouble{handler: answer(200, `{"items":[],"next":"https://elsewhere.example/2"}`)}
	}
	made, ok := troubles()[c.first(httpProblem)]
	if !ok {
		t.Fatalf("no trouble is made for %q", c.In.Exception)
	}
	return made
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// nameError is the error of Go's resolver for one of the C library's.
func nameError(code string) *net.DNSError {
	e := &net.DNSError{Err: code, Name: "example.com"}
	switch code {
	case "EAI_NONAME", "EAI_NODATA":
		e.IsNotFound = true
	case "EAI_AGAIN":
		e.IsTemporary = true
	}
	return e
}

func troubles() map[string]trouble {
	refused := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:1")
	}
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	return map[string]trouble{
		"ConnectError": {dial: refused},
		"NetworkError": {dial: refused},
		"ConnectTimeout": {dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
		"ReadTimeout":         {handler: silent},
		"WriteTimeout":        {handler: silent},
		"TimeoutException":    {handler: silent},
		"ReadError":           {handler: broken("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"items\":[")},
		"WriteError":          {handler: broken("")},
		"CloseError":          {handler: broken("")},
		"RemoteProtocolError": {handler: broken("220 mail.example.com ESMTP\r\n")},
		"ProtocolError":       {handler: broken("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno length\r\n")},
		"ProxyError":          {proxy: func(*http.Request) (*url.URL, error) { return url.Parse("http://127.0.0.1:1") }},
		"DecodingError":       {handler: answer(200, "no gzip", "Content-Encoding", "gzip")},
		"TooManyRedirects":    {handler: answer(302, "", "Location", "/again")},
		"UnsupportedProtocol": {handler: answer(302, "", "Location", "ftp://example.com/data")},
		"InvalidURL":          {handler: answer(302, "", "Location", "http://[::1")},
	}
}

// broken sends bytes and closes the connection.
func broken(text string) http.HandlerFunc {
	return func(out http.ResponseWriter, _ *http.Request) {
		conn, buffered, err := out.(http.Hijacker).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		_, _ = buffered.WriteString(text)
		_ = buffered.Flush()
		_ = conn.Close()
	}
}

func TestAFailureIsJudgedAsByTheRecordedClient(t *testing.T) {
	made := 0
	for _, c := range vectors[exceptionCase](t, "exception", 30) {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			if why := c.unhappened(); why != "" {
				t.Logf("%s: %s", c.In.Exception, why)
				return
			}
			refused := c.meet(t, c.trouble(t))
			c.check(t, refused)
		})
		if c.unhappened() == "" {
			made++
		}
	}
	if made < 20 {
		t.Errorf("only %d exceptions were made to happen", made)
	}
}

// meet asks for a page while the trouble is there: the second page, where the vector says so.
func (c exceptionCase) meet(t *testing.T, made trouble) *service.ResponseError {
	t.Helper()
	var base string
	if made.handler != nil {
		server := httptest.NewServer(made.handler)
		t.Cleanup(server.Close)
		base = server.URL
	} else {
		base = "http://127.0.0.1:2"
	}
	d := definition(t, "keyed", "connect: 5s, stall: 10s", "connect: 1s, stall: 500ms")
	if err := d.Rebase(base); err != nil {
		t.Fatal(err)
	}
	transport := fetch.NewTransport(fetch.TransportConfig{Proxy: made.proxy})
	if made.dial != nil {
		transport.DialContext = made.dial
	}
	client := newClient(t, d.Collections[0], fetch.Config{Transport: transport})
	at := service.Walk{}
	if strings.Contains(c.In.Exception, "later page") {
		at = service.Walk{Cursor: base + "/v1/things?page=2", Pages: 1, Rows: 2}
	}
	_, err := client.FetchPage(t.Context(), task(t, d.Collections[0]), at)
	refused, ok := errors.AsType[*service.ResponseError](err)
	if !ok {
		t.Fatalf("%s: got %v", c.In.Exception, err)
	}
	return refused
}

// check compares the judgement. We try again whatever the client's user could resume, on the first page and on later ones (U-3.10),
// and what is not resumable ends the query. But a URL that is none and a circle of redirects would be the same each time (U-3.18).
func (c exceptionCase) check(t *testing.T, refused *service.ResponseError) {
	t.Helper()
	isRetried := refused.Class == service.ClassQuota || refused.Class == service.ClassTransient
	want := c.Expect.Resumable
	switch words := c.In.Exception; {
	case strings.Contains(words, "InvalidURL"), strings.Contains(words, "TooManyRedirects"):
		want = false
	case strings.Contains(words, "EAI_FAIL"), strings.Contains(words, "status 408"):
		want = true // Go's resolver does not tell that this is for ever; 408 is a failure of the moment
	}
	if isRetried != want {
		t.Errorf("%s: class %s (%s), tried again %t, want %t", c.In.Exception, refused.Class, refused.Message, isRetried, want)
	}
	status, hint := 0, time.Duration(0)
	if said := c.first(statusSent); said != "" {
		if status = number(t, said); isRetried {
			hint = 9 * time.Second
		}
	}
	if status != 0 && refused.Status != status || refused.RetryAfter != hint {
		t.Errorf("%s: status %d, wait %s, want %d, %s", c.In.Exception, refused.Status, refused.RetryAfter, status, hint)
	}
	if said := c.Expect.RetryAfter; said != nil && time.Duration(*said*float64(time.Second)) != hint {
		t.Errorf("%s: wait %s, recorded %g s", c.In.Exception, hint, *said)
	}
	if c.Expect.Interruption == "QuotaExhausted" && refused.Class != service.ClassQuota {
		t.Errorf("%s: class %s, recorded %s", c.In.Exception, refused.Class, c.Expect.Interruption)
	}
}
