package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// wrongArgs says which arguments a command takes, of one that got too few or too many.
func wrongArgs(cmd *cobra.Command, args []string) error {
	names := argumentNames(cmd.Use)
	needed := 0
	for _, name := range names {
		if !strings.HasPrefix(name, "[") {
			needed++
		}
	}
	path := cmd.CommandPath()
	switch {
	case len(args) < needed:
		example, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
		return usage("%s needs %s; for example: %s; see %s --help", path, strings.Join(names[len(args):], " and "), example, path)
	case len(names) == 0:
		return usage("%s takes no argument, and got %q; see %s --help", path, shortened(args[0], 60), path)
	}
	extra := args[min(len(names), len(args)-1)]
	return usage("%s takes %s alone, and got %q too; see %s --help", path, strings.Join(names, " "), shortened(extra, 60), path)
}

// argumentNames are the arguments in a command's line of use: neither its flags nor their values.
func argumentNames(use string) []string {
	var names []string
	value := false
	for i, word := range strings.Fields(use) {
		flag := strings.HasPrefix(word, "-")
		if i > 0 && !flag && !value {
			names = append(names, word)
		}
		value = flag
	}
	return names
}
