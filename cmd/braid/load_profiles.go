package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

const maxProfileFile = 4 << 20

func (a *app) loadProfilesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "profiles [PROFILE]", Short: "List load profiles, or show one", Args: cobra.MaximumNArgs(1),
		Example: "  braid load profiles\n  braid load profiles sales --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withLoads(cmd.Context(), func(loads braid.LoadRuns) error {
				if len(args) == 1 {
					p, err := loads.Profile(cmd.Context(), args[0])
					if err != nil {
						return err
					}
					if a.json {
						return a.printJSON(p)
					}
					return a.printProfiles([]*load.Profile{p})
				}
				all, err := loads.Profiles(cmd.Context())
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(map[string]any{"profiles": nonNil(all)})
				}
				if len(all) == 0 {
					a.line("none", "no load profiles yet; braid load apply FILE stores one")
					return nil
				}
				return a.printProfiles(all)
			})
		},
	}
}

func (a *app) printProfiles(all []*load.Profile) error {
	now := time.Now()
	zone := zoneOf(now.Local())
	table := a.table()
	fmt.Fprintf(table, "PROFILE\tREVISION\tENVIRONMENT\tDASHBOARD\tCAP\tIN FLIGHT\tUPDATED %s\n", zone)
	for _, p := range all {
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%d\t%d\t%s\n", p.ID, p.Revision, p.Environment, p.Dashboard, p.Cap, p.Concurrency, day(p.Updated.In(zone), now.In(zone)))
	}
	return table.Flush()
}

func (a *app) loadApplyCommand() *cobra.Command {
	revision := -1
	cmd := &cobra.Command{
		Use: "apply FILE", Short: "Store a load profile as its next revision", Args: cobra.ExactArgs(1),
		Long: `Reads a load profile, YAML or JSON of schema load/v1, and stores it. What says the same as is stored makes no new revision. With
- as FILE it is read from standard input, and has to have an id.`,
		Example: "  braid load apply sales.yaml\n  braid load apply sales.yaml --revision 3",
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := readProfile(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			return a.withLoads(cmd.Context(), func(loads braid.LoadRuns) error {
				stored, err := loads.SaveProfile(cmd.Context(), p, revision)
				if errors.Is(err, messages.ErrConflict) {
					return usage("%w", err)
				}
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(stored)
				}
				if _, err := fmt.Fprintf(a.stdout, "%s revision %d\n", stored.ID, stored.Revision); err != nil {
					return err
				}
				if _, err := loads.Snapshot(cmd.Context(), stored.ID); err != nil {
					a.line("next", "braid load look-up %s%s", stored.ID, a.whereHint())
				} else {
					a.line("next", "braid load preview %s%s", stored.ID, a.whereHint())
				}
				return nil
			})
		},
	}
	cmd.Flags().IntVar(&revision, "revision", -1, "store it only when the profile is at this revision; 0: only when there is none (default: whichever there is)")
	cmd.Flags().Lookup("revision").DefValue = ""
	settings.OnlyFlags(cmd.Flags(), "revision")
	return cmd
}

func readProfile(file string, stdin io.Reader) (*load.Profile, error) {
	if file != "-" {
		text, err := readFile(file)
		if err != nil {
			return nil, usage("%w", err)
		}
		return load.ParseProfile(file, text)
	}
	text, err := io.ReadAll(io.LimitReader(stdin, maxProfileFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the load profile: %w", err)
	}
	return load.ParseProfile("stdin", text)
}

func (a *app) loadLookUpCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "look-up PROFILE", Short: "Look up a profile's dashboard, and who else reads its data", Args: cobra.ExactArgs(1),
		Long: `A worker logs in and reads the dashboard, its charts and what depends on their data. What it finds is pinned: a run goes by that, whatever
changes meanwhile. Nothing else is sent.

` + loadExitHelp,
		Example: "  braid load look-up sales",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withinUp(cmd.Context(), 1, func(s *session) error {
				loads, err := s.loads()
				if err != nil {
					return err
				}
				var snapshot *load.Snapshot
				err = s.working(cmd.Context(), func(ctx context.Context) (err error) {
					snapshot, err = loads.LookUp(ctx, args[0])
					return err
				})
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(snapshot)
				}
				if err := a.printSnapshot(snapshot); err != nil {
					return err
				}
				a.line("next", "braid load preview %s%s", args[0], a.whereHint())
				return nil
			})
		},
	}
	return cmd
}

const mostListed = 20

func (a *app) printSnapshot(s *load.Snapshot) error {
	page := a.sheet()
	page.line("dashboard", "%d  %s", s.Dashboard, s.Title)
	page.line("environment", "%s", s.Environment)
	page.line("looked up", "%s", moment(s.Taken))
	page.line("charts", "%d can be run, %d cannot", len(s.Charts), len(s.Excluded))
	page.excluded(s.Excluded)
	page.dependents("depends", s.Others(), "beside it on the same data")
	page.line("fingerprint", "%s", s.Dependents.Fingerprint)
	return page.flush()
}

func (p *sheet) excluded(all []load.Excluded) {
	for i, e := range all {
		if i == mostListed {
			p.line("", "and %d more", len(all)-i)
			break
		}
		p.line("", "%d  %s: %s", e.Chart, e.Name, excludedText(e.Reason))
	}
}

// excludedText says why a chart cannot be run, and what helps.
func excludedText(reason string) string {
	switch reason {
	case "no_query_context":
		return "it has no stored request; save it once in Superset"
	case "legacy_data_path":
		return "it is of the older kind, which has no request to send"
	case "not_selected":
		return "the profile does not name it"
	case "other_tab":
		return "it is on another tab"
	case "forbidden":
		return "the role that looked may not read it"
	case "bad_query_context":
		return "its stored request cannot be read; save it again in Superset"
	}
	return reason
}

// dependents lists who else feels a run.
func (p *sheet) dependents(label string, all []load.Dependent, what string) {
	type thing struct {
		kind string
		id   int64
	}
	kinds, seen := map[string]int64{}, map[thing]bool{} // a report names each once for each dataset
	for _, d := range all {
		if !seen[thing{d.Kind, d.ID}] {
			seen[thing{d.Kind, d.ID}] = true
			kinds[d.Kind]++
		}
	}
	clear(seen)
	p.line(label, "%s and %s %s", count(kinds["dashboard"], "dashboard"), count(kinds["chart"], "chart"), what)
	listed := 0
	for _, d := range all {
		if d.Kind != "dashboard" || seen[thing{d.Kind, d.ID}] {
			continue
		}
		seen[thing{d.Kind, d.ID}] = true
		if listed++; listed > mostListed {
			p.line("", "and %d more dashboards", kinds["dashboard"]-mostListed)
			break
		}
		p.line("", "dashboard %d  %s", d.ID, d.Name)
	}
}

func (a *app) loadApproveCommand() *cobra.Command {
	var reason, hash string
	var valid time.Duration
	cmd := &cobra.Command{
		Use: "approve PROFILE", Short: "Let one run of a profile start in PROD", Args: cobra.ExactArgs(1),
		Long: `Approves the gate that the preview has shown: it is bound to the profile's revision, its capacity, its requests, its environment and what
depends on its data. It is used up by one run, and void as soon as one of them changes. It needs the permission load:prod.

` + loadExitHelp,
		Example: `  braid load approve sales --gate be4f0a63… --reason release-7`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(reason) == "" {
				return usage("--reason is missing: say why load is put on PROD")
			}
			return a.withLoads(cmd.Context(), func(loads braid.LoadRuns) error {
				preview, err := loads.Preview(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if hash == "" {
					if err := a.showPreview(a.stderr, preview); err != nil {
						return err
					}
					return usage("nothing is approved yet; to approve the gate above: braid load approve %s --gate %s --reason %s%s", args[0], preview.Gate.Hash, quoteArg(reason), a.whereHint())
				}
				approval, err := loads.Approve(cmd.Context(), args[0], load.ApprovalRequest{Hash: hash, Reason: reason, ValidFor: valid})
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(approval)
				}
				if _, err := fmt.Fprintf(a.stdout, "approved %s until %s\n", approval.ID, moment(approval.Expires)); err != nil {
					return err
				}
				a.line("start", "braid load run %s --fingerprint %s --approval %s%s", args[0], approval.Inputs.Fingerprint, approval.ID, a.whereHint())
				return nil
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&reason, "reason", "", "why load is put on PROD")
	flags.StringVar(&hash, "gate", "", "hash of the gate that the preview has shown")
	flags.DurationVar(&valid, "valid-for", time.Hour, "how long a run may be started with it, at most 168h")
	settings.OnlyFlags(flags, "reason", "gate", "valid-for")
	return cmd
}

func (a *app) loadApprovalsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "approvals", Short: "List approvals of runs in PROD, the newest first", Args: cobra.NoArgs,
		Example: "  braid load approvals",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withLoads(cmd.Context(), func(loads braid.LoadRuns) error {
				all, err := loads.Approvals(cmd.Context())
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(map[string]any{"approvals": nonNil(all)})
				}
				if len(all) == 0 {
					a.line("none", "nothing was approved yet")
					return nil
				}
				now := time.Now()
				table := a.table()
				fmt.Fprintln(table, "APPROVAL\tPROFILE\tREVISION\tENVIRONMENT\tBY\tSTANDS\tREASON")
				for _, p := range all {
					fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\t%s\n", p.ID, p.Inputs.Profile, p.Inputs.Revision, p.Inputs.Environment, cmp.Or(p.By, "-"), approvalText(p, now), oneLine(p.Reason))
				}
				return table.Flush()
			})
		},
	}
}

func approvalText(p *load.Approval, now time.Time) string {
	switch {
	case p.UsedBy != "":
		return "used by " + p.UsedBy
	case !now.Before(p.Expires):
		return "expired"
	}
	return "for " + span(p.Expires.Sub(now).Truncate(time.Second))
}
