package coordinator

import (
	"context"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/quota"
)

const maxToldQuotas = 8

// quotas tells what is left of the pools of the driver's service: of several owners of one pool, that of the newest change.
// Nothing that is correct depends on it.
func (d *driver) quotas(ctx context.Context) []messages.PoolLeft {
	if d.c.ports.Quotas == nil || d.at.query == nil || !d.at.query.State.Active() {
		return nil
	}
	var told []messages.PoolLeft
	for _, declared := range d.pinned.definition.Quotas {
		if len(told) == maxToldQuotas {
			break
		}
		ledgers, err := d.c.ports.Quotas.PoolQuotas(ctx, declared.Pool)
		if err != nil {
			return told
		}
		var newest *messages.QuotaLedger
		for _, ledger := range ledgers {
			if newest == nil || ledger.Latest > newest.Latest {
				newest = ledger
			}
		}
		if newest == nil {
			continue
		}
		if s := quota.Standing(newest, d.c.ports.Now()); s.Limit > 0 {
			told = append(told, messages.PoolLeft{Pool: s.Pool, Left: s.Left, Limit: s.Limit})
		}
	}
	return told
}
