package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
)

// Whoever has read the URL that braid up prints may use the server at once: there may be no leader yet.
func TestAServerThatHasToldItsURLTakesCommandsAtOnce(t *testing.T) {
	d := newFolder(t)
	d.write("flow.yaml", jsonFlow)
	d.simulate()
	for n := range 5 {
		d.env["BRAID_DATA_DIR"] = t.TempDir()
		ctx, stop := context.WithCancel(t.Context())
		read, write := io.Pipe()
		ended := make(chan int, 1)
		var stderr bytes.Buffer
		go func() {
			code := run(ctx, []string{"up", "--listen", "127.0.0.1:0", "--workers", "1"}, func(name string) string { return d.env[name] }, write, &stderr)
			_ = write.Close()
			ended <- code
		}()
		url, err := bufio.NewReader(read).ReadString('\n')
		if err != nil {
			t.Fatalf("no URL: %v: %s", err, stderr.String())
		}
		server := "--server=" + strings.TrimSpace(url)
		id := strings.TrimSpace(d.run("submit", "flow.yaml", server).mustExit(t, 0).stdout)
		d.run("list", server).mustExit(t, 0)
		d.run("status", id, server).mustExit(t, 0)
		d.run("watch", id, server).mustExit(t, 0)
		d.run("results", id, "-o", fmt.Sprintf("table-%d.csv", n), server).mustExit(t, 0)
		stop()
		if code := <-ended; code != 0 {
			t.Fatalf("up ended with %d: %s", code, stderr.String())
		}
	}
}
