package httpapi_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidhq/braid/internal/httpapi"
	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/access"
)

// slow is an answer whose reader takes so many bytes in each second.
type slow struct {
	*answer
	rate     int
	deadline time.Time
}

func (s *slow) SetWriteDeadline(at time.Time) error {
	s.deadline = at
	return nil
}

func (s *slow) Write(p []byte) (int, error) {
	for i := 0; i < len(p); i += s.rate {
		time.Sleep(time.Second)
		if time.Now().After(s.deadline) {
			return i, os.ErrDeadlineExceeded
		}
	}
	return s.answer.Write(p)
}

func TestWhoReadsDropByDropIsCutOffAndWhoReadsSlowlyIsNot(t *testing.T) {
	const size = 4 << 20
	for name, c := range map[string]struct {
		rate  int
		whole bool
	}{"drop by drop": {1 << 10, false}, "slowly": {20 << 10, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &desk{content: bytes.NewReader(make([]byte, size)), etag: `"x"`}
				request, err := http.NewRequestWithContext(t.Context(), "GET", "http://localhost/v1/queries/q1/results", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				reader := &slow{answer: newAnswer(), rate: c.rate}
				begun := time.Now()
				d.handler(httpapi.Config{}).ServeHTTP(reader, request)
				took := time.Since(begun)
				if whole := reader.body.Len() == size; whole != c.whole || !whole && took > 2*time.Minute || d.closed.Load() != 1 {
					t.Errorf("%d bytes in %v, the table was closed %d times", reader.body.Len(), took, d.closed.Load())
				}
			})
		})
	}
}

func TestATableEndsWithTheTokenOrTheSessionItIsReadWith(t *testing.T) {
	for name, end := range map[string]func(*guarded, *http.Cookie){
		"the token is revoked": func(g *guarded, _ *http.Cookie) {
			writeTokens(t, g.file, entryOf(t, adminSeed, "ada", "", access.Admin))
			g.access.Refresh()
		},
		"a logout": func(g *guarded, c *http.Cookie) { ask(t, g.Server, "POST", "/logout", "", with(c)) },
	} {
		for part, header := range map[string]string{"whole": "", "a part": "bytes=1-"} {
			t.Run(name+", "+part, func(t *testing.T) {
				g := guard(t)
				c := logIn(t, g, readerSeed)
				begun, goOn := make(chan struct{}), make(chan struct{})
				g.desk.content = &heldContent{Reader: strings.NewReader(strings.Repeat("x", 1<<20)), begun: sync.OnceFunc(func() { close(begun) }), goOn: goOn}
				g.desk.etag = `"x"`
				request, err := http.NewRequestWithContext(t.Context(), "GET", g.URL+"/v1/queries/q1/results", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				with(c)(request)
				if header != "" {
					request.Header.Set("Range", header)
				}
				type outcome struct {
					n   int64
					err error
				}
				read := make(chan outcome, 1)
				go func() {
					response, err := g.Client().Do(request)
					if err != nil {
						read <- outcome{0, err}
						return
					}
					defer response.Body.Close()
					n, err := io.Copy(io.Discard, response.Body)
					if response.StatusCode == http.StatusUnauthorized { // nothing had been sent, and the client asked again
						n, err = 0, errors.New(response.Status)
					}
					read <- outcome{n, err}
				}()
				<-begun
				end(g, c)
				close(goOn)
				if got := <-read; got.err == nil || got.n > 0 {
					t.Errorf("%d bytes were read after the end: %v", got.n, got.err)
				}
			})
		}
	}
}

func TestAHeadEndsWithItsTokenToo(t *testing.T) {
	g := guard(t)
	held := make(chan struct{})
	g.desk.hold = held
	answered := make(chan int, 1)
	go func() {
		response, _ := ask(t, g.Server, "HEAD", "/v1/quotas", "", bearer(tokenOf(t, readerSeed)))
		answered <- response.StatusCode
	}()
	<-held
	writeTokens(t, g.file, entryOf(t, adminSeed, "ada", "", access.Admin))
	g.access.Refresh()
	if got := <-answered; got != http.StatusGatewayTimeout {
		t.Errorf("got %d", got)
	}
}

func TestTheLastNoBytesAreNoPartAndManyPartsAreTheWhole(t *testing.T) {
	const whole = "a,b\n1,2\n"
	many := func(n int) string { return "bytes=" + strings.TrimSuffix(strings.Repeat("0-0,", n), ",") }
	for header, want := range map[string]struct {
		status int
		body   string // empty: not compared
	}{
		"bytes=-0":            {416, ""},
		"bytes=-000":          {416, ""},
		"bytes=-0,-0":         {416, ""},
		"bytes=-0, 2-4":       {206, "b\n1"},
		"bytes=2-4 , -0":      {206, "b\n1"},
		"bytes=-0,99-":        {416, ""},
		"bytes=-10":           {206, whole},
		"bytes=-":             {416, ""},
		many(2):               {206, ""},
		many(17):              {200, whole},
		many(1000):            {200, whole},
		many(17) + ",bytes=x": {200, whole},
	} {
		response, body := part(t, &desk{etag: `"x"`}, "GET", http.Header{"Range": {header}})
		if response.StatusCode != want.status || want.body != "" && body != want.body {
			t.Errorf("%.40s: %s %q, want %d", header, response.Status, body, want.status)
		}
		if want.status == http.StatusRequestedRangeNotSatisfiable {
			wantProblem(t, response, body, contract.NoSuchRange)
			if got := response.Header.Get("Content-Range"); got != "bytes */8" && header != "bytes=-" {
				t.Errorf("%s: Content-Range is %q", header, got)
			}
		}
	}
	for _, condition := range []http.Header{{"If-None-Match": {`"x"`}, "Range": {"bytes=-0"}}, {"If-Range": {`"before"`}, "Range": {"bytes=-0"}}} {
		if response, _ := part(t, &desk{etag: `"x"`}, "GET", condition); response.StatusCode >= 400 {
			t.Errorf("%v: a condition goes before parts: %s", condition, response.Status)
		}
	}
}
