package coordinator

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/quota"
	"github.com/braidhq/braid/pkg/service"
)

// Workers lists the workers that are there.
func (c *Coordinator) Workers(ctx context.Context) (*messages.WorkerList, error) {
	workers, err := c.ports.Boards.ListWorkers(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(workers, func(a, b *messages.Worker) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Instance, b.Instance))
	})
	list := &messages.WorkerList{V: messages.Version, Now: c.ports.Now(), Workers: workers}
	if workers == nil {
		list.Workers = []*messages.Worker{}
	}
	return list, nil
}

// Services lists the services that there are definitions of, and those that queries have used.
func (c *Coordinator) Services(ctx context.Context) (*messages.ServiceList, error) {
	board, err := c.board(ctx)
	if err != nil {
		return nil, err
	}
	list := &messages.ServiceList{V: messages.Version, Services: []*messages.ServiceView{}}
	for _, name := range board.names() {
		view, err := c.serviceView(ctx, board, name)
		if err != nil {
			return nil, err
		}
		list.Services = append(list.Services, view)
	}
	return list, nil
}

// Service tells how one service stands. The error wraps messages.ErrNotFound when there is no definition of it and no query has used it.
func (c *Coordinator) Service(ctx context.Context, name string) (*messages.ServiceView, error) {
	board, err := c.board(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(board.names(), name) {
		return nil, fmt.Errorf("service %.40q: %w: there is no definition of it, and no query has used it", name, messages.ErrNotFound)
	}
	return c.serviceView(ctx, board, name)
}

// board is what is known of all services.
type board struct {
	defined []string
	records map[string]*messages.Service
	holders map[string][]messages.SlotHolder
	queries map[string][]messages.ServiceQuery
}

func (c *Coordinator) board(ctx context.Context) (*board, error) {
	b := &board{records: map[string]*messages.Service{}, holders: map[string][]messages.SlotHolder{}, queries: map[string][]messages.ServiceQuery{}}
	if c.ports.Names != nil {
		b.defined = c.ports.Names.Names()
	}
	records, err := c.ports.Boards.ListServices(ctx)
	if err != nil {
		return nil, err
	}
	for _, record := range records {
		b.records[record.Name] = record
	}
	err = c.ports.Boards.EachHolder(ctx, func(slot lease.SlotName, h lease.Holding) {
		b.holders[slot.Service] = append(b.holders[slot.Service], messages.SlotHolder{
			Slot: slot.Index, Capacity: slot.Capacity, Worker: messages.Text(h.Worker), Since: h.Since,
		})
	})
	if err != nil {
		return nil, err
	}
	all, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, q := range all {
		one := messages.ServiceQuery{ID: q.ID, Name: q.Name, State: q.State}
		if q.Stop != nil && !q.State.Active() && q.State != messages.Complete {
			one.Tripped = q.Stop.Tripped
		}
		if q.State.Active() || q.ResumesByItself() || one.Tripped != nil {
			b.queries[q.Service] = append(b.queries[q.Service], one)
		}
	}
	return b, nil
}

// names gives the services that are defined, have a record, or have queries to be shown.
func (b *board) names() []string {
	names := slices.Clone(b.defined)
	for name := range b.records {
		names = append(names, name)
	}
	for name := range b.queries {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (c *Coordinator) serviceView(ctx context.Context, b *board, name string) (*messages.ServiceView, error) {
	v := &messages.ServiceView{
		V: messages.Version, Name: name, Holders: append([]messages.SlotHolder{}, b.holders[name]...), Pools: []messages.QuotaStanding{},
		Queries: append([]messages.ServiceQuery{}, b.queries[name]...),
	}
	slices.SortFunc(v.Holders, func(x, y messages.SlotHolder) int {
		return cmp.Or(cmp.Compare(x.Capacity, y.Capacity), cmp.Compare(x.Slot, y.Slot))
	})
	if record := b.records[name]; record != nil {
		v.Slots, v.Explicit, v.LeaseTTL = record.Slots, record.Explicit, record.LeaseTTL
	}
	gate, err := c.ports.Boards.Gate(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", name, err)
	}
	if gate != nil && gate.Until.After(c.ports.Now()) {
		v.Gate = gate
	}
	d := c.definition(b, name)
	if d == nil {
		v.Unknown = true
		return v, nil
	}
	v.Title, v.URL, v.Docs = messages.Text(d.Title), messages.Text(d.BaseURL), messages.Text(d.Docs)
	for _, collection := range d.Collections {
		v.Collections = append(v.Collections, collection.Name)
	}
	return v, c.pools(ctx, d, v)
}

// definition opens the definition of a service; nil when there is none, or none that can be read.
func (c *Coordinator) definition(b *board, name string) *service.Definition {
	if !slices.Contains(b.defined, name) {
		return nil
	}
	d, err := c.Definition(name)
	if err != nil {
		c.log.Debug("a service definition cannot be read", "service", name, "error", err)
		return nil
	}
	return d
}

// Definition opens the definition of a service as queries that are submitted now are planned by it. The error names the nearest names.
func (c *Coordinator) Definition(name string) (*service.Definition, error) {
	text, err := c.ports.Definitions.Pinned(name)
	if err != nil {
		return nil, err
	}
	return c.ports.Library.Open(text)
}

// pools tells how the quota pools of a service stand, of all whose accounts there are.
func (c *Coordinator) pools(ctx context.Context, d *service.Definition, v *messages.ServiceView) error {
	if c.ports.Quotas == nil {
		return nil
	}
	now := c.ports.Now()
	for _, declared := range d.Quotas {
		ledgers, err := c.ports.Quotas.PoolQuotas(ctx, declared.Pool)
		if err != nil {
			return fmt.Errorf("service %s: %w", v.Name, err)
		}
		for _, ledger := range ledgers {
			v.Pools = append(v.Pools, quota.Standing(ledger, now))
		}
	}
	slices.SortFunc(v.Pools, func(x, y messages.QuotaStanding) int {
		return cmp.Or(cmp.Compare(x.Pool, y.Pool), cmp.Compare(x.Owner, y.Owner))
	})
	v.Pools = slices.CompactFunc(v.Pools, func(x, y messages.QuotaStanding) bool { return x.Pool == y.Pool && x.Owner == y.Owner })
	return nil
}
