package httpapi

import (
	"encoding/json"
	"fmt"
	"net"
	"time"

	"github.com/braidhq/braid/internal/httpapi/contract"
)

// maxConnections is how many connections are served at the same time.
const maxConnections = 4096

// turnAway ends a connection that is one too many. It says why to whoever speaks without TLS, and never waits: what is said fits into
// the system's buffer.
func turnAway(connection net.Conn, most int64) {
	defer func() { _ = connection.Close() }() // it is of no use any more
	tcp, ok := connection.(*net.TCPConn)
	if !ok {
		return
	}
	body, err := json.Marshal(problem(contract.Busy, "%d connections are open already", most))
	if err != nil {
		return
	}
	_ = tcp.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	_, _ = fmt.Fprintf(tcp, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: %s\r\nContent-Length: %d\r\nRetry-After: %d\r\nConnection: close\r\n\r\n%s",
		contract.ProblemType, len(body), retryAfter, body)
	_ = tcp.CloseWrite()
}
