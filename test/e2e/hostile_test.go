//go:build unix

package e2e

import (
	"testing"

	"github.com/braidhq/braid/internal/simulator"
)

// hostile is one way in which a service answers wrongly: at the second request, and from there on or only once.
type hostile struct {
	ask   string // which asking
	kind  simulator.FaultKind
	first bool     // it strikes from the first request
	total bool     // the service tells how many rows there are
	ever  int      // exit code when it goes on for ever; 0: the table is right all the same
	once  int      // exit code when it strikes once
	says  []string // when the table is not complete
}

// passing is trouble that is over when it is over: one of it costs a request and nothing else.
func passing(ask string, kind simulator.FaultKind, ever int, says ...string) hostile {
	return hostile{ask: ask, kind: kind, ever: ever, says: says}
}

// lasting is an answer that would come again: one of it ends the query.
func lasting(ask string, kind simulator.FaultKind, says ...string) hostile {
	return hostile{ask: ask, kind: kind, ever: 3, once: 3, says: says}
}

func hostiles() []hostile {
	return []hostile{
		passing("daily", simulator.FaultRepeatedNext, 3, "circle"),
		passing("stations", simulator.FaultRepeatedNext, 3, "circle"),
		passing("daily", simulator.FaultCyclicNext, 3, "circle"),
		passing("stations", simulator.FaultCyclicNext, 3, "circle"),
		passing("daily", simulator.FaultEmptyPage, 0),
		passing("stations", simulator.FaultEmptyPage, 0),
		passing("readings", simulator.FaultClampedLimit, 0),
		{ask: "events", kind: simulator.FaultClampedLimit, first: true},
		passing("events", simulator.FaultClampedLimit, 0),
		lasting("daily", simulator.FaultForeignNext, "elsewhere.invalid", "127.0.0.1"),
		lasting("alerts", simulator.FaultForeignNext, "elsewhere.invalid", "127.0.0.1"),
		lasting("water-use", simulator.FaultForeignNext, "elsewhere.invalid", "127.0.0.1"),
		lasting("water-use", simulator.FaultAliasNext, "water.usgs.gov", "127.0.0.1"),
		lasting("daily", simulator.FaultBadLink, "no URL"),
		passing("water-use", simulator.FaultBadLink, 3, "Link is malformed"),
		passing("daily", simulator.FaultHTML, 75, "HTML"),
		passing("readings", simulator.FaultHTML, 75, "HTML"),
		passing("alerts", simulator.FaultHTML, 75, "HTML"),
		passing("daily", simulator.FaultTruncated, 75),
		passing("readings", simulator.FaultTruncated, 75),
		passing("daily", simulator.FaultCutJSON, 75, "JSON"),
		passing("alerts", simulator.FaultCutJSON, 75),
		passing("daily", simulator.FaultEmptyBody, 75),
		passing("readings", simulator.FaultEmptyBody, 75),
		passing("stations", simulator.FaultCharset, 75, "UTF-8"),
		passing("readings", simulator.FaultCharset, 75, "UTF-8"),
		passing("stations", simulator.FaultDeclaredCharset, 0),
		passing("readings", simulator.FaultRaggedRows, 3, "line"),
		passing("water-use", simulator.FaultRaggedRows, 3, "line"),
		passing("readings", simulator.FaultDoubleHeader, 3, "station", "twice"),
		passing("stations", simulator.FaultCursorGone, 75, "expired"),
		passing("daily", simulator.FaultWrongCount, 3, "401"),
		{ask: "daily", kind: simulator.FaultWrongTotal, total: true, ever: 3, says: []string{"1099"}},
		{ask: "events", kind: simulator.FaultWrongTotal, ever: 3, says: []string{"24"}},
		passing("levels", simulator.FaultTrailingNext, 0),
		passing("daily", simulator.FaultErrorIn200, 3, "ComplexityException", "rows.at"),
		{ask: "daily", kind: simulator.FaultRedirectLoop, ever: 3, says: []string{"more than 5 redirects", "127.0.0.1"}},
		lasting("daily", simulator.FaultRedirect, "elsewhere.invalid", "127.0.0.1"),
		passing("daily", simulator.Fault500, 75, "500"),
		passing("daily", simulator.Fault503, 75, "503"),
		passing("daily", simulator.FaultResetAfter, 75),
	}
}

func TestHostileAnswersNeverMakeAWrongTable(t *testing.T) {
	t.Parallel()
	want := calm(t, "csv")
	all := hostiles()
	if testing.Short() {
		all = all[:4]
	}
	for _, h := range all {
		t.Run(h.ask+" "+string(h.kind)+" for ever", func(t *testing.T) {
			t.Parallel()
			h.strike(t, 0, h.ever, want[h.ask+".csv"])
		})
		t.Run(h.ask+" "+string(h.kind)+" once", func(t *testing.T) {
			t.Parallel()
			h.strike(t, 1, h.once, want[h.ask+".csv"])
		})
	}
}

// strike runs the asking with the fault, so many times or for ever: the table is the undisturbed one, or there is none, and
// when the trouble is over a resume writes it.
func (h hostile) strike(t *testing.T, times, code int, want []byte) {
	t.Helper()
	a := askings()[h.ask]
	fault := simulator.Fault{Kind: h.kind, After: 1, Times: times}
	if h.first {
		fault.After = 0
	}
	a.config.Faults, a.config.CountMatched = []simulator.Fault{fault}, h.total
	up := newUpstream(t, a.config)
	d := suspiciousDesk(t, up)
	d.write("q.yaml", a.query)
	o := d.run("run", "q.yaml", "-o", "t.csv").mustExit(t, code)
	t.Logf("%d requests\n%s", up.Counters().Requests, o.stderr)
	if up.Counters().Faults[h.kind] == 0 {
		t.Error("the fault has never struck")
	}
	if code == 0 {
		d.mustEqual("t.csv", want)
		return
	}
	o.mustSay(t, h.says...).mustSay(t, "braid resume")
	d.mustHaveNoTable("t.csv")
	if times != 0 {
		return
	}
	up.change(t, func(c *simulator.Config) { c.Faults = nil })
	d.run("resume").mustExit(t, 0)
	d.mustEqual("t.csv", want)
}
