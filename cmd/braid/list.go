package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/pkg/messages"
)

func (a *app) listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List queries, the newest first", Aliases: []string{"ls"}, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.within(cmd.Context(), 0, func(s *session) error {
				all, err := s.Statuses(cmd.Context())
				if err != nil {
					return err
				}
				if a.json {
					if all == nil {
						all = []*messages.Status{}
					}
					return a.printJSON(all)
				}
				if len(all) == 0 {
					a.line("none", "no queries yet; braid run QUERY.yaml runs one")
					return nil
				}
				table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
				fmt.Fprintln(table, "ID\tNAME\tSERVICE\tCOLLECTION\tSTATE\tCHUNKS\tROWS\tCREATED")
				for _, st := range all {
					fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d/%d\t%d\t%s\n", st.Query.ID, st.Query.Name, st.Query.Service, st.Query.Collection,
						st.Query.State, st.Progress.Completed, st.Query.Chunks, st.Progress.Rows, st.Query.Created.Local().Format(time.DateTime))
				}
				return table.Flush()
			})
		},
	}
}
