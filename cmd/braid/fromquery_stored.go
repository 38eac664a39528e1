package main

import (
	"context"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// sameQuery knows the stored queries that are one query: they have its spec, but for the name and for how many requests were in flight
// and how long was waited, which change nothing in a table; and their definition is the one that it would have now.
type sameQuery struct {
	spec       *query.Spec
	definition string              // its digest
	collection *service.Collection // nil: not known here; then no query with since is known
	digests    map[variant]string  // of specs that differ so
}

// variant is in what the spec of a stored query may differ. Of one with since it is also what it goes on from.
type variant struct {
	name     string
	inFlight messages.InFlight
	wait     query.Duration
	full     bool
	base     string
	mark     time.Time
}

func (m *sameQuery) is(q *messages.Query) (bool, error) {
	s := m.spec
	if q.Definition != m.definition || q.Service != s.Service || q.Collection != s.Collection || q.MaxRows != s.MaxRows {
		return false, nil
	}
	fulls := []bool{false}
	if s.Since != nil {
		if m.collection == nil {
			return false, nil
		}
		fulls = []bool{false, true}
	}
	for _, full := range fulls {
		// The record's own wait is that of its last run, and may not be that of the spec any more.
		for _, wait := range []query.Duration{s.Run.OnQuota.WaitUpTo, query.Duration(q.WaitUpTo), query.Duration(forever)} {
			// Older versions pinned the number of requests at a time too.
			for _, inFlight := range []messages.InFlight{0, q.InFlight} {
				digest, err := m.digest(variant{q.Name, inFlight, wait, full, q.Base, q.Mark})
				if err != nil || digest == q.Spec {
					return err == nil, err
				}
			}
		}
	}
	return false, nil
}

func (m *sameQuery) digest(v variant) (string, error) {
	if digest, known := m.digests[v]; known {
		return digest, nil
	}
	spec := *m.spec.Lasting()
	spec.Name, spec.Run.InFlight, spec.Run.OnQuota.WaitUpTo = v.name, v.inFlight, v.wait
	if err := m.narrow(&spec, v); err != nil {
		return "", err
	}
	text, err := spec.Encode()
	if err != nil {
		return "", err
	}
	if m.digests == nil {
		m.digests = map[variant]string{}
	}
	m.digests[v] = service.Digest(text)
	return m.digests[v], nil
}

// narrow makes of a spec with since what a coordinator has pinned of it.
func (m *sameQuery) narrow(spec *query.Spec, v variant) error {
	if spec.Since == nil {
		return nil
	}
	narrowing, err := m.collection.Narrowing(spec.Values, spec.Since.Column)
	if err != nil {
		return err
	}
	since := *spec.Since
	since.Begin, since.Full = narrowing.Begin, v.full
	if v.base != "" {
		spec.Values = narrowing.After(spec.Values, v.mark.Add(-time.Duration(since.Overlap)))
	}
	spec.Since = &since
	return nil
}

// newest gives the newest complete query that is this one, else the newest that is not complete; nil: there is none.
func (m *sameQuery) newest(all []*messages.Status) (*messages.Status, error) {
	var unfinished *messages.Status
	for _, status := range all {
		same, err := m.is(status.Query)
		switch {
		case err != nil:
			return nil, err
		case !same:
		case status.Query.State == messages.Complete:
			return status, nil
		case unfinished == nil:
			unfinished = status
		}
	}
	return unfinished, nil
}

// stored finds what is kept of the query that feeds another; nil: it has not been run.
func (w *feeding) stored(ctx context.Context, source *prepared, definition string) (*messages.Status, error) {
	if w.session == nil || definition == "" {
		return nil, nil
	}
	all, err := w.session.Statuses(ctx)
	if err != nil {
		return nil, err
	}
	same := &sameQuery{spec: source.spec, definition: definition, collection: w.collection(source, definition)}
	return same.newest(all)
}

// collection is that of a query as its definition with this digest has it; nil: only a server has that definition.
func (w *feeding) collection(source *prepared, definition string) *service.Collection {
	if source.collection != nil {
		return source.collection
	}
	own, err := w.app.definitions().Pinned(source.spec.Service)
	if err != nil || service.Digest(own) != definition {
		return nil
	}
	d, err := service.OpenPinned(own)
	if err != nil {
		return nil
	}
	c, err := d.Collection(source.spec.Collection)
	if err != nil {
		return nil
	}
	return c
}
