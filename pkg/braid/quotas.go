package braid

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/quota"
)

// Quotas tells how the quota pools stand that queries have spent, in the order of pool and owner.
func (l *Local) Quotas(ctx context.Context) (*messages.QuotaList, error) {
	ledgers, err := l.bus.ListQuotas(ctx)
	if err != nil {
		return nil, err
	}
	list := &messages.QuotaList{V: messages.Version, Quotas: []messages.QuotaStanding{}}
	now := l.bus.Now()
	for _, ledger := range ledgers {
		list.Quotas = append(list.Quotas, quota.Standing(ledger, now))
	}
	slices.SortFunc(list.Quotas, func(a, b messages.QuotaStanding) int {
		return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Owner, b.Owner))
	})
	return list, nil
}

// Quotas tells how the quota pools stand that queries have spent.
func (c *Client) Quotas(ctx context.Context) (*messages.QuotaList, error) {
	return call(ctx, c, http.MethodGet, apiPath+"quotas", nil, maxListBytes, messages.DecodeQuotaList)
}
