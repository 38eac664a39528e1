package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/pkg/messages"
)

func (a *app) verifyCommand() *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use: "verify [ID]", Short: "Check every stored result of a query against its digest",
		Long: "Reads every stored result of the query, with its pages, and of those that it goes on from, and checks length and digest. No table is\n" +
			"made, and nothing is asked of the service. What is lost or damaged is pending again, and the query interrupted: braid resume fetches\n" +
			"just that. A query that runs is only looked at.\n\n" +
			"The exit code is 0 when all is well, and 3 when something is lost.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.within(cmd.Context(), 0, func(s *session) error {
				v, err := s.Verify(cmd.Context(), first(args), !dryRun)
				if err != nil {
					return err
				}
				return a.verification(v)
			})
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "tell what is lost, and leave the query as it is")
	return cmd
}

const shownLost = 10 // positions on the screen; --json has more

func (a *app) verification(v *messages.Verification) error {
	for i := range v.Queries {
		a.verifiedOne(&v.Queries[i])
	}
	if a.json {
		if err := a.printJSON(v); err != nil {
			return err
		}
	}
	if v.Whole() {
		return nil
	}
	return &exitError{code: exitIncomplete, err: errors.New("stored results are lost or damaged"), said: true}
}

func (a *app) verifiedOne(q *messages.VerifiedQuery) {
	if q.Whole() {
		a.line("verified", "%s: %s, with %s of rows, are as they were committed", q.ID, count(int64(q.Results), "result"), fileSize(q.Bytes))
		return
	}
	if lost := q.Damaged + q.Missing; lost > 0 {
		a.line("lost", "%s: %s damaged, %s missing; %s are as they were committed", q.ID, thousands(int64(q.Damaged)), thousands(int64(q.Missing)), thousands(int64(q.Results)))
	}
	for i, lost := range q.Lost {
		if i == shownLost {
			a.line("", "… and %s; --json lists the first thousand", count(int64(q.Damaged+q.Missing-shownLost), "other"))
			break
		}
		a.line("", "position %s: %s", lost.Position, lost.Reason)
	}
	if q.Pinned != "" {
		a.line("lost", "%s cannot be resumed: %s", q.ID, q.Pinned)
	}
	switch {
	case q.Damaged+q.Missing == 0:
	case q.Reopened:
		a.line("continue", "braid resume %s%s", q.ID, a.whereHint())
	case q.State.Active():
		a.line("note", "it is %s: verify it again when it has ended", q.State)
	default:
		a.line("note", "nothing was changed; braid verify %s%s makes what is lost pending again", q.ID, a.whereHint())
	}
}
