package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/messages"
)

func (a *app) verifyCommand() *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use: "verify [ID]", Short: "Check each stored result of a query, or of all, by its digest",
		Example: `  braid verify
  braid verify k7f2c3aa`,
		Long: `Reads every stored result of the query, with its pages, and of those that it goes on from, and checks length and digest.
Without an ID it does so for all queries: damage in one file of the store hits whatever queries have results there. No
table is made, and nothing is asked of the service. What is lost or damaged is pending again, and the query interrupted:
braid resume ID fetches just that. A query that runs is only looked at.

The exit code is 0 when all is well, and 3 when something is lost, or was found to be lost and has not been fetched again.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.within(cmd.Context(), 0, func(s *session) error {
				if len(args) == 0 {
					return a.verifyAll(cmd.Context(), s, !dryRun)
				}
				v, err := s.Verify(cmd.Context(), args[0], !dryRun)
				if err != nil {
					return err
				}
				return a.verification(v)
			})
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "tell what is lost, and leave the queries as they are")
	settings.OnlyFlags(cmd.Flags(), "dry-run")
	return cmd
}

var errLost = errors.New("stored results are lost or damaged")

// verifyAll verifies all queries, one after the other, and tells of each that has lost something in one line.
func (a *app) verifyAll(ctx context.Context, s *session, reopen bool) error {
	all, err := s.Statuses(ctx)
	if err != nil {
		return err
	}
	found := []*messages.Verification{}
	sum := &verifiedSum{seen: map[string]bool{}, next: time.Now().Add(plainEvery)}
	for i, status := range all { // the newest first: whatever goes on from others comes before them
		if now := time.Now(); now.After(sum.next) && !a.isQuiet() {
			sum.next = now.Add(plainEvery)
			a.line("checked", "%d of %s", i, count(int64(len(all)), "query"))
		}
		if sum.seen[status.Query.ID] {
			continue
		}
		v, err := s.Verify(ctx, status.Query.ID, reopen)
		switch {
		case is(err, messages.ErrNotFound): // it was removed meanwhile
			continue
		case is(err, messages.ErrVersion):
			sum.unread = append(sum.unread, err)
			a.line("unread", "%s", err)
			continue
		case err != nil:
			return err
		}
		found = append(found, v)
		a.sumUp(sum, v)
	}
	if sum.queries > 0 || sum.lost == 0 {
		a.line("verified", "%s: %s, with %s of rows, are as they were committed", count(sum.queries, "query"), count(sum.results, "result"), fileSize(sum.bytes))
	}
	if a.json {
		if err := a.printJSON(found); err != nil {
			return err
		}
	}
	if sum.lost > 0 {
		return &exitError{code: exitIncomplete, err: errLost, said: true}
	}
	return errors.Join(sum.unread...)
}

// verifiedSum is what was found of all queries.
type verifiedSum struct {
	seen                          map[string]bool
	queries, results, bytes, lost int64
	unread                        []error
	next                          time.Time // when to say how far it is
}

func (a *app) sumUp(sum *verifiedSum, v *messages.Verification) {
	for i := range v.Queries {
		q := &v.Queries[i]
		if sum.seen[q.ID] {
			continue
		}
		sum.seen[q.ID] = true
		sum.results, sum.bytes = sum.results+int64(q.Results), sum.bytes+q.Bytes
		if !q.Whole() {
			sum.lost++
			a.line("lost", "%s: %s", q.ID, a.lossText(q))
		} else if q.Results > 0 {
			sum.queries++
		}
	}
}

// lossText says in one line what a query has lost, and what to do.
func (a *app) lossText(q *messages.VerifiedQuery) string {
	var parts []string
	if q.Damaged+q.Missing > 0 {
		parts = append(parts, fmt.Sprintf("%s damaged, %s missing", thousands(int64(q.Damaged)), thousands(int64(q.Missing))))
	}
	parts = append(parts, storedText(q))
	if q.Pinned != "" {
		return strings.Join(append(parts, "it cannot be resumed: "+q.Pinned), "; ")
	}
	switch {
	case q.Reopened || q.Lapsed:
		parts = append(parts, "braid resume "+q.ID+a.whereHint())
	case q.State.Active():
		parts = append(parts, "it is "+string(q.State)+": verify it again when it has ended")
	}
	return strings.Join(parts, "; ")
}

// storedText says how many results of a query are stored, of those that it needs.
func storedText(q *messages.VerifiedQuery) string {
	text := fmt.Sprintf("%s of %s stored", thousands(int64(q.Results)), thousands(int64(q.Results+q.Pending)))
	if q.Pending > 0 {
		verb := "are"
		if q.Pending == 1 {
			verb = "is"
		}
		text += fmt.Sprintf("; %s %s pending", thousands(int64(q.Pending)), verb)
	}
	return text
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
	return &exitError{code: exitIncomplete, err: errLost, said: true}
}

func (a *app) verifiedOne(q *messages.VerifiedQuery) {
	switch {
	case q.Whole() && q.Pending == 0:
		a.line("verified", "%s: %s, with %s of rows, are as they were committed", q.ID, count(int64(q.Results), "result"), fileSize(q.Bytes))
		return
	case q.Whole():
		a.line("verified", "%s: %s. What is stored is as it was committed: %s of rows", q.ID, storedText(q), fileSize(q.Bytes))
		return
	case q.Damaged+q.Missing == 0 && q.Pinned == "":
		a.line("lost", "%s: results were lost, and have not been fetched again: %s", q.ID, storedText(q))
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
	case q.Pinned != "":
	case q.Reopened || q.Lapsed:
		a.line("check", "braid verify%s (other queries of this store may have lost results too)", a.whereHint())
		a.line("continue", "braid resume %s%s", q.ID, a.whereHint())
	case q.State.Active():
		a.line("note", "it is %s: verify it again when it has ended", q.State)
	default:
		a.line("note", "nothing was changed; braid verify %s%s makes what is lost pending again", q.ID, a.whereHint())
	}
}
