package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/load"
)

// startFlags are those of braid load run.
type startFlags struct {
	fingerprint, approval, key string
	revision                   int
	yes, wait                  bool
}

func (a *app) loadRunCommand() *cobra.Command {
	var f startFlags
	cmd := &cobra.Command{
		Use: "run PROFILE", Short: "Start a run of a load profile, after its preview was seen", Args: cobra.ExactArgs(1),
		Long: `Starts a run. It names the fingerprint of what depends on the dashboard's data, as the preview showed it: where something else stands there
by now, nothing is sent, and the difference is told. Without --fingerprint and --yes the preview is shown, and nothing is started.

On a server the run goes on without this command; --wait follows it, and Ctrl-C leaves it running. Without a server this process does the work:
it follows the run to its end, and Ctrl-C stops it: no further request is sent, and those in flight drain. A second one stops at once. Where a
braid up has the data directory, that does the work: the run is followed to its end too, unless --wait=false is given, and Ctrl-C leaves it
running.

` + loadExitHelp,
		Example: `  braid load run sales
  braid load run sales --fingerprint sha256:4f1c… --wait
  braid load run sales --yes --wait --progress quiet \
    --idempotency-key nightly-2026-11-30`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if ending := strings.ToLower(filepath.Ext(args[0])); ending == ".yaml" || ending == ".yml" || ending == ".json" {
				return usage("%s is a file; braid load apply %s stores the profile, which is then run by its id", args[0], quoteArg(args[0]))
			}
			if f.fingerprint != "" && f.yes {
				return usage("--fingerprint and --yes both say what was seen; use one of them")
			}
			if err := a.checkEmbedded(); err != nil {
				return err
			}
			if !cmd.Flags().Changed("wait") {
				f.wait = a.server == "" // a script is to learn how the run ended, whoever does the work in the data directory
			}
			return a.withinUp(cmd.Context(), a.embedded.workers, func(s *session) error { return a.startLoad(cmd.Context(), s, args[0], f) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.fingerprint, "fingerprint", "", "of what depends on the data, as the preview showed it")
	flags.BoolVar(&f.yes, "yes", false, "start what stands there now, whatever it is")
	flags.IntVar(&f.revision, "revision", 0, "revision of the profile that was seen (default: the last)")
	flags.StringVar(&f.approval, "approval", "", "id of the approval, in PROD (default: the newest that fits)")
	flags.StringVar(&f.key, "idempotency-key", "", "what is started again under this key is the same run: 1 to 255 visible characters")
	flags.BoolVar(&f.wait, "wait", false, "follow the run on a server to its end")
	settings.OnlyFlags(flags, "fingerprint", "yes", "revision", "approval", "idempotency-key", "wait")
	a.processFlagsOn(flags)
	return cmd
}

func (a *app) startLoad(ctx context.Context, s *session, profile string, f startFlags) error {
	loads, err := s.loads()
	if err != nil {
		return err
	}
	req := load.StartRequest{Profile: profile, Revision: f.revision, Fingerprint: f.fingerprint, Approval: f.approval, Key: f.key}
	if f.fingerprint == "" {
		preview, err := loads.Preview(ctx, profile)
		if err != nil {
			return err
		}
		if !f.yes || !a.isQuiet() {
			if err := a.showPreview(a.stderr, preview); err != nil {
				return err
			}
		}
		in := preview.Gate.Inputs
		if !f.yes {
			return usage("nothing was sent; to start what is shown above: braid load run %s --fingerprint %s%s", profile, in.Fingerprint, a.whereHint())
		}
		if req.Fingerprint = in.Fingerprint; req.Revision == 0 {
			req.Revision = in.Revision
		}
	}
	wait := f.wait || s.embedded != nil
	var last *load.RunStatus
	err = s.working(ctx, func(ctx context.Context) error {
		run, err := loads.Start(ctx, req)
		if err != nil {
			return err
		}
		last = &load.RunStatus{Run: run}
		if !wait {
			return nil
		}
		a.announceLoad(run)
		last, err = a.followLoad(ctx, s, loads, last)
		return err
	})
	if err != nil {
		return a.toldGate(err)
	}
	if wait {
		return a.endedLoad(ctx, loads, last)
	}
	if a.json {
		return a.printJSON(last)
	}
	if _, err := fmt.Fprintln(a.stdout, last.Run.ID); err != nil {
		return err
	}
	a.announceLoad(last.Run)
	if !a.isQuiet() {
		a.line("watch", "braid load watch %s%s", last.Run.ID, a.whereHint())
		a.line("stop", "braid load stop %s%s", last.Run.ID, a.whereHint())
	}
	return nil
}

func (a *app) announceLoad(r *load.Run) {
	if !a.isQuiet() {
		a.line("load", "%s  ·  %s revision %d  ·  %s  ·  %s, at most %d in flight", r.ID, r.Profile.ID, r.Profile.Revision, r.Environment, count(int64(r.Total), "request"), r.Capacity.Effective)
	}
}

// toldGate tells what has changed, where a gate stayed shut for that.
func (a *app) toldGate(err error) error {
	gate, ok := errors.AsType[*load.GateError](err)
	if !ok || a.progress == "json" {
		return err
	}
	tell := func(label string, all []load.Dependent) {
		for i, d := range all {
			if i == mostListed {
				a.line("", "and %d more", len(all)-i)
				break
			}
			a.line(label, "%s %d  %s (dataset %d)", d.Kind, d.ID, d.Name, d.Dataset)
		}
	}
	if gate.Undiffed {
		a.line("note", "nothing is known of the fingerprint that was named, so all that depends on the data counts as added")
	}
	tell("added", gate.Added)
	tell("removed", gate.Removed)
	return fmt.Errorf("%w\nnothing was sent", err)
}

// followLoad shows a run until it has ended. When ctx ends before, a run in this process is stopped and drains, and one on a server goes on.
func (a *app) followLoad(ctx context.Context, s *session, loads braid.LoadRuns, last *load.RunStatus) (*load.RunStatus, error) {
	live := a.newLoadProgress()
	defer live.done()
	noWorker := false
	on := func(status *load.RunStatus) error {
		last = status
		if note := noteOf(status.Progress, "no_worker"); (note != "") != noWorker {
			if noWorker = note != ""; noWorker && a.progress != "json" && !a.isQuiet() {
				live.tell(a.labelled("note", note))
			}
		}
		live.show(status)
		return nil
	}
	err := loads.FollowRun(ctx, last.Run.ID, on)
	if err == nil || ctx.Err() == nil || errors.Is(context.Cause(ctx), errEnginesEnded) {
		return last, err
	}
	if s.embedded == nil {
		return last, nil
	}
	id := last.Run.ID
	s.onSecond(func() {
		a.line("stopped", "at once; what was in flight is cut, and its records may be missing: braid load status %s%s", id, a.whereHint())
	})
	live.tell(a.stopping())
	ctx = context.WithoutCancel(ctx)
	if _, err := loads.Stop(ctx, id); err != nil && !errors.Is(err, load.ErrState) {
		return last, err
	}
	return last, loads.FollowRun(ctx, id, on)
}

// noteOf is the text of a diagnostic, empty where there is none.
func noteOf(p *load.Progress, code string) string {
	if p != nil {
		for _, d := range p.Diagnostics {
			if d.Code == code {
				return d.Text
			}
		}
	}
	return ""
}

// lostText tells of what was in flight when its worker went.
func lostText(lost int) string {
	if lost == 0 {
		return ""
	}
	return fmt.Sprintf(", %d lost with a worker", lost)
}

// endedLoad says how a run ended that was followed, and is what the command ends with.
func (a *app) endedLoad(ctx context.Context, loads braid.LoadRuns, last *load.RunStatus) error {
	r := last.Run
	if r.State.Active() {
		a.line("detached", "the load run %s goes on without being watched", r.ID)
		a.line("watch", "braid load watch %s%s", r.ID, a.whereHint())
		a.line("stop", "braid load stop %s%s", r.ID, a.whereHint())
		return &exitError{code: exitInterrupted, err: context.Canceled, said: true}
	}
	report, err := loads.Report(context.WithoutCancel(ctx), r.ID)
	switch {
	case err != nil:
		return err
	case a.json:
		err = a.printJSON(last)
	default:
		err = a.printReport(a.stdout, report)
	}
	if err != nil {
		return err
	}
	if !a.isQuiet() {
		a.line("report", "braid load report %s%s", r.ID, a.whereHint())
	}
	if ctx.Err() != nil && r.Ending == load.Stopped {
		return &exitError{code: exitInterrupted, err: context.Canceled, said: true}
	}
	return judged(report)
}

// judged is the error of a run that has not kept what was demanded; nil of one that has.
func judged(r *load.Report) error {
	if r.Verdict != load.NotPassed && (r.Ending == load.Completed || r.Ending == "") {
		return nil
	}
	var why string
	switch r.Ending {
	case load.Tripped:
		why = "its breaker tripped"
	case load.PreflightFailed:
		why = "its preflight failed"
	case load.Stopped:
		why = "it was stopped"
	case load.Failed:
		why = "it failed: " + r.Reason
	case load.Completed:
		var missed int64
		for _, j := range r.Thresholds {
			if !j.Passed {
				missed++
			}
		}
		why = "it misses " + count(missed, "threshold")
	}
	return &exitError{code: exitIncomplete, err: fmt.Errorf("the load run %s has not passed: %s", r.Run, why)}
}

func (a *app) loadWatchCommand() *cobra.Command {
	return &cobra.Command{
		Use: "watch [RUN]", Short: "Follow a load run to its end; without a RUN the newest", Args: cobra.MaximumNArgs(1),
		Long:    "Follows a run on a server, or in another process of this machine. Ctrl-C ends the watching; the run goes on.\n\n" + loadExitHelp,
		Example: "  braid load watch\n  braid load watch k7f2c3aa --progress json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.within(cmd.Context(), 0, func(s *session) error {
				loads, err := s.loads()
				if err != nil {
					return err
				}
				last, err := loads.Run(cmd.Context(), newest(args))
				if err != nil {
					return err
				}
				a.announceLoad(last.Run)
				if s.embedded == nil || !last.Run.State.Active() { // else nobody runs it: what is there is all that comes
					if last, err = a.followLoad(cmd.Context(), s, loads, last); err != nil {
						return err
					}
				}
				return a.endedLoad(cmd.Context(), loads, last)
			})
		},
	}
}

// newest is the run that an argument names, the newest one where there is none.
func newest(args []string) string {
	if len(args) == 0 {
		return "latest"
	}
	return args[0]
}

func (a *app) loadStopCommand() *cobra.Command {
	return &cobra.Command{
		Use: "stop RUN", Short: "Stop a load run; what is in flight drains", Args: cobra.ExactArgs(1),
		Example: "  braid load stop k7f2c3aa",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withLoads(cmd.Context(), func(loads braid.LoadRuns) error {
				r, err := loads.Stop(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(map[string]any{"run": r})
				}
				if _, err := fmt.Fprintf(a.stdout, "stopped %s; no further request is sent, and what is in flight has %s to end\n", r.ID, span(r.Profile.Drain)); err != nil {
					return err
				}
				a.line("report", "braid load report %s%s", r.ID, a.whereHint())
				return nil
			})
		},
	}
}

func (a *app) loadListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List load runs, the newest first", Args: cobra.NoArgs,
		Example: "  braid load list",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withLoads(cmd.Context(), func(loads braid.LoadRuns) error {
				all, err := loads.Runs(cmd.Context())
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(map[string]any{"runs": nonNil(all)})
				}
				if len(all) == 0 {
					a.line("none", "no load runs yet; braid load run PROFILE starts one")
					return nil
				}
				now := time.Now()
				zone := zoneOf(now.Local())
				table := a.table()
				fmt.Fprintf(table, "RUN\tPROFILE\tENVIRONMENT\tSTATE\tDONE\tERRORS\tVERDICT\tCREATED %s\n", zone)
				for _, s := range all {
					done, errs := 0, 0
					if s.Progress != nil {
						done, errs = s.Progress.Recorded, s.Progress.Errors+s.Progress.Timeouts
					}
					fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d/%d\t%d\t%s\t%s\n", s.Run.ID, s.Run.Profile.ID, s.Run.Environment, runStateText(s.Run), done, s.Run.Total,
						errs, orDash(string(s.Run.Verdict)), day(s.Run.Created.In(zone), now.In(zone)))
				}
				return table.Flush()
			})
		},
	}
}

// runStateText says where a run stands, and of one that has ended how.
func runStateText(r *load.Run) string {
	if r.State == load.Ended && r.Ending != "" {
		return string(r.Ending)
	}
	return string(r.State)
}

func (a *app) loadStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status [RUN]", Short: "Show where a load run stands; without a RUN the newest", Args: cobra.MaximumNArgs(1),
		Example: "  braid load status\n  braid load status k7f2c3aa --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withLoads(cmd.Context(), func(loads braid.LoadRuns) error {
				s, err := loads.Run(cmd.Context(), newest(args))
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(s)
				}
				return a.printRun(s)
			})
		},
	}
}

func (a *app) printRun(s *load.RunStatus) error {
	page, r := a.sheet(), s.Run
	page.line("run", "%s", r.ID)
	page.line("profile", "%s, revision %d", r.Profile.ID, r.Profile.Revision)
	page.line("environment", "%s (%s)", r.Environment, r.Capacity.Class)
	page.line("state", "%s", runStateText(r))
	if r.Reason != "" {
		page.line("because", "%s", oneLine(r.Reason))
	}
	if r.StoppedBy != "" {
		page.line("stopped by", "%s", r.StoppedBy)
	}
	page.line("in flight", "at most %d, bound by %s", r.Slots, strings.Join(r.Capacity.Binding, " and "))
	if p := s.Progress; p != nil {
		page.line("done", "%s of %s", thousands(int64(p.Recorded)), count(int64(p.Total), "execution"))
		page.line("outcomes", "%s", outcomesText(p.Success, p.Errors, p.Timeouts, p.Cancelled, p.NotStarted, p.NotDispatched))
		if p.WarmUp > 0 {
			page.line("warm-up", "%s of these, in no time and no cache state", count(int64(p.WarmUp), "execution"))
		}
		page.line("sent", "%s, %d in flight now%s", count(int64(p.RequestsSent), "request"), p.InFlight, lostText(p.Lost))
		if p.Waits.Upstream.Samples > 0 {
			page.line("upstream", "%s", upstreamText(p))
		}
		page.breaker(&p.Breaker)
		for _, d := range p.Diagnostics {
			page.line("note", "%s", d.Text)
		}
	}
	page.trip(r.Trip)
	page.line("created", "%s by %s", moment(r.Created), orDash(r.Owner))
	if !r.Ended.IsZero() {
		page.line("ended", "%s, after %s", moment(r.Ended), span(r.Ended.Sub(r.Created)))
	}
	if r.Verdict != "" {
		page.line("verdict", "%s", r.Verdict)
	}
	return page.flush()
}
