package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/messages"
)

func (a *app) gcCommand() *cobra.Command {
	var dryRun, interrupted bool
	var olderThan settings.Age
	cmd := &cobra.Command{
		Use: "gc", Short: "Remove what nothing needs, and old queries if asked",
		Example: `  braid gc --dry-run
  braid gc --older-than 30d`,
		Long: `Removes parts of attempts that never became a result, and what is left of queries that were removed.

With --older-than, queries that ended so long ago (complete, failed or cancelled) are removed too, with all that was kept
of them. A query that was interrupted has not ended, however old it is: braid resume goes on with it, and it stays unless
--interrupted is given too. Its age, as that of all, counts from its last change. A query stays, too, that runs or waits,
or that another one which is kept goes on from (since).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if interrupted && olderThan == 0 {
				return usage("--interrupted goes with --older-than: how old are the queries that are to be given up?")
			}
			return a.within(cmd.Context(), 0, func(s *session) error {
				g, err := s.Collect(cmd.Context(), messages.GarbageOptions{OlderThan: time.Duration(olderThan), Interrupted: interrupted, DryRun: dryRun})
				if err != nil {
					return err
				}
				for _, q := range g.Queries {
					if !dryRun {
						_ = os.Remove(a.targetsFile(q.ID)) // nothing is lost when it stays
					}
				}
				outputs, err := s.oldOutputs(cmd.Context(), time.Duration(olderThan), dryRun)
				if err != nil {
					return err
				}
				return a.collected(g, outputs)
			})
		},
	}
	cmd.Flags().Var(&olderThan, "older-than", "also remove queries that ended longer ago, such as 30d")
	cmd.Flags().BoolVar(&interrupted, "interrupted", false, "with --older-than, remove interrupted queries too, though they could be resumed")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "tell what would be removed, and remove nothing")
	settings.OnlyFlags(cmd.Flags(), "older-than", "interrupted", "dry-run")
	return cmd
}

// oldOutputs removes what this data directory remembers of outputs of queries that nobody knows any more. The file of a
// query of another server is as good as unknown, so only such as are old go, and only when old things are asked for.
func (s *session) oldOutputs(ctx context.Context, olderThan time.Duration, dryRun bool) (int, error) {
	if olderThan == 0 {
		return 0, nil
	}
	all, err := s.Statuses(ctx)
	if err != nil {
		return 0, err
	}
	files, err := filepath.Glob(s.app.targetsFile("*"))
	if err != nil {
		return 0, err
	}
	removed := 0
	for _, file := range files {
		id := strings.TrimSuffix(filepath.Base(file), ".json")
		if slices.ContainsFunc(all, func(s *messages.Status) bool { return s.Query.ID == id }) {
			continue
		}
		if info, err := os.Stat(file); err != nil || time.Since(info.ModTime()) < olderThan {
			continue
		}
		if !dryRun && os.Remove(file) != nil {
			continue
		}
		removed++
	}
	return removed, nil
}

func (a *app) collected(g *messages.Garbage, outputs int) error {
	verb, total := "removed", "freed"
	if g.DryRun {
		verb, total = "would remove", "would free"
	}
	for _, q := range g.Queries {
		a.line(verb, "query %s (%s, %s, %s): %s, %s", q.ID, q.Name, q.State, day(q.Updated.Local(), time.Now()), count(int64(q.Results), "result"), fileSize(q.Bytes))
	}
	if g.Orphans.Attempts > 0 {
		a.line(verb, "parts of %s without a result, %s", count(int64(g.Orphans.Attempts), "attempt"), fileSize(g.Orphans.Bytes))
	}
	for _, l := range g.Leftovers {
		a.line(verb, "what is left of query %s, which does not exist any more, %s", l.ID, fileSize(l.Bytes))
	}
	if outputs > 0 {
		a.line(verb, "%s of outputs of queries that do not exist any more", count(int64(outputs), "record"))
	}
	a.line(total, "%s", fileSize(g.Bytes))
	if a.json {
		return a.printJSON(g)
	}
	return nil
}
