package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/braidhq/braid/internal/output/postgres"
	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// written is one file that the table went to.
type written struct {
	Path   string        `json:"path"`
	Format string        `json:"format"`
	Bytes  int64         `json:"bytes"`
	SHA256 string        `json:"sha256,omitempty"` // of the file, in hex
	Report *frame.Report `json:"report"`

	Postgres *postgres.Written `json:"postgres,omitempty"` // what became of a table in a database
}

// summary is what --json prints of a query that has settled.
type summary struct {
	MessageType string             `json:"message_type"`
	Query       *messages.Query    `json:"query"`
	Progress    *messages.Progress `json:"progress"`
	Outputs     []written          `json:"outputs,omitempty"`
	Continue    string             `json:"continue,omitempty"`
	// complete although chunks are left: its first max_rows rows are there
	LimitReached bool `json:"limit_reached,omitempty"`
	// Beside the table: what came of each value, and what the table is made of.
	CoverageFile string   `json:"coverage_file,omitempty"`
	ManifestFile string   `json:"manifest_file,omitempty"`
	Broken       []string `json:"broken_rules,omitempty"` // of verify
}

// sum tells how a query stands at the end: with --json on stdout, and with --progress json on stderr too.
func (a *app) sum(s summary) error {
	if a.progress == "json" {
		fmt.Fprintln(a.stderr, jsonText(s))
	}
	if !a.json {
		return nil
	}
	return a.printJSON(s)
}

// resumeHint is the exact command that goes on with a query.
func (a *app) resumeHint(q *messages.Query, wait bool) string {
	command := "braid resume " + q.ID + a.whereHint()
	if wait || a.waits {
		command += " --wait"
	}
	return command
}

// exportHint is the command that writes a complete query's table.
func (a *app) exportHint(id string) string { return "braid results " + id + " -o FILE" + a.whereHint() }

// whereHint are the flags with which another command finds the same queries.
func (a *app) whereHint() string {
	switch {
	case a.server != "" && a.origins["server"] == settings.FromContext && a.picked.from == settings.FromFile:
		return "" // the selected context
	case a.server != "" && a.origins["server"] == settings.FromContext:
		return " --context " + a.picked.name
	case a.server != "":
		return " --server " + a.server
	case (a.picked.from == settings.FromFlag || a.picked.from == settings.FromEnv) && a.selectedContext() != "":
		return " --context " + thisMachine
	}
	if home, err := userDir(a.getenv, "XDG_DATA_HOME", ".local/share"); err != nil || home != a.dataDir {
		return " --data-dir " + quoteArg(a.dataDir)
	}
	return ""
}

// notComplete tells how a query that did not complete stands, and gives the exit code as an error. asked: this process was asked to
// stop, whatever the query waited for.
func (a *app) notComplete(s *messages.Status, asked bool) error {
	q, p := s.Query, s.Progress
	next := q.ResumeAt()
	if asked && !next.IsZero() {
		a.line("stopped", "this process was asked to stop")
	}
	code := a.because(q)
	a.line("kept", "%s", kept(p.Completed, q.Chunks, p.KeptPages))
	if !next.IsZero() && code == exitPaused {
		a.line("next", "%s (%s)", moment(next), in(time.Until(next)))
		if asked {
			code = exitInterrupted
		}
	}
	for _, step := range a.nextSteps(q) {
		a.line(step.label, "%s", step.text)
	}
	if err := a.sum(summary{MessageType: "summary", Query: q, Progress: p, Continue: a.resumeHint(q, stoppedForQuota(q))}); err != nil {
		return err
	}
	return &exitError{code: code, err: errors.New(string(q.State)), said: true}
}

// because says why the query does not run, and gives the exit code that tells it to scripts.
func (a *app) because(q *messages.Query) int {
	stop := q.Stop
	switch {
	case q.State == messages.Failed && stop.Kind == messages.StopBreaker:
		a.line("error", "%s", failureText(stop))
		return exitIncomplete
	case q.State == messages.Failed:
		a.line("error", "chunk %s failed: %s", stop.Position, failureText(stop))
		if stop.Class == string(service.ClassAuth) {
			return exitCredentials
		}
		return exitIncomplete
	case stop == nil:
		a.line("stopped", "the query %s", standing(q.State))
		return exitIncomplete
	case q.State == messages.Cancelled:
		a.line("stopped", "%s", stop.Reason)
		return exitIncomplete
	case stop.Kind == messages.StopDrained:
		a.line("stopped", "%s", stop.Reason)
		return exitInterrupted
	case stop.Kind == messages.StopRetried:
		a.line("stopped", "%s", stop.Reason)
		return exitIncomplete
	case stop.Kind == messages.StopBudget:
		a.line("budget", "%s", stop.Reason)
		return exitBudget
	case stop.Kind == messages.StopDamaged:
		a.line("error", "%s", stop.Reason)
		return exitIncomplete
	case stop.Kind == string(messages.StoreFull):
		a.line("paused", "%s", failureText(stop))
	case stoppedForQuota(q):
		a.line("paused", "the quota of %s is used up: %s", q.Service, failureText(stop))
	case strings.HasPrefix(stop.Reason, "chunk "), q.GaveUp(): // the service answers others
		a.line("paused", "%s", stop.Reason)
	default:
		a.line("paused", "%s was interrupted: %s", q.Service, failureText(stop))
	}
	return exitPaused
}

// standing says how a query stands, behind the words "the query".
func standing(state messages.QueryState) string {
	if state == messages.Failed {
		return "has failed"
	}
	return "is " + string(state)
}

func stoppedForQuota(q *messages.Query) bool {
	return q.Stop != nil && q.Stop.Kind == string(messages.QuotaExhausted)
}

// kept says what a resume will not ask for again.
func kept(completed, chunks int, pages int64) string {
	all := count(int64(chunks), "chunk")
	under := ""
	if pages > 0 {
		under = fmt.Sprintf(" and %s of those under way", count(pages, "page"))
	}
	switch {
	case completed == 0 && pages == 0:
		return "nothing yet: none of " + all + " was complete"
	case completed == 1 && pages == 0:
		return "1 of " + all + "; it will not be asked for again"
	}
	return thousands(int64(completed)) + " of " + all + under + "; none of them will be asked for again"
}

// step is one thing that a person can do about a query.
type step struct{ label, text string }

// nextSteps are the exact commands that lead on from where the query stands. A resume runs the query and the service
// definition as they were submitted: what has been corrected since is another query.
func (a *app) nextSteps(q *messages.Query) []step {
	resume := a.resumeHint(q, stoppedForQuota(q))
	switch q.State {
	case messages.Complete:
		return []step{{"export", a.exportHint(q.ID)}}
	case messages.Cancelled:
		return []step{{"continue", resume}, {"remove", "braid rm " + q.ID + a.whereHint()}}
	case messages.Failed:
		return append(failedSteps(q, resume), step{"failed", "braid failed " + q.ID + a.whereHint() + " lists what failed"})
	case messages.Interrupted:
		if q.ResumesByItself() {
			return nil
		}
		if q.Stop != nil && (q.Stop.Kind == messages.StopBreaker || q.GaveUp()) && q.Stop.Hint != "" {
			return []step{{"do", q.Stop.Hint}, {"continue", resume}}
		}
		if q.Stop != nil && q.Stop.Kind == messages.StopBudget {
			resume += " --max-requests " + strconv.FormatInt(max(1, q.MaxRequests), 10)
		}
		if q.Stop != nil && q.Stop.Kind == messages.StopDamaged {
			return []step{{"check", "braid verify" + a.whereHint() + " (other queries of this store may have lost results too)"}, {"continue", resume}}
		}
		return []step{{"continue", resume}}
	case messages.Running, messages.Stopping:
	}
	return nil
}

func failedSteps(q *messages.Query, resume string) []step {
	stop := q.Stop
	var steps []step
	if stop.Class == string(service.ClassAuth) {
		if stop.Hint != "" {
			steps = append(steps, step{"do", stop.Hint})
		}
		return append(steps, step{"continue", resume})
	}
	do := "correct the query and run it anew (braid run QUERY.yaml)"
	if stop.Class == string(service.ClassBadPage) && stop.Hint == "" { // what came is not what the definition says
		do = fmt.Sprintf("compare the service definition %s, collection %s, with the answers; correct it, and run the query anew (braid run QUERY.yaml)", q.Service, q.Collection)
	}
	if stop.Hint != "" {
		do = stop.Hint + "; " + do
	}
	if stop.Kind == messages.StopBreaker {
		return []step{{"do", do}, {"again", resume + " tries again as it is"}}
	}
	return []step{{"do", do}, {"again", resume + " tries this one again as it is"}}
}

// failureText is what went wrong, with the status of the answer unless the text has it.
func failureText(stop *messages.Stop) string {
	status := fmt.Sprintf("HTTP %d", stop.Status)
	switch {
	case stop.Status == 0 || strings.Contains(stop.Reason, status):
		return stop.Reason
	case stop.Reason == "":
		return status
	}
	return stop.Reason + " (" + status + ")"
}

func in(d time.Duration) string {
	if d <= 0 {
		return "now"
	}
	return "in " + span(d)
}

// complete tells what the finished table is.
func (a *app) complete(s *messages.Status, outputs []written, p *proof, took time.Duration) error {
	rows := s.Progress.Rows
	for _, o := range outputs {
		rows = o.Report.Rows
	}
	a.line("complete", "%s  ·  %s  ·  %s", count(rows, "row"), requestsText(s.Progress), span(took))
	for _, o := range outputs {
		if o.Path != "-" {
			a.line("table", "%s (%s)", o.Path, o.size())
		}
	}
	if len(outputs) == 0 {
		a.line("export", "%s", a.exportHint(s.Query.ID))
	}
	return a.described(s, outputs, p)
}

// exported tells what a table is that was written from what is kept.
func (a *app) exported(s *messages.Status, outputs []written, p *proof) error {
	for _, o := range outputs {
		if o.Path == "-" {
			a.line("table", "%s", count(o.Report.Rows, "row"))
		} else {
			a.line("table", "%s (%s, %s)", o.Path, count(o.Report.Rows, "row"), o.size())
		}
	}
	if q := s.Query; q.State != messages.Complete {
		a.line("partial", "the query %s: rows are missing from this table", standing(q.State))
	}
	return a.described(s, outputs, p)
}

// described tells what is notable about the table, and makes what the query does not allow an error.
func (a *app) described(s *messages.Status, outputs []written, p *proof) error {
	bad := false
	var report *frame.Report
	if len(outputs) > 0 {
		report = outputs[0].Report
	}
	a.findings(report, p, outputs)
	if n := s.Progress.Doubted; n > 0 {
		a.line("doubted", "unconfirmed end: %s ended with a full page, and the service does not tell whether there is more", count(int64(n), "chunk"))
	}
	rows := s.Progress.Rows
	if len(outputs) > 0 {
		rows = report.Rows
		bad = a.describe(report)
	}
	broken := a.verified(s.Query, report, p)
	if bad && !s.Query.AllowBad {
		broken = append(broken, "bad values")
	}
	empty := rows == 0 && s.Query.State == messages.Complete
	switch {
	case empty && s.Progress.Rows > 0:
		a.line("empty", "of the %s that the service gave, none is left in the table", count(s.Progress.Rows, "row"))
	case empty:
		a.line("empty", "%s", nothingThere(s.Query))
	}
	if a.json || a.progress == "json" {
		told := summary{MessageType: "summary", Query: s.Query, Progress: s.Progress, Outputs: outputs, LimitReached: limitReached(s.Query, s.Progress), Broken: broken}
		if p != nil {
			told.CoverageFile, told.ManifestFile = p.coverageFile, p.manifestFile
		}
		if err := a.sum(told); err != nil {
			return err
		}
	}
	if len(broken) > 0 {
		return &exitError{code: exitIncomplete, err: errors.New(strings.Join(broken, ", ")), said: true}
	}
	if empty && a.failOnEmpty {
		return &exitError{code: exitEmpty, err: errors.New("no rows"), said: true}
	}
	return nil
}

// describe tells what was dropped or could not be read, and whether there were bad values.
func (a *app) describe(r *frame.Report) (bad bool) {
	if r.Replaced > 0 {
		a.line("renewed", "%s of earlier runs, in all, have given way to rows of later ones", count(r.Replaced, "row"))
	}
	if r.Duplicates > 0 {
		differing := ""
		if r.Different > 0 {
			differing = fmt.Sprintf("; %s differed from the one that stayed", thousands(r.Different))
		}
		a.line("merged", "%s that came more than once%s", count(r.Duplicates, "row"), differing)
	}
	if len(r.Unknown) > 0 {
		a.line("unknown", "fields that the service definition does not declare, kept as text: %v", r.Unknown)
	}
	for _, m := range r.Moved {
		a.line("note", "field %s is the column %s: the service definition gives its name to another one", messages.Text(m.Name), messages.Text(m.As))
	}
	for _, name := range r.Absent {
		a.line("note", "column %s was never sent by the service", messages.Text(name))
	}
	for _, b := range r.Bad {
		bad = true
		a.line("bad", "%s of %s that cannot be read as %s, null in the table; the first is %q", count(b.Count, "value"), b.Name, b.Type, b.Originals[0])
	}
	if bad {
		a.line("", "a query may allow this: verify: {bad_values: allow}")
	}
	return bad
}
