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

	"github.com/braidhq/braid/pkg/service"
)

// dyingServer answers the first request of each connection and keeps it; it closes the connection, without an answer,
// when it has read a second one. It records the second ones, and each request of a further connection.
type dyingServer struct {
	listener net.Listener
	wait     sync.WaitGroup
	mu       sync.Mutex
	lines    []string // guarded by mu: the first line of each request
}

func newDyingServer(t *testing.T) *dyingServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &dyingServer{listener: listener}
	s.wait.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.wait.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		s.wait.Wait()
	})
	return s
}

func (s *dyingServer) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for n := 1; ; n++ {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		s.mu.Lock()
		s.lines = append(s.lines, r.Method+" "+r.URL.String())
		s.mu.Unlock()
		if n == 2 {
			return
		}
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(onePage), onePage)
	}
}

func (s *dyingServer) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines
}

func TestARequestIsSentOnceWhenAKeptConnectionDiesBeforeTheAnswer(t *testing.T) {
	for _, method := range []string{"GET", "POST"} {
		for _, body := range []string{"", "site = 1"} {
			if method == "GET" && body != "" {
				continue
			}
			t.Run(method+" "+body, func(t *testing.T) {
				server := newDyingServer(t)
				base := "http://" + server.listener.Addr().String()
				client, _ := localAt(t, base)
				task := encode(t, service.Request{Method: method, URL: base + "/v1/things", Body: []byte(body)})
				if _, err := client.FetchPage(t.Context(), task, service.Walk{}); err != nil {
					t.Fatal(err)
				}
				_, err := client.FetchPage(t.Context(), task, service.Walk{Cursor: base + "/v1/things?page=2"})
				refused := refusal(t, err, service.ClassTransient)
				if refused.Status != 0 || !strings.Contains(refused.Message, "127.0.0.1") {
					t.Errorf("got status %d, message %q; want no status and the host", refused.Status, refused.Message)
				}
				if n := len(server.requests()); n != 2 {
					t.Errorf("the server got %d requests for two pages: %q", n, server.requests())
				}
			})
		}
	}
}

func TestARequestLooksOnTheWireAsIfItHadNoMachineryInIt(t *testing.T) {
	for method, want := range map[string]string{"GET": "", "POST": "Content-Length: 0"} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		raw := make(chan string, 1)
		var wait sync.WaitGroup
		wait.Go(func() {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			in := bufio.NewReader(conn)
			var text strings.Builder
			for !strings.HasSuffix(text.String(), "\r\n\r\n") {
				line, err := in.ReadString('\n')
				if err != nil {
					break
				}
				text.WriteString(line)
			}
			raw <- text.String()
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(onePage), onePage)
		})
		base := "http://" + listener.Addr().String()
		client, _ := localAt(t, base)
		if _, err := client.FetchPage(t.Context(), encode(t, service.Request{Method: method, URL: base + "/v1/things"}), service.Walk{}); err != nil {
			t.Fatal(err)
		}
		_ = listener.Close()
		wait.Wait()
		text := <-raw
		if strings.Contains(text, "Transfer-Encoding") || strings.Contains(text, "Connection:") || !strings.Contains(text, want) ||
			want == "" && strings.Contains(text, "Content-Length") {
			t.Errorf("%s goes out as\n%s", method, text)
		}
	}
}
