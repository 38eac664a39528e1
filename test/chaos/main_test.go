//go:build unix

// Package chaos disturbs a whole system, real processes on loopback, by schedules that are drawn from seeds, and judges from the
// upstream's and the streams' own record what came of it. docs/chaos.md says what is promised and what a schedule does.
package chaos

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/braidhq/braid/test/rig"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// A schedule mostly waits: more of them run at a time than there are processors. An explicit -parallel comes later and wins.
	if err := flag.Set("test.parallel", strconv.Itoa(number("CHAOS_PARALLEL", 3))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	flag.Parse()
	if os.Getenv(insideVariable) != "" { // what is to be built has been
		os.Exit(inNetwork(m.Run))
	}
	os.Exit(rig.Run(func() int {
		if haveClocks() {
			if err := rig.BuildClocks(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		return inNetwork(m.Run)
	}))
}

// insideVariable tells a process that it runs in a network namespace made for it.
const insideVariable = "CHAOS_INSIDE"

// haveClocks tells whether the clocks of processes can be set. That needs a standard library of its own, which takes minutes to
// build where the build cache does not have it.
func haveClocks() bool { return os.Getenv("CHAOS_CLOCKS") != "" }

// number reads a setting of the suite.
func number(variable string, otherwise int) int {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		fmt.Fprintf(os.Stderr, "%s is %q, and must be a number\n", variable, text)
		os.Exit(2)
	}
	return n
}
