package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// A help text is as wide as the terminal, within what can be read.
const (
	leastHelp = 80
	mostHelp  = 120
)

// fitHelp breaks the lines of help texts where the terminal ends. What is no terminal gets the lines as they were written.
func (a *app) fitHelp(root *cobra.Command) {
	width := terminalWidth(a.stdout)
	if width == 0 {
		return
	}
	fitTo(root, min(max(width, leastHelp), mostHelp))
}

func fitTo(root *cobra.Command, width int) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", width)))
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cmd.Long = reflowed(cmd.Long, width)
		show(cmd, args)
	})
}
