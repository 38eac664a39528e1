package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) cancelCommand() *cobra.Command {
	return &cobra.Command{
		Use: "cancel ID", Short: "Stop a query now; completed work is kept, and braid resume can go on", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.within(cmd.Context(), 0, func(s *session) error {
				q, err := s.Cancel(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(q)
				}
				_, err = fmt.Fprintf(a.stdout, "cancelled %s\n", q.ID)
				return err
			})
		},
	}
}
