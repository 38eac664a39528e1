package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/pkg/messages"
)

func (a *app) quotaCommand() *cobra.Command {
	return &cobra.Command{
		Use: "quota [POOL]", Short: "Show what is left of the quota pools that queries have spent", Args: cobra.MaximumNArgs(1),
		Example: "  braid quota",
		Long: `Shows what is left of each quota pool that queries of this data directory, or of the server, have spent: as far as they
know, and as the services said. Nothing is asked of a service.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.within(cmd.Context(), 0, func(s *session) error { return a.showQuotas(cmd.Context(), s, first(args)) })
		},
	}
}

func (a *app) showQuotas(ctx context.Context, s *session, pool string) error {
	list, err := s.Quotas(ctx)
	if err != nil {
		return err
	}
	if pool != "" {
		list.Quotas = slices.DeleteFunc(list.Quotas, func(q messages.QuotaStanding) bool { return q.Pool != pool })
		if len(list.Quotas) == 0 {
			return fmt.Errorf("quota pool %.40q: %w; braid quota shows those that were spent", pool, messages.ErrNotFound)
		}
	}
	if a.json {
		return a.printJSON(list)
	}
	if len(list.Quotas) == 0 {
		a.line("none", "no query has spent a quota yet")
		return nil
	}
	table := a.table()
	fmt.Fprintln(table, "POOL\tOF\tLEFT\tHELD BACK\tPER\tSINCE\tNEXT")
	for _, q := range list.Quotas {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", q.Pool, q.Owner, leftText(q), thousands(q.HoldBack), perText(q), momentOr(q.Since, "-"), momentOr(q.Next, "now"))
	}
	return table.Flush()
}

// leftText is what is left of a pool: 871 of 1,000.
func leftText(q messages.QuotaStanding) string {
	if q.Limit == 0 || q.Left == nil {
		return "not known"
	}
	return thousands(*q.Left) + " of " + thousands(q.Limit)
}

func perText(q messages.QuotaStanding) string {
	text := roughly(q.Window)
	if q.Counts != "requests" {
		text = q.Counts + " in " + text
	}
	return text
}

func momentOr(t time.Time, otherwise string) string {
	if t.IsZero() {
		return otherwise
	}
	return moment(t)
}

// standings tells how the pools stand that queries of the data directory have spent, or why that is not known. A folder that no
// query has used is not made.
func (a *app) standings(ctx context.Context) ([]messages.QuotaStanding, messages.Unknown) {
	if entries, err := os.ReadDir(a.dataDir); err != nil || len(entries) == 0 {
		return nil, ""
	}
	s, err := a.open(ctx, 0)
	if err != nil {
		return nil, "the data directory cannot be read just now"
	}
	list, err := s.Quotas(ctx)
	if err := errors.Join(err, s.close(ctx)); err != nil {
		return nil, "the accounts of quotas cannot be read just now"
	}
	return list.Quotas, ""
}
