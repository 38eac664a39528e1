package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) cancelCommand() *cobra.Command {
	return &cobra.Command{
		Use: "cancel ID", Short: "Stop a query now; what is complete is kept, and it can be resumed", Args: cobra.ExactArgs(1),
		Example: "  braid cancel k7f2c3aa",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.within(cmd.Context(), 0, func(s *session) error {
				q, err := s.Cancel(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(map[string]any{"query": q})
				}
				if _, err := fmt.Fprintf(a.stdout, "cancelled %s\n", q.ID); err != nil {
					return err
				}
				for _, next := range a.nextSteps(q) {
					a.line(next.label, "%s", next.text)
				}
				return nil
			})
		},
	}
}
