package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestTheVersionIsAFlagToo(t *testing.T) {
	var out bytes.Buffer
	root := &cobra.Command{Use: "braid", RunE: func(*cobra.Command, []string) error { return nil }}
	versionFlag(root)
	root.SetOut(&out)
	root.SetArgs([]string{"--version"})
	if err := root.ExecuteContext(t.Context()); err != nil || out.String() != versionLine() || !strings.HasPrefix(out.String(), "braid ") {
		t.Errorf("got %q, %v", out.String(), err)
	}
}
