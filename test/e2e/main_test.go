//go:build unix

// Package e2e tests the binaries as people and operators meet them: real processes that are started, killed, frozen and
// started again, a real NATS server, and an upstream on loopback that counts what it sees. What a user is promised is
// judged from outside: exit codes, words on stderr, the bytes of tables, and the upstream's log.
package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// binDir is where TestMain puts the binaries: in the environment, so that every child finds them under their names too.
func binDir() string { return os.Getenv("E2E_BIN") }

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "braid-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "folder for the binaries:", err)
		return 1
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	if err := build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := os.Setenv("E2E_BIN", dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build makes the three commands, and a NATS server and the maker of its keys of the versions that go.mod names.
func build(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator),
		"./cmd/braid", "./cmd/coordinator", "./cmd/worker", "github.com/nats-io/nats-server/v2", "github.com/nats-io/nkeys/nk")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the binaries: %w\n%s", err, out)
	}
	return nil
}

// root is where the repository starts, seen from this package.
const root = "../.."
