package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/pkg/messages"
)

func (a *app) listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List queries, the newest first", Aliases: []string{"ls"}, Args: cobra.NoArgs,
		Example: `  braid list
  braid list --json |
    jq -r '.queries[] | select(.query.state == "interrupted") | .query.id'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.within(cmd.Context(), 0, func(s *session) error {
				all, err := s.listed(cmd.Context())
				if err != nil {
					return err
				}
				if a.json {
					list := make([]shown, 0, len(all))
					for _, status := range all {
						list = append(list, a.shown(status))
					}
					return a.printJSON(map[string]any{"queries": list})
				}
				if len(all) == 0 {
					a.line("none", "no queries yet; braid run QUERY.yaml runs one")
					return nil
				}
				if err := printList(a.table(), all, time.Now()); err != nil {
					return err
				}
				if slices.ContainsFunc(all, func(s *messages.Status) bool { return limitReached(s.Query, s.Progress) }) {
					a.line("limit", "the first rows that the query asks for are there (max_rows); no more of its chunks are needed")
				}
				for _, s := range all {
					if rank := rankText(s.Query); rank != "" {
						a.line("rank", "%s has %s", s.Query.ID, rank)
					}
				}
				return nil
			})
		},
	}
}

// listed gives all queries with their progress. The cache of one that stopped may be older than the stop.
func (s *session) listed(ctx context.Context) ([]*messages.Status, error) {
	all, err := s.Statuses(ctx)
	if err != nil {
		return nil, err
	}
	for _, status := range all {
		q, p := status.Query, status.Progress
		if q.State.Active() || p.Completed == q.Chunks || !p.Updated.Before(q.Updated) {
			continue
		}
		if err := s.survey(ctx, status); err != nil {
			return nil, err
		}
	}
	return all, nil
}

const listWidth = 80 // of a terminal that does not say how wide it is

// printList writes one line a query. All times have the distance from UTC that the user's clock has now, and the head of
// their column says it.
func printList(t *table, all []*messages.Status, now time.Time) error {
	zone := zoneOf(now.Local())
	fmt.Fprintf(t, "ID\tNAME\tSERVICE\tSTATE\tCHUNKS\tROWS\tCREATED %s\n", zone)
	for _, st := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", st.Query.ID, st.Query.Name, st.Query.Service, st.Query.State,
			chunksCell(st), thousands(st.Progress.Rows), day(st.Query.Created.In(zone), now.In(zone)))
	}
	return t.Flush()
}

// rankText says how a query stands to others, where that is not as most do.
func rankText(q *messages.Query) string {
	var parts []string
	if q.Priority != 0 {
		parts = append(parts, fmt.Sprintf("priority %d", q.Priority))
	}
	if q.Weight > 1 {
		parts = append(parts, fmt.Sprintf("weight %d", q.Weight))
	}
	return strings.Join(parts, ", ")
}

func chunksCell(s *messages.Status) string {
	cell := fmt.Sprintf("%d/%d", s.Progress.Completed, s.Query.Chunks)
	if limitReached(s.Query, s.Progress) {
		cell += " · limit"
	}
	return cell
}

func shortened(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

// zoneOf gives the zone of t with its distance from UTC as its name: +01, -03:30.
func zoneOf(t time.Time) *time.Location {
	_, offset := t.Zone()
	if offset%3600 != 0 {
		return time.FixedZone(t.Format("-07:00"), offset)
	}
	return time.FixedZone(t.Format("-07"), offset)
}

// day writes a time in twelve characters: of the last half year with the hour, else with the year.
func day(t, now time.Time) string {
	if now.Sub(t) < 182*24*time.Hour {
		return t.Format("Jan _2 15:04")
	}
	return t.Format("Jan _2  2006")
}
