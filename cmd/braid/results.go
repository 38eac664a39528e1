package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/output"
)

type writer = io.Writer

func (a *app) resultsCommand() *cobra.Command {
	var out []string
	var format string
	var partial bool
	cmd := &cobra.Command{
		Use: "results [ID] -o FILE", Short: "Write a query's table again, in any format, without any request",
		Long: "Writes the table of a complete query, or with --partial what there is of another one.\n\n" + exitHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(out) == 0 {
				return usage("name a file with -o FILE, or -o - --format csv for stdout")
			}
			targets, err := parseTargets(out, format)
			if err != nil {
				return err
			}
			return a.within(cmd.Context(), 0, func(s *session) error {
				status, err := s.Status(cmd.Context(), first(args))
				if err != nil {
					return err
				}
				outputs, err := a.write(cmd.Context(), s, status.Query.ID, targets, partial)
				if err != nil {
					return err
				}
				return a.exported(status, outputs)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&out, "output", "o", nil, "file to write; - is stdout; may be given several times")
	flags.StringVar(&format, "format", "", "format of the output: parquet, csv, jsonl, arrow, geojson (default: by the file's ending)")
	a.emptyFlagOn(flags)
	flags.BoolVar(&partial, "partial", false, "of a query that is not complete, write what there is")
	return cmd
}

func parseTargets(out []string, format string) ([]target, error) {
	var targets []target
	for _, path := range out {
		t := target{path: path, format: output.Format(format), replace: true}
		if err := t.check(); err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	return targets, nil
}
