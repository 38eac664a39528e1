package fetch_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/pkg/service"
)

// odd answers each connection's request in bytes of its own, and closes the connection where answer returns.
func odd(t *testing.T, answer func(net.Conn)) (*fetch.Client, []byte) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			wait.Go(func() {
				defer conn.Close()
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					answer(conn)
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		wait.Wait()
	})
	return localAt(t, "http://"+listener.Addr().String())
}

func TestOddAnswersAreReadOrRefusedInBoundedTimeAndMemory(t *testing.T) {
	t.Parallel()
	say := func(text string) func(net.Conn) {
		return func(conn net.Conn) { _, _ = io.WriteString(conn, text) }
	}
	length := fmt.Sprintf("Content-Length: %d\r\n", len(onePage))
	until := func(conn net.Conn, text string) { // the client has had enough
		for {
			if _, err := io.WriteString(conn, text); err != nil {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		answer func(net.Conn)
		class  service.Class // of the refusal; empty: a page of two rows
	}{
		"HTTP/1.0":                            {say("HTTP/1.0 200 OK\r\n\r\n" + onePage), ""},
		"HTTP/1.0 with a length":              {say("HTTP/1.0 200 OK\r\n" + length + "\r\n" + onePage), ""},
		"HTTP/2 in the clear":                 {say("HTTP/2.0 200 OK\r\n" + length + "\r\n" + onePage), ""},
		"a refusal that breaks off":           {say("HTTP/1.1 403 Forbidden\r\nContent-Length: 200\r\n\r\n{\"code\":\"Forbidden\",\"description\":\"Request exc"), service.ClassTransient},
		"a refusal for quota that breaks off": {say("HTTP/1.1 429 Too Many Requests\r\nContent-Length: 200\r\n\r\n{"), service.ClassQuota},
		"a refusal without a body":            {say("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"), service.ClassAuth},
		"no HTTP":                             {say("220 mail.example.com ESMTP\r\n"), service.ClassTransient},
		"no head":                             {say(onePage), service.ClassTransient},
		"kept open behind its length": {func(conn net.Conn) {
			say("HTTP/1.1 200 OK\r\n" + length + "\r\n" + onePage)(conn)
			_, _ = conn.Read(make([]byte, 1)) // until the client goes
		}, ""},
		"more than its length": {say("HTTP/1.1 200 OK\r\n" + length + "\r\n" + onePage + onePage), ""},
		"two lengths":          {say("HTTP/1.1 200 OK\r\n" + length + "Content-Length: 5\r\n\r\n" + onePage), service.ClassTransient},
		"a length below zero":  {say("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n" + onePage), service.ClassTransient},
		"a length beyond all":  {say("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n" + onePage), service.ClassTooLarge},
		"chunks and a length":  {say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" + length + "\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(onePage), onePage)), ""},
		"chunks of no size":    {say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" + onePage), service.ClassTransient},
		"chunks of every size": {say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n" + onePage), service.ClassTransient},
		"chunks without an end": {
			say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n", len(onePage), onePage)),
			service.ClassTransient,
		},
		"chunks with a long trailer": {func(conn net.Conn) {
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n", len(onePage), onePage)
			until(conn, "X-More: "+strings.Repeat("x", 4000)+"\r\n")
		}, service.ClassTransient},
		"chunks with extensions for ever": {func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;")
			until(conn, strings.Repeat("x", 4000))
		}, service.ClassTransient},
		"an unknown transfer":  {say("HTTP/1.1 200 OK\r\nTransfer-Encoding: brotli\r\n\r\n" + onePage), service.ClassTransient},
		"thousands of headers": {say("HTTP/1.1 200 OK\r\n" + strings.Repeat("X-One: 1\r\n", 5000) + length + "\r\n" + onePage), ""},
		"headers for ever": {func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
			until(conn, strings.Repeat("X-One: 1\r\n", 400))
		}, service.ClassTransient},
		"one header for ever": {func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nX-One: ")
			until(conn, strings.Repeat("x", 4000))
		}, service.ClassTransient},
		"a status line for ever": {func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 ")
			until(conn, strings.Repeat("x", 4000))
		}, service.ClassTransient},
		"a continue and hints before it": {say("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\n" + length + "\r\n" + onePage), ""},
		"hints for ever":                 {func(conn net.Conn) { until(conn, strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 50)) }, service.ClassTransient},
		"another protocol":               {say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n" + onePage), service.ClassTransient},
		"status 999":                     {say("HTTP/1.1 999 Odd\r\n" + length + "\r\n" + onePage), service.ClassBadRequest},
		"status 0":                       {say("HTTP/1.1 000 Odd\r\n" + length + "\r\n" + onePage), service.ClassTransient},
		"lines that end in LF":           {say("HTTP/1.1 200 OK\n" + strings.ReplaceAll(length, "\r", "") + "\n" + onePage), ""},
		"a header of two lines":          {say("HTTP/1.1 200 OK\r\nX-One: 1\r\n 2\r\n" + length + "\r\n" + onePage), ""},
		"a header with no name":          {say("HTTP/1.1 200 OK\r\n: 1\r\n" + length + "\r\n" + onePage), service.ClassTransient},
		"a header with a zero byte":      {say("HTTP/1.1 200 OK\r\nX-One: \x00\r\n" + length + "\r\n" + onePage), service.ClassTransient},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, task := odd(t, c.answer)
			page, err := client.FetchPage(t.Context(), task, service.Walk{})
			if c.class == "" {
				if err != nil || page.Count != 2 {
					t.Errorf("got %d rows, error %v; want 2", page.Count, err)
				}
				return
			}
			if refused := refusal(t, err, c.class); refused.Message == "" || len(refused.Message) > 500 {
				t.Errorf("the message has %d bytes: %q", len(refused.Message), refused.Message)
			}
		})
	}
}

// TestAnAnswerThatDripsIsAStallOrLateHoweverItDrips sends a byte now and then, in each part of an answer.
func TestAnAnswerThatDripsIsAStallOrLateHoweverItDrips(t *testing.T) {
	for name, c := range map[string]struct{ before, drop, key string }{
		"status line": {"HTTP/1.1 2", "0", "timeouts."},
		"header":      {"HTTP/1.1 200 OK\r\nX-One: ", "x", "timeouts."},
		"hints":       {"", "HTTP/1.1 103 Early Hints\r\n\r\n", "timeouts."},
		"body":        {"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", " ", "timeouts.page"},
		"chunk":       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n", "timeouts.page"},
		"refusal":     {"HTTP/1.1 500 Oh\r\nContent-Length: 1000\r\n\r\n", " ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
				served := make(chan struct{})
				go func() {
					defer close(served)
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					defer conn.Close()
					if _, err = http.ReadRequest(bufio.NewReader(conn)); err != nil {
						return
					}
					for _, err = io.WriteString(conn, c.before); err == nil; _, err = io.WriteString(conn, c.drop) {
						<-time.After(9 * time.Second) // fake time, and less than the stall
					}
				}()
				transport := fetch.NewTransport(fetch.TransportConfig{})
				transport.DialContext = listener.dial
				d := definition(t, "keyed")
				if err := d.Rebase("http://127.0.0.1:1"); err != nil {
					t.Fatal(err)
				}
				client := newClient(t, d.Collections[0], fetch.Config{Transport: transport})
				began := time.Now()
				_, err := client.FetchPage(t.Context(), task(t, d.Collections[0]), service.Walk{})
				if took := time.Since(began); took > 30*time.Second {
					t.Errorf("the request ended after %s, want at most timeouts.page, 30s", took)
				}
				client.CloseIdleConnections()
				<-served
				if refused := refusal(t, err, service.ClassTransient); !strings.Contains(refused.Message, c.key) {
					t.Errorf("message %q does not name %s", refused.Message, c.key)
				}
			})
		})
	}
}

func TestAnAbsurdWaitIsNoHintOrALongOne(t *testing.T) {
	t.Parallel()
	const long = 20 * 365 * 24 * time.Hour // longer than anyone waits; the worker cuts it
	for header, isLong := range map[string]bool{
		"": false, "0": false, "-5": false, "NaN": false, "Infinity": false, "1e9": false, "0x10": false, "1,5": false, "5 minutes": false,
		strings.Repeat("9", 60): true, strings.Repeat("9", 5000): false, "99999999999": true, "Fri, 31 Dec 9999 23:59:59 GMT": true,
		"Thu, 01 Jan 1970 00:00:00 GMT": false, "Fri, 31 Dec 99999 23:59:59 GMT": false,
	} {
		client, task := local(t, answer(429, "", "Retry-After", header))
		_, err := client.FetchPage(t.Context(), task, service.Walk{})
		wait := refusal(t, err, service.ClassQuota).RetryAfter
		if wait != 0 && !isLong || isLong && wait < long {
			t.Errorf("Retry-After %.40q: wait %s, want long: %t", header, wait, isLong)
		}
	}
}
