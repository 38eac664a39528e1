package braid

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/retry"
	"github.com/braidhq/braid/pkg/service"
)

// upstreams opens the definitions that items name, each once.
type upstreams struct {
	library      *service.Library
	definition   func(ctx context.Context, digest string) ([]byte, error)
	fetchers     fetchers // of the program that runs the worker
	environments *environments
	connect      func(*service.Collection, *http.Transport) (service.Adapter, error)
	transport    func(*service.Definition) *http.Transport
	pools        pools

	mu   sync.Mutex // guards open
	open map[string]*opened
}

// opened is one pinned definition: its collections share their connections.
type opened struct {
	definition  *service.Definition
	transport   *http.Transport
	collections map[string]*worker.Upstream
}

const maxOpen = 64 // definitions at a time; one is some hundred kilobytes

// Upstream is worker.Upstreams'.
func (u *upstreams) Upstream(ctx context.Context, item *messages.Item) (*worker.Upstream, error) {
	u.mu.Lock()
	o := u.open[item.Definition]
	u.mu.Unlock()
	if o == nil {
		text, err := u.definition(ctx, item.Definition)
		if err != nil {
			return nil, err
		}
		d, err := u.library.Open(text)
		if err != nil {
			return nil, refuse(fmt.Errorf("service definition: %w", err))
		}
		o = &opened{definition: d, transport: u.transport(d), collections: map[string]*worker.Upstream{}}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if have := u.open[item.Definition]; have != nil {
		o = have // somebody else was faster
	} else {
		u.forgetOne()
		u.open[item.Definition] = o
	}
	if have := o.collections[item.Collection]; have != nil {
		return have, nil
	}
	up, err := u.upstream(o, item)
	if err != nil {
		return nil, err
	}
	o.collections[item.Collection] = up
	return up, nil
}

func (u *upstreams) upstream(o *opened, item *messages.Item) (*worker.Upstream, error) {
	collection, err := o.definition.Collection(item.Collection)
	if err != nil {
		return nil, refuse(err)
	}
	adapter, have := u.fetchers.find(item.Service, o.definition.Adapter)
	if !have && o.definition.Adapter == service.AdapterSuperset {
		if adapter, err = u.environments.of(item.Definition, o.definition); err != nil {
			return nil, refuse(err)
		}
		have = true
	}
	if !have {
		// Not the item's fault: it is left for a worker that has the adapter.
		return nil, fmt.Errorf("the service %s is spoken to by the adapter %q, which is not compiled into this worker", item.Service, o.definition.Adapter)
	}
	if adapter == nil {
		if adapter, err = u.connect(collection, o.transport); err != nil {
			if _, refused := errors.AsType[*service.ResponseError](err); refused {
				return nil, err
			}
			return nil, refuse(err)
		}
	}
	up := &worker.Upstream{
		Adapter: adapter, Gate: gateName(o.definition), Retry: policy(o.definition.Retry), QuotaWait: time.Hour,
		MaxPages: collection.Paging().MaxPages, PageRows: int64(collection.Limits.PageRows), RepeatEnd: collection.Paging().Repeat == service.RepeatEnd,
		CountedPages: collection.Paging().Style == service.PagingPage || collection.Paging().Style == service.PagingOffset,
		CursorTTL:    collection.Paging().CursorTTL, Pools: u.pools.of(o.definition),
	}
	if quotas := o.definition.Quotas; len(quotas) > 0 {
		up.QuotaWait = quotas[0].Window
	}
	return up, nil
}

// forgetOne makes room; connections that are in use end by themselves.
func (u *upstreams) forgetOne() {
	for digest, o := range u.open {
		if len(u.open) < maxOpen {
			return
		}
		o.transport.CloseIdleConnections()
		delete(u.open, digest)
	}
}

// refuse turns what is wrong with a definition into a failure of the items that name it.
func refuse(err error) error {
	return &service.ResponseError{Class: service.ClassBadRequest, Message: err.Error(), Err: err}
}

// gateName names the gate of a service at one address.
func gateName(d *service.Definition) string {
	return d.Name[:min(len(d.Name), 48)] + "-" + service.Digest([]byte(d.BaseURL))[:8]
}

// policy is how often a service's requests are sent again: the definition's numbers, and the bounds it has no words for.
func policy(declared service.Retry) retry.Policy {
	p := retry.Default()
	// A definition counts attempts, the first one included; a policy counts what comes after it.
	p.Attempts, p.Base, p.Cap = declared.Attempts-1, declared.Base, declared.Cap
	return p
}
