package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

func (a *app) retryCommand() *cobra.Command {
	var failed bool
	how := &goOn{again: func(ctx context.Context, s *session, id string, again *query.Resumption) (*messages.Query, error) {
		return s.Retry(ctx, id, again)
	}}
	cmd := &cobra.Command{
		Use: "retry [ID] --failed",
		Example: `  braid retry --failed
  braid retry k7f2c3aa --failed`,
		Short: "Run the failed chunks of a query again, and nothing else",
		Long: `Runs again only the chunks that have failed, as braid failed lists them, and writes the table if the query is complete then.
Without an ID it is the newest query that is not complete.
braid resume runs them too, with all else that has no result.

` + exitHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !failed {
				id := ""
				if len(args) > 0 {
					id = " " + args[0]
				}
				return usage("say what is to be run again: braid retry%s --failed; braid resume%s runs all that has no result", id, id)
			}
			return a.goOn(cmd, first(args), how)
		},
	}
	cmd.Flags().BoolVar(&failed, "failed", false, "run again what has failed; needed")
	settings.OnlyFlags(cmd.Flags(), "failed")
	a.goOnFlagsOn(cmd, how)
	return cmd
}
