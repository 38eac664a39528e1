package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

const loadExitHelp = `Exit codes:
  0    done; of a run: it ended by itself and keeps its thresholds, if it has any
  2    wrong use, or the gate stayed shut; nothing was sent
  3    the run tripped, failed, was stopped or misses a threshold; two runs cannot be compared
  4    credentials or a permission are missing
  130  interrupted; a run on a server goes on`

func (a *app) loadCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "load", Short: "Run load against dashboards, and report how long they take",
		Long: `A load profile says which dashboard is run, in which variations, and how hard. Before its first run, and after each change, the
dashboard is looked up; the preview then shows what would be sent and what that needs. Without a server this process does the work, and keeps
all in the data directory.`,
		Example: `  braid load apply sales.yaml
  braid load look-up sales
  braid load preview sales
  braid load run sales --fingerprint sha256:4f1c…
  braid load report latest`,
	}
	cmd.AddCommand(a.loadEnvironmentsCommand(), a.loadProfilesCommand(), a.loadApplyCommand(), a.loadLookUpCommand(), a.loadPreviewCommand(), a.loadApproveCommand(),
		a.loadApprovalsCommand(), a.loadRunCommand(), a.loadWatchCommand(), a.loadStopCommand(), a.loadListCommand(), a.loadStatusCommand(), a.loadReportCommand(),
		a.loadCompareCommand(), a.loadExecutionsCommand(), a.loadRemoveCommand())
	return cmd
}

var errNoLoads = errors.New("this build knows no load runs")

// loads is what can be done about load runs there.
func (s *session) loads() (braid.LoadRuns, error) {
	switch c := s.Coordinator.(type) {
	case interface {
		LoadRuns(name string) braid.LoadRuns
	}:
		return c.LoadRuns(s.app.user()), nil
	case interface{ LoadRuns() braid.LoadRuns }:
		return c.LoadRuns(), nil
	}
	return nil, errNoLoads
}

// user is who works at this machine, as far as it is fit for a record.
func (a *app) user() string {
	name := a.getenv("USER")
	if messages.CheckName(name) != nil {
		return ""
	}
	return name
}

// withLoads runs a command that only asks or stores something.
func (a *app) withLoads(ctx context.Context, command func(braid.LoadRuns) error) error {
	return a.within(ctx, 0, func(s *session) error {
		loads, err := s.loads()
		if err != nil {
			return err
		}
		return command(loads)
	})
}

func (a *app) loadEnvironmentsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "environments", Short: "List the environments that load can be run in", Args: cobra.NoArgs,
		Long:    "Lists the services whose definition has the block environment, with what they would let a run have at most, and the roles that executions can be sent as.",
		Example: "  braid load environments",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withLoads(cmd.Context(), func(loads braid.LoadRuns) error {
				all, err := loads.Environments(cmd.Context())
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(map[string]any{"environments": nonNil(all)})
				}
				if len(all) == 0 {
					a.line("none", "no service has the block environment; braid services new and docs/service-definition.md tell how to write one")
					return nil
				}
				table := a.table()
				fmt.Fprintln(table, "NAME\tCLASS\tIN FLIGHT\tBOUND BY\tROLES\tACTIVE\tURL")
				for _, e := range all {
					if e.Problem != "" {
						fmt.Fprintf(table, "%s\t-\t-\t-\t-\t-\t%s\n", e.Name, e.Problem)
						continue
					}
					fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\t%s\n", e.Name, e.Class, e.Capacity.Effective, strings.Join(e.Capacity.Binding, ","),
						orDash(strings.Join(e.Roles, ",")), orDash(strings.Join(e.Active, ",")), e.BaseURL)
				}
				return table.Flush()
			})
		},
	}
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (a *app) loadRemoveCommand() *cobra.Command {
	var profile bool
	cmd := &cobra.Command{
		Use: "rm RUN", Short: "Remove a load run that has ended with its records, or a load profile", Args: cobra.ExactArgs(1),
		Example: "  braid load rm k7f2c3aa\n  braid load rm --profile sales",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withLoads(cmd.Context(), func(loads braid.LoadRuns) error {
				what, remove := "load run", loads.RemoveRun
				if profile {
					what, remove = "load profile", loads.RemoveProfile
				}
				if err := remove(cmd.Context(), args[0]); err != nil {
					return err
				}
				if a.json {
					return a.printJSON(map[string]any{"removed": args[0]})
				}
				_, err := fmt.Fprintf(a.stdout, "removed %s %s\n", what, args[0])
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&profile, "profile", false, "remove the load profile of this id; its runs stay")
	settings.OnlyFlags(cmd.Flags(), "profile")
	return cmd
}

// loadExit is the exit code of an error of load runs; exitOK: it is of something else.
func loadExit(err error) int {
	if gate, ok := errors.AsType[*load.GateError](err); ok {
		if gate.Kind == load.GateNoPermission {
			return exitCredentials
		}
		return exitUsage
	}
	if failure, ok := errors.AsType[*load.LookUpError](err); ok {
		if failure.Kind == load.Auth || failure.Kind == load.Forbidden {
			return exitCredentials
		}
		return exitIncomplete
	}
	if is(err, load.ErrInvalid, load.ErrState, load.ErrKeyReused, load.ErrAmbiguous) {
		return exitUsage
	}
	return exitOK
}
