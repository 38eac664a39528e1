package main

import (
	"context"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// sameQuery knows the stored queries that are one query: they have its spec, but for the name and for how many requests were in flight
// and how long was waited, which change nothing in a table; and their definition is the one that it would have now.
type sameQuery struct {
	spec       *query.Spec
	definition string             // its digest
	digests    map[variant]string // of specs that differ so
}

// variant is in what the spec of a stored query may differ.
type variant struct {
	name     string
	inFlight int
	wait     query.Duration
}

func (m *sameQuery) is(q *messages.Query) (bool, error) {
	s := m.spec
	if q.Definition != m.definition || q.Service != s.Service || q.Collection != s.Collection || q.MaxRows != s.MaxRows {
		return false, nil
	}
	// The record's own wait is that of its last run, and may not be that of the spec any more.
	for _, wait := range []query.Duration{s.Run.OnQuota.WaitUpTo, query.Duration(q.WaitUpTo), query.Duration(forever)} {
		digest, err := m.digest(variant{q.Name, q.InFlight, wait})
		if err != nil || digest == q.Spec {
			return err == nil, err
		}
	}
	return false, nil
}

func (m *sameQuery) digest(v variant) (string, error) {
	if digest, known := m.digests[v]; known {
		return digest, nil
	}
	spec := *m.spec
	spec.Name, spec.Run.InFlight, spec.Run.OnQuota.WaitUpTo = v.name, v.inFlight, v.wait
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
func (w *feeding) stored(ctx context.Context, spec *query.Spec, definition string) (*messages.Status, error) {
	if w.session == nil || definition == "" {
		return nil, nil
	}
	all, err := w.session.Statuses(ctx)
	if err != nil {
		return nil, err
	}
	same := &sameQuery{spec: spec, definition: definition}
	return same.newest(all)
}
