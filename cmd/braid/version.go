package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/buildinfo"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.printJSON(map[string]string{"version": buildinfo.Version(), "go": runtime.Version()})
			}
			_, err := fmt.Fprintf(a.stdout, "braid %s (%s)\n", buildinfo.Version(), runtime.Version())
			return err
		},
	}
}
