package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// binVariable names the folder of the binaries: in the environment, so that every child finds them under their names too.
const binVariable = "BRAID_RIG_BIN"

// BinDir is where Main puts the binaries.
func BinDir() string { return os.Getenv(binVariable) }

// Main builds the three commands and a NATS server of the version that go.mod names, runs the tests of a package that is two
// folders below the repository's root, and gives the exit code.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "braid-rig-")
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
	if err := os.Setenv(binVariable, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func build(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator),
		"./cmd/braid", "./cmd/coordinator", "./cmd/worker", "github.com/nats-io/nats-server/v2", "github.com/nats-io/nkeys/nk")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the binaries: %w\n%s", err, out)
	}
	return nil
}
