package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// commit ends a transaction, and is not interrupted: who stops now would not know what is there. When the connection is lost on the
// way the server is asked again what became of it.
func (t Target) commit(ctx context.Context, conn *pgx.Conn, tx pgx.Tx) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	var id int64
	if err := tx.QueryRow(ctx, "SELECT pg_catalog.txid_current()").Scan(&id); err != nil {
		return t.explain(ctx, err, "commit")
	}
	err := tx.Commit(ctx)
	var server *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &server), errors.Is(err, pgx.ErrTxCommitRollback):
		return t.explain(ctx, err, "commit")
	}
	closeConn(ctx, conn)
	return t.settle(ctx, id, err)
}

// settle asks what became of a transaction whose end was not told.
func (t Target) settle(ctx context.Context, id int64, lost error) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	unknown := t.fail(ErrFailed, lost, "the connection was lost while the rows were committed (%s), and the server cannot be asked what became of them: look whether they are there before you write them again", cause(lost))
	conn, err := t.connect(ctx)
	if err != nil {
		return unknown
	}
	defer closeConn(ctx, conn)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		var status *string
		if err := conn.QueryRow(ctx, "SELECT pg_catalog.txid_status($1::bigint)", id).Scan(&status); err != nil || status == nil {
			return unknown
		}
		switch *status {
		case "committed":
			return nil
		case "aborted":
			return t.fail(ErrFailed, lost, "the connection was lost while the rows were committed (%s); nothing was changed, try again", cause(lost))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return unknown
		}
	}
}
