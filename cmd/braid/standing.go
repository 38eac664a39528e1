package main

import (
	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

// outranks tells whether a setting holds against what a query says by itself: flag and environment do, and the settings file
// is for queries that say nothing.
func (a *app) outranks(setting string, said bool) bool {
	switch a.origins[setting] {
	case settings.FromFlag, settings.FromEnv:
		return true
	case settings.FromContext, settings.FromFile:
		return !said
	case settings.FromDefault:
	}
	return false
}

// askStanding puts into a query how it is to stand at its service: requests at a time, priority and weight.
func (a *app) askStanding(spec *query.Spec) {
	run := &spec.Run
	// The settings file of this process is read at each start and resume anew, see defaultInFlight; a server does not know it.
	if a.outranks("in-flight", run.InFlight != 0 || a.server == "") {
		run.InFlight = a.embedded.inFlight
	}
	if a.outranks("priority", run.Priority != nil) {
		run.Priority = new(a.embedded.priority)
	}
	if a.outranks("weight", run.Weight != 0) {
		run.Weight = a.embedded.weight
	}
}

// askAgain is askStanding for a query that is resumed, or run again in part.
func (a *app) askAgain(again *query.Resumption, q *messages.Query) {
	if a.outranks("in-flight", q.InFlight != 0 || a.server == "") {
		again.InFlight = new(a.embedded.inFlight)
	}
	if a.outranks("priority", q.Priority != 0) {
		again.Priority = new(a.embedded.priority)
	}
	if a.outranks("weight", q.Weight != 0) {
		again.Weight = new(a.embedded.weight)
	}
}

// operatorsInFlight is the number that holds for all queries of this process, whatever they ask for; 0: there is none.
func (a *app) operatorsInFlight() messages.InFlight {
	if a.origins["in-flight"] == settings.FromFile {
		return 0
	}
	return a.embedded.inFlight
}

// defaultInFlight is the number that holds for queries of this process that ask for none, whatever the definition says; 0: there is none.
func (a *app) defaultInFlight() messages.InFlight {
	if a.origins["in-flight"] == settings.FromFile {
		return a.embedded.inFlight
	}
	return 0
}
