package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// No command tells in cobra's words that it got too few or too many arguments.
func TestEveryCommandNamesTheArgumentsThatItTakes(t *testing.T) {
	everyCommand(newRoot(), func(cmd *cobra.Command) {
		for _, args := range [][]string{nil, {"a", "b", "c"}} {
			err := cmd.Args(cmd, args)
			if err == nil {
				continue
			}
			text := err.Error()
			for _, theirs := range []string{"arg(s)", "unknown command"} {
				if strings.Contains(text, theirs) {
					t.Errorf("%s %v: %s", cmd.CommandPath(), args, text)
				}
			}
			switch {
			case cmd.HasSubCommands():
			case args == nil && (!strings.Contains(text, " needs ") || !strings.Contains(text, "for example: braid ")):
				t.Errorf("%s names no argument and no example: %s", cmd.CommandPath(), text)
			case args != nil && !strings.Contains(text, " takes "):
				t.Errorf("%s: %s", cmd.CommandPath(), text)
			}
		}
	})
}

func TestTheArgumentsOfALineOfUse(t *testing.T) {
	for use, want := range map[string][]string{
		"cancel ID": {"ID"}, "retry [ID] --failed": {"[ID]"}, "add NAME --server URL": {"NAME"}, "list": nil, "check FILE...": {"FILE..."},
	} {
		if got := argumentNames(use); !slices.Equal(got, want) {
			t.Errorf("%s: %v", use, got)
		}
	}
}
