package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// What has columns or is a command is not broken: it is written so that it fits.
func TestEveryHelpTextFitsATerminalOf80Columns(t *testing.T) {
	root := newRoot()
	fitTo(root, leastHelp)
	fits := func(cmd *cobra.Command) {
		var out bytes.Buffer
		cmd.SetOut(&out)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimRight(line, "\n"); len([]rune(line)) > leastHelp || strings.Contains(line, "\t") {
				t.Errorf("%s: %d characters: %s", cmd.CommandPath(), len([]rune(line)), line)
			}
		}
	}
	fits(root)
	everyCommand(root, fits)
}
