package ledger

import (
	"context"

	"github.com/jackc/pgx/v5"
)

func findingsOf(ctx context.Context, tx pgx.Tx, keys []groupKey) error { return nil }
