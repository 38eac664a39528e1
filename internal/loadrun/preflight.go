package loadrun

import (
	"fmt"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// prepareChecks names the executions that come before all others, one of each chart and role (LR-7.9).
func (d *course) prepareChecks() {
	d.checks = map[int]bool{}
	if !d.at.run.Profile.Preflight {
		return
	}
	for _, n := range d.paper.selection.Preflight(d.at.run.Charts) {
		d.checks[n] = false
	}
	d.left = len(d.checks)
}

// check takes in the record of a number, in case it is of the preflight.
func (d *course) check(e *load.Execution) {
	seen, is := d.checks[e.Number]
	if !is || seen {
		return
	}
	d.checks[e.Number] = true
	d.left--
	if e.Outcome != load.Success && d.failed == nil && d.at.run.State == load.Preparing {
		d.failed = e
	}
}

// failReason says what the preflight met, for people.
func (d *course) failReason() string {
	e := d.failed
	as := ""
	if e.Role != "" {
		as = " as " + e.Role
	}
	what := string(e.Outcome)
	if e.Kind != "" {
		what = e.Kind
	}
	text := fmt.Sprintf("the preflight failed: chart %d%s: %s", e.Chart, as, what)
	if e.Message != "" {
		text += ": " + e.Message
	}
	return messages.Text(text)
}
