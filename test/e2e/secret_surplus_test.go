//go:build unix

package e2e

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestWhatAServiceSaysBehindItsAnswerIsNotShown is about net/http, which writes to the standard logger what a kept connection
// says without being asked.
func TestWhatAServiceSaysBehindItsAnswerIsNotShown(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for in := bufio.NewReader(conn); ; {
					request, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					const page = `{"items": [{"huc": "010900020502"}]}`
					fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%sa surplus for %s",
						len(page), page, request.Header.Get("X-Key"))
				}
			}()
		}
	}()
	address := listener.Addr().String()
	d := newDesk(t, nil)
	d.write("services/gauges.yaml", strings.NewReplacer(
		"https://gauges.example/v1", "http://"+address, "[{host: gauges.example}]", "[{host: '"+address+"', insecure: true, credentials: [key]}]\n"+
			"credentials: {key: {send: {header: X-Key}, from: env:"+keptVariable+", required: true}}",
	).Replace(gauges))
	d.args = append(d.args, "--services-dir", d.path("services"), "--log-level", "debug")
	d.write("q.yaml", "schema: query/v1\nservice: gauges\ncollection: basins\nwhere: {}\n")
	g := &guarded{desk: d, env: []string{keptVariable + "=" + secret}}
	o := g.do("run", "q.yaml", "-o", "t.csv").mustExit(t, 0)
	mustHaveNoSecret(t, "what the user reads", "complete 1 row", g.kept())
	if strings.Contains(o.stderr, "surplus") {
		t.Errorf("the surplus is shown:\n%s", o.stderr)
	}
	mustHaveNoSecret(t, "the files", "010900020502", filesBelow(t, d.dir))
}
