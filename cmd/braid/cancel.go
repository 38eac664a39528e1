package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) cancelCommand() *cobra.Command {
	return &cobra.Command{
		Use: "cancel ID", Short: "Stop a query for good; completed work is kept until it is removed", Args: cobra.ExactArgs(1),
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
