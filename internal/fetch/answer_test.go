package fetch_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/pkg/service"
)

func zipped(t *testing.T, text io.Reader) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := io.Copy(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// spaces is endless white space, which is JSON and packs well.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	return copy(p, bytes.Repeat([]byte(" "), len(p))), nil
}

func TestAnAnswerGetsItsClassFromTheDefinitionOrItsStatus(t *testing.T) {
	for name, c := range map[string]struct {
		answer    http.HandlerFunc
		class     service.Class
		givesUpAs service.Class
		message   string
	}{
		"no content":                   {answer(204, ""), service.ClassNoData, "", "HTTP 204 No Content"},
		"bad request":                  {answer(400, `{"code":"InvalidParameterValue","description":"unknown parameter.","message":"no"}`), service.ClassBadRequest, "", "HTTP 400: InvalidParameterValue. unknown parameter"},
		"unauthorized":                 {answer(401, ``), service.ClassAuth, "", "HTTP 401 Unauthorized"},
		"forbidden":                    {answer(403, `{"error":{"code":"API_KEY_INVALID","message":"An invalid api_key was supplied."}}`), service.ClassAuth, "", "HTTP 403: API_KEY_INVALID. An invalid api_key was supplied"},
		"rule on the body":             {answer(403, `{"message":"request exceeding server limits"}`), service.ClassTooLarge, "", "HTTP 403: request exceeding server limits"},
		"rule for no data":             {answer(404, `no such site`), service.ClassNoData, "", "HTTP 404 Not Found: no such site"},
		"not found":                    {answer(404, `{"detail":"nothing here"}`), service.ClassBadRequest, "", "HTTP 404: nothing here"},
		"request timeout":              {answer(408, ``), service.ClassTransient, "", "HTTP 408 Request Timeout"},
		"cursor gone":                  {answer(410, `{"title":"Gone","status":410}`), service.ClassCursorGone, "", "HTTP 410: Gone"},
		"too large":                    {answer(413, ``), service.ClassTooLarge, "", "HTTP 413 Request Entity Too Large"},
		"URL too long":                 {answer(414, `<html><head><title>414 Request-URI&nbsp;Too Large</title></head></html>`), service.ClassTooLarge, "", "HTTP 414: 414 Request-URI Too Large"},
		"quota":                        {answer(429, `{"error":{"code":"OVER_RATE_LIMIT"}}`), service.ClassQuota, "", "HTTP 429: OVER_RATE_LIMIT"},
		"server error":                 {answer(500, "stack\n\x1b[31mtrace\u202e"), service.ClassTransient, "", "HTTP 500 Internal Server Error: stack [31mtrace"},
		"unavailable, no title":        {answer(503, `<!DOCTYPE html><body>busy`), service.ClassTransient, "", "HTTP 503: an HTML page"},
		"gateway timeout":              {answer(504, `{"errors":[{"message":"slow"}]}`), service.ClassTransient, service.ClassTooLarge, "HTTP 504: slow"},
		"error inside a success":       {answer(203, `{"code":"BUSY","message":"come back"}`), service.ClassTransient, service.ClassTooLarge, "HTTP 203: BUSY. come back"},
		"HTML with status 200":         {answer(200, `<html><title>Maintenance</title></html>`), service.ClassTransient, "", "HTML, not JSON: Maintenance"},
		"no list":                      {answer(200, `{"error":"x"}`), service.ClassBadPage, "", "no list at rows.at"},
		"next link elsewhere":          {answer(200, `{"items":[],"next":"https://evil.example/"}`), service.ClassBadLink, "", "evil.example"},
		"redirect without a way":       {answer(302, ``), service.ClassBadLink, "", "HTTP 302 Found"},
		"not modified":                 {answer(304, ``), service.ClassBadLink, "", "HTTP 304 Not Modified"},
		"unknown compression":          {answer(200, onePage, "Content-Encoding", "br"), service.ClassTransient, "", "br"},
		"refusal, unknown compression": {answer(429, "x", "Content-Encoding", "br"), service.ClassQuota, "", "HTTP 429 Too Many Requests"},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := httptest.NewRecorder()
			c.answer(recorder, nil)
			client, task := local(t, c.answer)
			_, err := client.FetchPage(t.Context(), task, service.Walk{})
			refused := refusal(t, err, c.class)
			if refused.Status != recorder.Code || refused.GivesUpAs != c.givesUpAs {
				t.Errorf("got status %d, gives up as %q; want %d, %q", refused.Status, refused.GivesUpAs, recorder.Code, c.givesUpAs)
			}
			if !strings.Contains(refused.Message, c.message) || strings.HasPrefix(c.message, "HTTP") && refused.Message != c.message {
				t.Errorf("got message %q, want %q", refused.Message, c.message)
			}
		})
	}
}

func TestARuleCanMakeAPageOfAnyStatusAndSize(t *testing.T) {
	body := `{"items":[{"id":"` + strings.Repeat("x", 80_000) + `"}]}`
	client, task := local(t, answer(418, body))
	page, err := client.FetchPage(t.Context(), task, service.Walk{})
	if err != nil {
		t.Fatal(err)
	}
	if page.Status != 418 || page.Bytes != int64(len(body)) {
		t.Errorf("got status %d and %d bytes, want 418 and %d", page.Status, page.Bytes, len(body))
	}
}

func TestAMessageIsBoundedAndOneLineOfText(t *testing.T) {
	client, task := local(t, answer(400, `{"message":"`+strings.Repeat("é\\n", 4000)+`"}`))
	_, err := client.FetchPage(t.Context(), task, service.Walk{})
	message := refusal(t, err, service.ClassBadRequest).Message
	if len(message) > 500 || !utf8.ValidString(message) || strings.Contains(message, "\n") || !strings.HasSuffix(message, "…") {
		t.Errorf("message has %d bytes: %q", len(message), message)
	}
}

func TestRetryAfterIsKeptWhereWaitingHelps(t *testing.T) {
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		status int
		header string
		want   time.Duration
	}{
		{429, "120", 2 * time.Minute},
		{503, "Wed, 01 May 2024 12:00:30 GMT", 30 * time.Second},
		{429, "soon", 0},
		{400, "120", 0},
	} {
		server := httptest.NewServer(answer(c.status, "", "Retry-After", c.header))
		d := definition(t, "open")
		if err := d.Rebase(server.URL); err != nil {
			t.Fatal(err)
		}
		client := newClient(t, d.Collections[0], fetch.Config{Now: func() time.Time { return now }})
		_, err := client.FetchPage(t.Context(), task(t, d.Collections[0]), service.Walk{})
		server.Close()
		var refused *service.ResponseError
		if refused = refusal(t, err, map[int]service.Class{429: "quota", 503: "transient", 400: "bad_request"}[c.status]); refused.RetryAfter != c.want {
			t.Errorf("status %d, Retry-After %q: wait %s, want %s", c.status, c.header, refused.RetryAfter, c.want)
		}
	}
}

func TestACompressedPageIsItsContent(t *testing.T) {
	client, task := local(t, func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Encoding", "gzip")
		_, _ = out.Write(zipped(t, strings.NewReader(onePage)))
	})
	page, err := client.FetchPage(t.Context(), task, service.Walk{})
	if err != nil {
		t.Fatal(err)
	}
	if page.Count != 2 || page.Bytes != int64(len(onePage)) {
		t.Errorf("got %d rows of %d bytes, want 2 of %d", page.Count, page.Bytes, len(onePage))
	}
}

func TestAnAnswerOverTheLimitIsCutOffThere(t *testing.T) {
	bomb := zipped(t, io.LimitReader(spaces{}, 4<<20))
	for name, handler := range map[string]http.HandlerFunc{
		"announced": func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Content-Length", "100001")
			_, _ = io.CopyN(out, spaces{}, 100001)
		},
		"without end": func(out http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(out, spaces{}) },
		"bomb": func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Content-Encoding", "gzip")
			_, _ = out.Write(bomb)
		},
		"page by a rule, without end": func(out http.ResponseWriter, _ *http.Request) {
			out.WriteHeader(418)
			_, _ = io.Copy(out, spaces{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, task := local(t, handler)
			_, err := client.FetchPage(t.Context(), task, service.Walk{})
			if refused := refusal(t, err, service.ClassTooLarge); !strings.Contains(refused.Message, "100000") && !strings.Contains(refused.Message, "100001") {
				t.Errorf("message %q tells no size", refused.Message)
			}
		})
	}
	t.Run("just the limit", func(t *testing.T) {
		client, task := local(t, answer(200, onePage+strings.Repeat(" ", 100_000-len(onePage))))
		if _, err := client.FetchPage(t.Context(), task, service.Walk{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("refusal without end", func(t *testing.T) {
		client, task := local(t, func(out http.ResponseWriter, _ *http.Request) {
			out.WriteHeader(429)
			_, _ = io.Copy(out, spaces{})
		})
		_, err := client.FetchPage(t.Context(), task, service.Walk{})
		refusal(t, err, service.ClassQuota)
	})
}

func TestAnAnswerThatBreaksOffIsTransientUnlessItsStatusSaysMore(t *testing.T) {
	breaksOff := func(status int, encoding string, body []byte) http.HandlerFunc {
		return func(out http.ResponseWriter, _ *http.Request) {
			if encoding != "" {
				out.Header().Set("Content-Encoding", encoding)
			}
			out.Header().Set("Content-Length", fmt.Sprint(len(body)+1000))
			out.WriteHeader(status)
			_, _ = out.Write(body)
			out.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	compressed := zipped(t, strings.NewReader(onePage))
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		class   service.Class
	}{
		"page":             {breaksOff(200, "", []byte(onePage)), service.ClassTransient},
		"compressed page":  {breaksOff(200, "gzip", compressed[:len(compressed)-10]), service.ClassTransient},
		"compressed start": {breaksOff(200, "gzip", compressed[:3]), service.ClassTransient},
		"not gzip at all":  {answer(200, onePage, "Content-Encoding", "gzip"), service.ClassTransient},
		"cut stream":       {answer(200, string(compressed[:len(compressed)-4]), "Content-Encoding", "gzip"), service.ClassTransient},
		"chunks": {func(out http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(out, onePage)
			out.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, service.ClassTransient},
		"before the header":  {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, service.ClassTransient},
		"quota":              {breaksOff(429, "", []byte(`{"error":`)), service.ClassQuota},
		"quota, not gzip":    {answer(429, "wait", "Content-Encoding", "gzip"), service.ClassQuota},
		"empty, called gzip": {answer(200, "", "Content-Encoding", "gzip"), service.ClassTransient},
	} {
		t.Run(name, func(t *testing.T) {
			client, task := local(t, c.handler)
			_, err := client.FetchPage(t.Context(), task, service.Walk{})
			if refused := refusal(t, err, c.class); refused.Message == "" {
				t.Error("the message is empty")
			}
		})
	}
}

func TestALongHeaderIsTransient(t *testing.T) {
	client, task := local(t, answer(200, onePage, "X-Long", strings.Repeat("x", 300<<10)))
	_, err := client.FetchPage(t.Context(), task, service.Walk{})
	refusal(t, err, service.ClassTransient)
}
