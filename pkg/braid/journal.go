package braid

import (
	"context"

	"github.com/braidhq/braid/internal/metrics"
	"github.com/braidhq/braid/pkg/journal"
)

// Journal gives what happens, for who keeps a record of it. There is one reader in all processes together: what one has acknowledged is told to
// no other.
func (l *Local) Journal() journal.Source { return l.bus.Journal() }

// Leads tells whether this process leads, as far as that is known now.
func (l *Local) Leads(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, leaderWait)
	defer cancel()
	name, err := l.bus.LeaderName(ctx)
	return err == nil && name != "" && name == l.name
}

// LedgerStanding is how the ledger of a process stands, for its metrics.
type LedgerStanding = metrics.Ledger

// WatchLedger adds the ledger that the process feeds to its metrics; once at most.
func (t *Telemetry) WatchLedger(look func() LedgerStanding) {
	if t != nil {
		t.metrics.WatchLedger(look)
	}
}
