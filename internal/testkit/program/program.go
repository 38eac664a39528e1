// Package program finds programs of the machine that tests ask for their opinion.
package program

import (
	"os"
	"os/exec"
	"testing"
)

// demanded says that a machine without them is an error: CI sets it.
const demanded = "BRAID_CHECKERS"

// Find gives the path of a program. Where it is not installed the test is skipped, or fails if BRAID_CHECKERS is set. of is the
// package of Debian that has it.
func Find(t testing.TB, name, of string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, "%s is not installed (Debian's package %s, make checkers)", name, of)
	}
	return path
}

// Missing skips the test, or fails it if BRAID_CHECKERS is set: what it asks is not there, or does not run here.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv(demanded) != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
