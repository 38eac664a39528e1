package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/load"
)

// sheet is lines with a word in front that says what each tells.
type sheet struct {
	table *tabwriter.Writer
}

func (a *app) sheet() *sheet { return sheetOn(a.stdout) }

func sheetOn(w io.Writer) *sheet { return &sheet{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)} }

func (p *sheet) line(label, format string, args ...any) {
	fmt.Fprintf(p.table, "%s\t%s\n", label, fmt.Sprintf(format, args...))
}

func (p *sheet) flush() error { return p.table.Flush() }

func (a *app) loadPreviewCommand() *cobra.Command {
	return &cobra.Command{
		Use: "preview PROFILE", Short: "Show what a run of a profile would send, and what it needs for that; nothing is sent", Args: cobra.ExactArgs(1),
		Long: `Shows how many variations there are and are selected, the charts that cannot be run and why, how many requests are sent and how many of them
differ, the capacity and what bounds it, who else feels the run, and the gate.

` + loadExitHelp,
		Example: "  braid load preview sales",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withLoads(cmd.Context(), func(loads braid.LoadRuns) error {
				preview, err := loads.Preview(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(preview)
				}
				if err := a.showPreview(a.stdout, preview); err != nil {
					return err
				}
				in := preview.Gate.Inputs
				if preview.Gate.Approval {
					a.line("approve", "braid load approve %s --gate %s --reason TEXT%s", in.Profile, preview.Gate.Hash, a.whereHint())
				}
				a.line("start", "braid load run %s --fingerprint %s%s", in.Profile, in.Fingerprint, a.whereHint())
				return nil
			})
		},
	}
}

func (a *app) showPreview(w io.Writer, p *load.Preview) error {
	page, in := sheetOn(w), p.Gate.Inputs
	page.line("profile", "%s, revision %d", in.Profile, in.Revision)
	page.line("environment", "%s (%s)", in.Environment, p.Gate.Class)
	if p.Theoretical == fmt.Sprint(p.Selected) {
		page.line("variations", "%s, all of them", thousands(int64(p.Selected)))
	} else {
		page.line("variations", "%s of %s, drawn by seed %d", thousands(int64(p.Selected)), grouped(p.Theoretical), p.Seed)
	}
	page.line("charts", "%d, and %d that cannot be run", p.Charts, len(p.Excluded))
	page.excluded(p.Excluded)
	page.line("sends", "%s, %s of them distinct", count(int64(p.Total), "request"), thousands(int64(p.Distinct)))
	if repeats := p.Total - p.Distinct; repeats > 0 {
		page.line("", "%s what an earlier one sends: such hits say nothing of the dashboard", thousands(int64(repeats))+" "+map[bool]string{true: "repeats", false: "repeat"}[repeats == 1])
	}
	page.capacity(&p.Capacity)
	if p.Gate.RewritesCache {
		page.line("cache", "EVERY REQUEST REWRITES THE CACHE ENTRY that all viewers read (force)")
	} else {
		page.line("cache", "read as viewers read it; what is missing there is stored for all")
	}
	needs := strings.Join(p.Gate.Needs, " and ")
	if p.Gate.Approval {
		needs += ", and an approval of this gate"
	}
	page.line("needs", "%s", needs)
	page.line("gate", "%s", p.Gate.Hash)
	page.line("fingerprint", "%s", in.Fingerprint)
	return page.flush()
}

// capacity tells the terms, and what to change to get more.
func (p *sheet) capacity(t *load.Terms) {
	p.line("in flight", "at most %d, bound by %s", t.Effective, strings.Join(t.Binding, " and "))
	p.line("", "requested %d, env_max %d (%s), pool_room %d, ceiling %d", t.Requested, t.EnvMax, t.EnvMaxSource, t.PoolRoom, t.Ceiling)
	if t.Effective == t.Requested {
		return
	}
	for _, term := range t.Binding {
		switch term {
		case "env_max":
			p.line("", "more needs a higher load_test_max_concurrent in the environment's definition")
		case "pool_room":
			p.line("", "more needs a larger connection_pool_size, or fewer load_test_reserved_slots: %d needs a pool of %d with 5 reserved", load.MaxCapacity, load.MaxCapacity+load.DefaultReserved)
		case "ceiling":
			p.line("", "%d is the most that any run gets", t.Ceiling)
		}
	}
}

// grouped writes an exact decimal count of any size as people read it.
func grouped(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
