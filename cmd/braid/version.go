package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/buildinfo"
	"github.com/braidhq/braid/internal/settings"
)

func versionLine() string {
	return fmt.Sprintf("braid %s (%s)\n", buildinfo.Version(), runtime.Version())
}

// versionFlag gives the root command --version, which people try first.
func versionFlag(root *cobra.Command) {
	root.Version = buildinfo.Version()
	root.SetVersionTemplate(versionLine())
	root.Flags().Bool("version", false, "print the version")
	settings.OnlyFlags(root.Flags(), "version")
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Example: "  braid version",
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.printJSON(map[string]string{"version": buildinfo.Version(), "go": runtime.Version()})
			}
			_, err := io.WriteString(a.stdout, versionLine())
			return err
		},
	}
}
