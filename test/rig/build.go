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
func Main(m *testing.M) int { return Run(m.Run) }

// Run is Main with another way to run the tests. BuildClocks can be called there.
func Run(tests func() int) int {
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
	if err := Build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := os.Setenv(binVariable, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return tests()
}

// Build puts the binaries into dir: of the three commands, a NATS server, and the tool that makes its keys.
func Build(dir string) error {
	return build(dir, nil, "./cmd/braid", "./cmd/coordinator", "./cmd/worker", natsServer, "github.com/nats-io/nkeys/nk")
}

const natsServer = "github.com/nats-io/nats-server/v2"

func build(dir string, flags []string, packages ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	args := append([]string{"build", "-trimpath", "-ldflags=-s -w", "-o", dir + string(filepath.Separator)}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, packages...)...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the binaries: %w\n%s", err, out)
	}
	return nil
}
