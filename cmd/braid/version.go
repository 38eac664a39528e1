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

func versionDocument() string {
	text, err := asDocument(shownVersion{buildinfo.Version(), runtime.Version()})
	if err != nil {
		return versionLine() // two texts have no such fault
	}
	return string(text)
}

// shownVersion is the version as --json prints it.
type shownVersion struct {
	Version string `json:"version"`
	Go      string `json:"go"`
}

// versionFlag gives the root command --version, which people try first.
func versionFlag(root *cobra.Command) {
	root.Version = buildinfo.Version()
	// The flag is answered before settings are read, and so that it works whatever they hold: --json is known as a flag alone.
	root.SetVersionTemplate(`{{with .Flag "json"}}{{if eq .Value.String "true"}}` + versionDocument() + `{{else}}` + versionLine() + `{{end}}{{else}}` + versionLine() + `{{end}}`)
	root.Flags().Bool("version", false, "print the version")
	settings.OnlyFlags(root.Flags(), "version")
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Example: "  braid version",
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.printJSON(shownVersion{buildinfo.Version(), runtime.Version()})
			}
			_, err := io.WriteString(a.stdout, versionLine())
			return err
		},
	}
}
