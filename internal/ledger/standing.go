package ledger

import (
	"context"
	"log/slog"

	"github.com/braidhq/braid/pkg/journal"
)

// Feeder is a ledger that a process may have. The zero value has none, and does nothing.
type Feeder struct{ ledger *Ledger }

// FeederFor makes the ledger that is set, if one is (FromSettings). leads tells whether this process feeds it.
func FeederFor(connection, passwordFile string, getenv func(string) string, source journal.Source, leads func(context.Context) bool, log *slog.Logger) (Feeder, error) {
	database, set, err := FromSettings(connection, passwordFile, getenv)
	if err != nil || !set {
		return Feeder{}, err
	}
	l, err := New(Config{Database: database, Source: source, Leads: leads, Log: log})
	return Feeder{l}, err
}

// Ledger gives the ledger; nil: there is none.
func (f Feeder) Ledger() *Ledger { return f.ledger }

// Run feeds the ledger until ctx ends. Without one it waits for that.
func (f Feeder) Run(ctx context.Context) error {
	if f.ledger == nil {
		<-ctx.Done()
		return nil
	}
	f.ledger.Run(ctx)
	return nil
}
