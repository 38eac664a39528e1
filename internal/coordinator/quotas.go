package coordinator

import (
	"context"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/quota"
)

const maxToldQuotas = 8

// quotas tells what is left of the pools of the driver's service: of several owners of one pool, that of the newest change.
// Nothing that is correct depends on it. Of a run that has ended nothing is told: what its workers spent last is told of later.
func (d *driver) quotas(ctx context.Context) []messages.PoolLeft {
	if d.c.ports.Quotas == nil || d.at.query == nil || !d.at.query.State.Active() || d.ended {
		return nil
	}
	var told []messages.PoolLeft
	for _, declared := range d.pinned.definition.Quotas {
		if len(told) == maxToldQuotas {
			break
		}
		s, err := d.c.standing(ctx, declared.Pool)
		if err != nil {
			return told
		}
		if s != nil && s.Limit > 0 && s.Left != nil {
			told = append(told, messages.PoolLeft{Pool: s.Pool, Left: *s.Left, Limit: s.Limit})
		}
	}
	return told
}

// withoutStale is a query's progress without what was left of quotas, where that does not matter any more: it stood so before
// the last spends were told of.
func withoutStale(p *messages.Progress, q *messages.Query) *messages.Progress {
	if p == nil || len(p.Quotas) == 0 || q.NeedsQuota() {
		return p
	}
	ended := *p
	ended.Quotas = nil
	return &ended
}

// standing tells how a pool stands: of several owners' accounts, that of the newest change. Nil: there is none.
func (c *Coordinator) standing(ctx context.Context, pool string) (*messages.QuotaStanding, error) {
	ledgers, err := c.ports.Quotas.PoolQuotas(ctx, pool)
	if err != nil {
		return nil, err
	}
	var newest *messages.QuotaLedger
	for _, ledger := range ledgers {
		if newest == nil || ledger.Latest > newest.Latest {
			newest = ledger
		}
	}
	if newest == nil {
		return nil, nil
	}
	s := quota.Standing(newest, c.ports.Now())
	return &s, nil
}
