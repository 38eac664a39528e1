//go:build unix

package ledger

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	testserver "github.com/braidhq/braid/internal/testkit/postgres"
)

// server is one for all tests: each has a database of its own. Tests that kill a server start another one.
var server *testserver.Server

func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if server, err = testserver.Start(); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := server.Stop(); err != nil {
		panic(err)
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			panic(err)
		}
	}
}
