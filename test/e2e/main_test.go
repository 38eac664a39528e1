//go:build unix

// Package e2e tests the binaries as people and operators meet them: real processes that are started, killed, frozen and
// started again, a real NATS server, and an upstream on loopback that counts what it sees. What a user is promised is
// judged from outside: exit codes, words on stderr, the bytes of tables, and the upstream's log.
package e2e

import (
	"flag"
	"os"
	"testing"

	"github.com/braidhq/braid/test/rig"
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(rig.Main(m))
}

// root is where the repository starts, seen from this package.
const root = "../.."
