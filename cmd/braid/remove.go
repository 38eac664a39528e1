package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func (a *app) removeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rm ID", Short: "Remove a query with all that was kept of it", Args: cobra.ExactArgs(1),
		Example: "  braid rm k7f2c3aa",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.within(cmd.Context(), 0, func(s *session) error {
				// What is gone is gone: the first letters of an id are not enough.
				status, err := s.Status(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				id := status.Query.ID
				if id != args[0] && args[0] != "latest" {
					return usage("write the whole id to remove a query: %s", status.Query.ID)
				}
				if err := s.Remove(cmd.Context(), id); err != nil {
					return err
				}
				_ = os.Remove(a.targetsFile(id)) // nothing is lost when it stays
				if a.json {
					return a.printJSON(map[string]string{"removed": id})
				}
				_, err = fmt.Fprintf(a.stdout, "removed %s\n", id)
				return err
			})
		},
	}
}
