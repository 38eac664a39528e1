package main

import (
	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/pkg/messages"
)

func (a *app) manifestCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "manifest [ID] [-o FILE]", Short: "Prove a query's table: each request behind it, and digests",
		Example: "  braid manifest k7f2c3aa -o manifest.json",
		Long: "Gives as JSON what a table is made of, to cite and to check: the query with its values, the service and the SHA-256 of its\n" +
			"definition, the fingerprint of the plan, the columns with their units, and for each chunk the request, its pages with time, status,\n" +
			"rows and the SHA-256 of the rows, and the worker that fetched it. No credential is in it. Nothing is asked of the service.\n\n" +
			"braid run and braid results write the same beside the table, as NAME.manifest.json, with the SHA-256 of each file.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.within(cmd.Context(), 0, func(s *session) error {
				manifest, err := s.Manifest(cmd.Context(), first(args))
				if err != nil {
					return err
				}
				return a.showManifest(manifest, out)
			})
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "-", "json file to write; - is stdout")
	return cmd
}

func (a *app) showManifest(m *messages.Manifest, out string) error {
	if out == "-" {
		return writeManifest(a.stdout, m)
	}
	if _, err := output.Save(out, func(w writer) error { return writeManifest(w, m) }); err != nil {
		return err
	}
	a.line("written", "%s", out)
	return nil
}
