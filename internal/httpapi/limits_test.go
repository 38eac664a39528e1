package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidhq/braid/internal/httpapi"
	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

func TestWhatTwoReadersOfABodyCouldUnderstandDifferentlyIsRefused(t *testing.T) {
	with := func(extra string) string { return strings.Replace(validSpec, `"v":1`, extra+`,"v":1`, 1) }
	site := func(value string) string { return strings.Replace(validSpec, `"a"`, value, 1) }
	for name, c := range map[string]struct{ body, location, message string }{
		"the same key twice":      {with(`"name":"other"`), "name", "twice"},
		"the same in other case":  {with(`"NAME":"other"`), "name", "twice"},
		"the same by an escape":   {with(`"n\u0061me":"other"`), "name", "twice"},
		"a value twice":           {strings.Replace(validSpec, `"values":{`, `"values":{"site":["x"],`, 1), "values.site", "twice"},
		"another case alone":      {strings.Replace(validSpec, `"name"`, `"Name"`, 1), "Name", `did you mean \"name\"`},
		"a misspelt field":        {strings.Replace(validSpec, `"v":1`, `"max_chunk":1,"v":1`, 1), "max_chunk", `did you mean \"max_chunks\"`},
		"a file of the server":    {with(`"output":{"to":"../../etc/cron.d/x"}`), "output", "up to whoever asks"},
		"NUL":                     {site(`"a\u0000b"`), "values.site[0]", "NUL"},
		"half a character":        {site(`"\ud800"`), "values.site[0]", "half"},
		"the other half":          {site(`"x\udc00\ud800"`), "values.site[0]", "half"},
		"two first halves":        {site(`"\ud800\ud800"`), "values.site[0]", "half"},
		"not UTF-8":               {site("\"\xff\xfe\""), "", "UTF-8"},
		"UTF-8 of a half":         {site("\"\xed\xa0\x80\""), "", "UTF-8"},
		"deep lists":              {with(`"select":` + strings.Repeat("[", 100) + strings.Repeat("]", 100)), "select", "deeper"},
		"a huge number":           {with(`"max_rows":1e400`), "", ""},
		"a number that overflows": {with(`"max_rows":99999999999999999999`), "", ""},
		"a fraction":              {with(`"max_chunks":1.5`), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := &desk{}
			response, body := ask(t, serve(t, d, httpapi.Config{}), "POST", "/v1/plan", c.body)
			p := wantProblem(t, response, body, contract.QueryInvalid)
			if len(d.asked) > 0 || !strings.Contains(body, c.message) || c.location != "" && (len(p.Errors) == 0 || !strings.HasPrefix(p.Errors[0].Location, c.location)) {
				t.Errorf("asked %q, got %s", d.asked, body)
			}
		})
	}
	for name, body := range map[string]string{
		"parameters in two cases": strings.Replace(validSpec, `"values":{`, `"values":{"SITE":["x"],`, 1),
		"a whole character":       site(`"\ud83d\ude00 \\u0000"`),
		"line ends":               site(`"a\nb\tc"`),
	} {
		d := &desk{}
		if response, text := ask(t, serve(t, d, httpapi.Config{}), "POST", "/v1/plan", body); response.StatusCode != 200 {
			t.Errorf("%s: %s %s", name, response.Status, text)
		}
	}
	response, body := ask(t, serve(t, &desk{}, httpapi.Config{}), "POST", "/v1/queries/q1/resume", `{"wait_upto":"1h"}`)
	if p := wantProblem(t, response, body, contract.RequestInvalid); len(p.Errors) != 1 || p.Errors[0].Location != "wait_upto" || !strings.Contains(body, "wait_up_to") {
		t.Errorf("got %s", body)
	}
}

func TestABodyInAnotherCodingIsRefused(t *testing.T) {
	for coding, fine := range map[string]bool{"gzip": false, "br": false, "gzip, identity": false, "identity": true} {
		response, body := ask(t, serve(t, &desk{}, httpapi.Config{}), "POST", "/v1/plan", validSpec, func(r *http.Request) { r.Header.Set("Content-Encoding", coding) })
		if fine && response.StatusCode != 200 {
			t.Errorf("%s: %s", coding, response.Status)
		}
		if !fine {
			wantProblem(t, response, body, contract.NotJSON)
		}
	}
}

func TestOptionsTellsTheMethodsAndNothingToOtherOrigins(t *testing.T) {
	server := serve(t, &desk{}, httpapi.Config{})
	response, _ := ask(t, server, "OPTIONS", "/v1/queries", "", func(r *http.Request) {
		r.Header.Set("Origin", "https://evil.example")
		r.Header.Set("Access-Control-Request-Method", "POST")
	})
	for name := range response.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("%s lets other origins in", name)
		}
	}
	response, body := ask(t, server, "OPTIONS", "/v1/queries", "")
	if allow := response.Header.Get("Allow"); response.StatusCode != 204 || body != "" || !strings.Contains(allow, "POST") || !strings.Contains(allow, "GET") {
		t.Errorf("%s, Allow %q, %q", response.Status, allow, body)
	}
	response, body = ask(t, server, "OPTIONS", "/v1/nothing", "")
	wantProblem(t, response, body, contract.NoRoute)
}

// crowd holds requests for plans until goOn.
type crowd struct {
	*desk
	inside chan struct{}
	goOn   chan struct{}
}

func (c crowd) Plan(context.Context, *query.Spec) (*messages.PlanSummary, error) {
	c.inside <- struct{}{}
	<-c.goOn
	return samplePlan(), nil
}

// asked is an answer to a request of a machine, straight from a handler.
func asked(t *testing.T, handler http.Handler, from, method, path string, body io.Reader, length int64) *answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, body)
	if err != nil {
		t.Error(err)
	}
	request.RemoteAddr = from + ":1"
	request.ContentLength = length
	request.Header.Set("Content-Type", "application/json")
	got := newAnswer()
	handler.ServeHTTP(got, request)
	return got
}

func TestCostlyRequestsWaitTheirTurnAndAreThenRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crowd{&desk{}, make(chan struct{}, 1000), make(chan struct{})}
		handler := httpapi.New(httpapi.Config{}, httpapi.Ports{Commands: c, Views: c, Tables: c})
		plan := func(from string) *answer {
			return asked(t, handler, from, "POST", "/v1/plan", strings.NewReader(validSpec), int64(len(validSpec)))
		}
		var asking sync.WaitGroup
		answers := make(chan *answer, 100)
		crowdFrom := func(from string, n int) {
			for range n {
				asking.Go(func() { answers <- plan(from) })
			}
			synctest.Wait()
		}
		crowdFrom("192.0.2.1", 40)
		alone := len(c.inside)
		crowdFrom("192.0.2.2", 10)
		both := len(c.inside)
		if got := asked(t, handler, "192.0.2.1", "POST", "/v1/queries", strings.NewReader(validSpec), int64(len(validSpec))); got.status != 201 {
			t.Errorf("a command waits behind reads: %d %s", got.status, &got.body)
		}
		time.Sleep(time.Minute)
		refused := 0
		for range len(answers) {
			a := <-answers
			if a.status == 503 && a.header.Get("Retry-After") != "" && strings.Contains(a.body.String(), contract.Busy) {
				refused++
			}
		}
		close(c.goOn)
		asking.Wait()
		if alone != 12 || both != 16 || refused != 34 || len(answers) != 16 || plan("192.0.2.1").status != 200 {
			t.Errorf("%d at a time, with others %d, %d refused, %d answered later", alone, both, refused, len(answers))
		}
	})
}

func TestACallerWhoAsksMuchGetsAQuarterWhileOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crowd{&desk{}, make(chan struct{}, 1000), make(chan struct{})}
		handler := httpapi.New(httpapi.Config{}, httpapi.Ports{Commands: c, Views: c, Tables: c})
		var asking sync.WaitGroup
		var mu sync.Mutex
		done := map[string]int{}
		for i, n := range []int{40, 10, 10, 10, 10} {
			for range n {
				from := fmt.Sprintf("192.0.2.%d", i)
				asking.Go(func() {
					if got := asked(t, handler, from, "POST", "/v1/plan", strings.NewReader(validSpec), int64(len(validSpec))); got.status == 200 {
						mu.Lock()
						defer mu.Unlock()
						done[from]++
					}
				})
			}
			synctest.Wait()
		}
		for range 12 + 16 { // the first round of the greedy one goes, and then one of everybody's
			c.goOn <- struct{}{}
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		close(c.goOn)
		asking.Wait()
		for i := range 4 {
			if n := done[fmt.Sprintf("192.0.2.%d", i+1)]; n < 6 {
				t.Errorf("caller %d was answered %d times: %v", i+1, n, done)
			}
		}
	})
}

func TestBodiesInHandAreBoundedAndSmallOnesPass(t *testing.T) {
	for name, known := range map[string]bool{"of a known length": true, "in chunks": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := crowd{&desk{}, make(chan struct{}, 1000), make(chan struct{})}
				const size = 1 << 20
				bound := int64(4 * size)
				if !known {
					bound = 4 * query.MaxSpecBytes // which is what one without a length may come to
				}
				handler := httpapi.New(httpapi.Config{BodyBytes: bound}, httpapi.Ports{Commands: c, Views: c, Tables: c})
				large := validSpec + strings.Repeat(" ", size-len(validSpec))
				begun := &counted{}
				var asking sync.WaitGroup
				statuses := make(chan int, 100)
				for range 8 {
					length := int64(size)
					if !known {
						length = -1
					}
					asking.Go(func() {
						statuses <- asked(t, handler, "192.0.2.1", "POST", "/v1/plan", begun.reading(large), length).status
					})
				}
				synctest.Wait()
				if len(c.inside) != 3 || begun.bytes.Load() > 3*size+8*(64<<10) {
					t.Errorf("%d bodies are in hand, %d bytes were read", len(c.inside), begun.bytes.Load())
				}
				small := make(chan int, 1)
				asking.Go(func() {
					small <- asked(t, handler, "192.0.2.1", "POST", "/v1/plan", strings.NewReader(validSpec), int64(len(validSpec))).status
				})
				synctest.Wait()
				if len(c.inside) != 4 {
					t.Error("a small body waits behind large ones")
				}
				time.Sleep(time.Minute)
				refused := 0
				for range len(statuses) {
					if <-statuses == 503 {
						refused++
					}
				}
				close(c.goOn)
				asking.Wait()
				if refused != 5 || len(statuses) != 3 || <-small != 200 {
					t.Errorf("%d refused, %d answered", refused, len(statuses))
				}
				if got := asked(t, handler, "192.0.2.1", "POST", "/v1/plan", strings.NewReader(large), size).status; got != 200 {
					t.Errorf("the room is not given back: %d", got)
				}
			})
		})
	}
}

// counted counts what is read of bodies.
type counted struct{ bytes atomic.Int64 }

func (c *counted) reading(text string) io.Reader {
	return io.TeeReader(strings.NewReader(text), c)
}

func (c *counted) Write(p []byte) (int, error) {
	c.bytes.Add(int64(len(p)))
	return len(p), nil
}

func TestWhatHasTooManyPartsIsRefusedBeforeItIsDecoded(t *testing.T) {
	with := func(extra string) string { return strings.Replace(validSpec, `"v":1`, extra+`,"v":1`, 1) }
	values := func(n int) string {
		return strings.Replace(validSpec, `"a","b"`, strings.TrimSuffix(strings.Repeat(`"",`, n), ","), 1)
	}
	for name, c := range map[string]struct{ body, location, message string }{
		"values":          {values(service.MaxValues + 1), "values.site[", "more than 2097152 values"},
		"empty selects":   {with(`"select":[` + strings.Repeat(`"",`, 1<<16) + `""]`), "select", "more than 65536"},
		"lists in a list": {with(`"select":[` + strings.Repeat(`[],`, 1<<16) + `[]]`), "select", "more than 65536"},
		"objects":         {with(`"select":[` + strings.TrimSuffix(strings.Repeat(`{"a":1,"b":2},`, 1<<15), ",") + `]`), "select", "more than 65536"},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, &desk{}, httpapi.Config{})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			response, body := ask(t, server, "POST", "/v1/plan", c.body)
			runtime.ReadMemStats(&after)
			p := wantProblem(t, response, body, contract.QueryInvalid)
			if len(p.Errors) != 1 || !strings.HasPrefix(p.Errors[0].Location, c.location) || !strings.Contains(p.Detail, c.message) {
				t.Errorf("got %.500s", body)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > uint64(4*len(c.body))+(32<<20) {
				t.Errorf("it took %d bytes to refuse %d", took, len(c.body))
			}
		})
	}
	// As many as are allowed pass this door; those here are refused behind it for being empty or the same.
	if _, body := ask(t, serve(t, &desk{}, httpapi.Config{}), "POST", "/v1/plan", values(service.MaxValues)); strings.Contains(body, "more than 2097152") {
		t.Errorf("as many as are allowed: %.300s", body)
	}
}

// raw sends text over a connection of its own, and gives what comes back.
func raw(t *testing.T, address, text string) string {
	t.Helper()
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, text); err != nil {
		t.Fatal(err)
	}
	tcp, ok := connection.(*net.TCPConn)
	if !ok {
		t.Fatalf("the connection is a %T", connection)
	}
	if err := tcp.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(connection) // a reset is an answer too
	return string(answer)
}

func TestARequestIsOneRequestAndItsHeadersAreItsOwn(t *testing.T) {
	d := &desk{}
	ctx, stop := context.WithCancel(t.Context())
	url, done := started(ctx, t, d)
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	address := strings.TrimPrefix(url, "http://")
	post := "POST /v1/queries/q1/cancel HTTP/1.1\r\nHost: localhost\r\n"
	hidden := "DELETE /v1/queries/hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for name, text := range map[string]string{
		"two lengths":          post + "Content-Length: 0\r\nContent-Length: " + fmt.Sprint(len(hidden)) + "\r\n\r\n" + hidden,
		"a length with a sign": post + "Content-Length: +0\r\n\r\n" + hidden,
		"an unknown coding":    post + "Transfer-Encoding: xchunked\r\n\r\n" + hidden,
		"two codings":          post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + hidden,
		"a bare CR":            post + "X: a\rContent-Length: 5\r\n\r\n",
		"a space in a name":    post + "Content-Length : 5\r\n\r\n",
		"no host":              "GET /v1/queries HTTP/1.1\r\n\r\n",
		"two hosts":            "GET /v1/queries HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
		"a huge header":        post + "X: " + strings.Repeat("a", 64<<10) + "\r\n\r\n",
		"many headers":         post + strings.Repeat("X: a\r\n", 20_000) + "\r\n",
	} {
		d.asked = nil
		answer := raw(t, address, text)
		if line, _, _ := strings.Cut(answer, "\r\n"); !strings.HasPrefix(line, "HTTP/1.1 4") && !strings.HasPrefix(line, "HTTP/1.1 501") && line != "" || len(d.asked) > 0 {
			t.Errorf("%s: %q, asked %q", name, line, d.asked)
		}
	}
	// A length beside chunks is passed over (RFC 9112, 6.3), so that what is inside the body stays there.
	d.asked = nil
	inside := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(hidden), hidden)
	raw(t, address, post+"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n"+inside)
	for _, what := range d.asked {
		if strings.Contains(what, "hidden") {
			t.Errorf("a body was taken for a request: %q", d.asked)
		}
	}
}

func TestConnectionsBeyondTheBoundAreTurnedAway(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	listener, err := httpapi.Address{Addr: "127.0.0.1:0"}.Listen(ctx)
	if err != nil {
		t.Fatal(err)
	}
	address, done := listener.Addr().String(), make(chan error, 1)
	go func() { done <- httpapi.ServeAtMost(ctx, listener, (&desk{}).handler(httpapi.Config{}), 3) }()
	var open []net.Conn
	request := "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for range 3 {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, connection)
		if _, err := io.WriteString(connection, request); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(connection).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			t.Fatalf("%q, %v", line, err)
		}
	}
	if answer := raw(t, address, ""); !strings.HasPrefix(answer, "HTTP/1.1 503") || !strings.Contains(answer, "/problems/busy") || !strings.Contains(answer, "Retry-After: ") {
		t.Errorf("one too many is told %q", answer)
	}
	_ = open[0].Close()
	for i := 0; ; i++ { // once the server has noticed, the next one has its place
		if strings.Contains(raw(t, address, request), "200 OK") {
			break
		}
		if i > 10_000 {
			t.Fatal("the place is not given back")
		}
	}
	for _, connection := range open {
		_ = connection.Close()
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestABodyThatComesDropByDropIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		handler := d.handler(httpapi.Config{})
		control := &deadlines{answer: newAnswer()}
		body, write := io.Pipe()
		control.body = write
		var dripping sync.WaitGroup
		defer dripping.Wait()
		dripping.Go(func() {
			for {
				if _, err := io.WriteString(write, " "); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		request, err := http.NewRequestWithContext(t.Context(), "POST", "http://localhost/v1/plan", body)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.ContentLength = -1
		begun := time.Now()
		handler.ServeHTTP(control, request)
		if took := time.Since(begun); control.status != 408 || took > 25*time.Second {
			t.Errorf("%d after %v: %s", control.status, took, control.answer.body.String())
		}
		_ = body.Close()
	})
}

// deadlines is an answer over a connection whose body ends at its deadline.
type deadlines struct {
	*answer
	body  *io.PipeWriter
	timer *time.Timer
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	if d.timer != nil {
		d.timer.Stop()
	}
	if !at.IsZero() {
		d.timer = time.AfterFunc(time.Until(at), func() { _ = d.body.CloseWithError(&net.OpError{Op: "read", Err: timedOut{}}) })
	}
	return nil
}

type timedOut struct{}

func (timedOut) Error() string   { return "i/o timeout" }
func (timedOut) Timeout() bool   { return true }
func (timedOut) Temporary() bool { return true }
