package main

import (
	"strconv"

	"github.com/spf13/pflag"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/query"
)

// spending is how much of a service's quota a run may take, and how it goes on after a failure.
type spending struct {
	maxRequests, holdBack int64
	onFailure             string
}

func (s *spending) flags(flags *pflag.FlagSet, maxRequests string) {
	flags.Int64Var(&s.maxRequests, "max-requests", 0, maxRequests)
	flags.Int64Var(&s.holdBack, "hold-back", 0, "requests of each quota that are left for others; 0: none (default: as the query says)")
	flags.StringVar(&s.onFailure, "on-failure", "", "after a chunk has failed for good: stop, or finish the others (default: as the query says, else stop)")
}

// given is what was said of it by flags and environment, and with file in the settings file, which is for queries that say nothing.
// Nil members and empty ones were not said.
func (s *spending) given(a *app, file bool) (*query.Resumption, error) {
	all := new(query.Resumption)
	said := func(name string) bool {
		origin := a.origins[name]
		return origin != settings.FromDefault && (file || origin != settings.FromFile)
	}
	if said("max-requests") {
		if err := query.CheckBound(s.maxRequests, query.MaxRequests); err != nil {
			return nil, usage("--max-requests: %w", err)
		}
		all.MaxRequests = &s.maxRequests
	}
	if said("hold-back") {
		if err := query.CheckHoldBack(s.holdBack); err != nil {
			return nil, usage("--hold-back: %w", err)
		}
		all.HoldBack = &s.holdBack
	}
	if said("on-failure") {
		all.OnFailure = query.OnFailure(s.onFailure)
		if err := all.OnFailure.Check(); err != nil {
			return nil, usage("--on-failure: %w", err)
		}
	}
	return all, nil
}

// apply puts it into a query: flag and environment outrank what its file says.
func (s *spending) apply(a *app, spec *query.Spec) error {
	all, err := s.given(a, true)
	if err != nil {
		return err
	}
	outranked := func(name string, says bool) bool { return says && a.origins[name] == settings.FromFile }
	run := &spec.Run
	if all.MaxRequests != nil && !outranked("max-requests", run.MaxRequests > 0) {
		run.MaxRequests = *all.MaxRequests
	}
	if all.HoldBack != nil && !outranked("hold-back", run.HoldBack > 0) {
		run.HoldBack = *all.HoldBack
	}
	if all.OnFailure != "" && !outranked("on-failure", run.OnFailure != "") {
		run.OnFailure = all.OnFailure
	}
	return nil
}

// words are the flags as they were given.
func (s *spending) words(a *app) []string {
	var words []string
	for _, given := range []struct{ name, value string }{
		{"max-requests", strconv.FormatInt(s.maxRequests, 10)},
		{"hold-back", strconv.FormatInt(s.holdBack, 10)},
		{"on-failure", s.onFailure},
	} {
		if a.origins[given.name] == settings.FromFlag {
			words = append(words, "--"+given.name, quoteArg(given.value))
		}
	}
	return words
}
