//go:build unix

package postgres

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	testserver "github.com/braidhq/braid/internal/testkit/postgres"
)

var server *testserver.Server

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(withServer(m))
}

func withServer(m *testing.M) int {
	var err error
	if server, err = testserver.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}
