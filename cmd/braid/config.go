package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/braidhq/braid/internal/ledger"
	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/strictyaml"
)

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the settings that count, and where each came from",
		Long: `A setting is a flag of some command. It comes from the flag, else from its variable BRAID_…, else from the query file, else
from the context, else from the settings file, else from the service definition, else it has its default. The query file
and the service definition set what concerns their queries only, and are not shown here: braid plan shows what comes of them.`,
		Example: "  braid config show --origin\n  braid config path",
	}
	cmd.AddCommand(a.configShowCommand(), a.configPathCommand())
	return cmd
}

// setting is one setting as it counts now.
type setting struct {
	Name     string          `json:"name"` // in the settings file
	Value    string          `json:"value"`
	Origin   settings.Origin `json:"origin"`
	Source   string          `json:"source,omitempty"` // the variable or the file; empty for a default
	Variable string          `json:"variable"`
	Default  string          `json:"default"`
	Commands []string        `json:"commands,omitempty"` // that have it; none: all
}

func (a *app) configShowCommand() *cobra.Command {
	var origin bool
	cmd := &cobra.Command{
		Use: "show [NAME]", Short: "Show all settings, or one", Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeSetting,
		Long:    "Shows each setting with its value; with --origin where it came from. Secrets are not shown.",
		Example: "  braid config show --origin\n  braid config show data_dir\n  braid config show --json | jq '.settings[] | select(.origin != \"default\")'",
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := a.settings(cmd)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				if all, err = oneSetting(all, args[0]); err != nil {
					return err
				}
			}
			if a.json {
				return a.printJSON(map[string]any{"settings": all})
			}
			return a.printSettings(all, origin)
		},
	}
	cmd.Flags().BoolVar(&origin, "origin", false, "tell where each value came from")
	settings.OnlyFlags(cmd.Flags(), "origin")
	return cmd
}

func oneSetting(all []setting, name string) ([]setting, error) {
	key := settings.Key(strings.TrimPrefix(name, "--"))
	var names []string
	var found []setting
	for _, s := range all {
		if names = append(names, s.Name); s.Name == key {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		return nil, usage("there is no setting %q%s", name, strictyaml.DidYouMean(key, slices.Compact(names)))
	}
	return found, nil
}

// settings gives all settings in the order of their names; one that commands have with several defaults, once for each.
func (a *app) settings(cmd *cobra.Command) ([]setting, error) {
	file, err := a.settingsFile(cmd)
	if err != nil {
		return nil, &exitError{code: exitUsage, err: err}
	}
	var all []setting
	var failed error
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		origins := a.origins // of flags that all commands have
		if c.HasParent() {
			var err error
			if origins, err = settings.Apply(c.LocalFlags(), a.hidden(a.picked), a.picked.file, file); err != nil && failed == nil {
				failed = &exitError{code: exitUsage, err: err}
			}
		}
		c.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if settings.IsSetting(flag) && (c.HasParent() || c.PersistentFlags().Lookup(flag.Name) != nil) && (!c.HasParent() || c.Parent().PersistentFlags().Lookup(flag.Name) == nil) {
				all = a.withSetting(all, c, flag, origins[flag.Name], file)
			}
		})
		for _, sub := range c.Commands() {
			if sub.Name() != "completion" {
				walk(sub)
			}
		}
	}
	walk(cmd.Root())
	if strings.TrimSpace(a.getenv(tokenVariable)) != "" {
		all = append(all, setting{Name: "token", Value: notShown, Origin: settings.FromEnv, Source: tokenVariable, Variable: tokenVariable})
	}
	if strings.TrimSpace(a.getenv(ledger.Variable)) != "" {
		all = append(all, setting{Name: "ledger_url", Value: notShown, Origin: settings.FromEnv, Source: ledger.Variable, Variable: ledger.Variable, Commands: []string{"up", "ledger"}})
	}
	slices.SortStableFunc(all, func(x, y setting) int { return strings.Compare(x.Name, y.Name) })
	return all, failed
}

const notShown = "(set; not shown)"

func (a *app) withSetting(all []setting, c *cobra.Command, flag *pflag.Flag, origin settings.Origin, file *settings.File) []setting {
	name := settings.NameOf(flag)
	command := strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
	s := setting{Name: settings.Key(name), Value: shownValue(flag), Origin: origin, Variable: settings.Variable(name), Default: listless(flag.DefValue)}
	switch {
	case flag.Name == "context":
		if s.Value, s.Origin = a.picked.name, a.picked.from; s.Origin == settings.FromFile && s.Value != "" {
			s.Source = "selected by braid context select"
		}
		if s.Origin == "" || s.Value == "" && s.Origin == settings.FromFile {
			s.Origin = settings.FromDefault
		}
	case flag.Name == "data-dir" && origin == settings.FromDefault:
		s.Value = a.dataDir
	case flag.Name == "services-dir" && origin == settings.FromDefault:
		s.Value = a.servicesDir
	}
	switch {
	case s.Source != "":
	case s.Origin == settings.FromEnv:
		s.Source = s.Variable
	case s.Origin == settings.FromContext:
		s.Source = a.picked.file.Name
	case s.Origin == settings.FromFile && file != nil:
		s.Source = file.Name
	case s.Origin == settings.FromFlag:
		s.Source = "--" + flag.Name
	}
	if flag.Name == "ledger" && ledger.HoldsPassword(s.Value) {
		s.Value = notShown // it is refused where it is used
	}
	if !c.HasParent() {
		return append(all, s)
	}
	s.Commands = []string{command}
	for i := range all {
		if same := &all[i]; same.Name == s.Name && same.Default == s.Default && len(same.Commands) > 0 {
			same.Commands = append(same.Commands, command)
			return all
		}
	}
	return append(all, s)
}

// passwords are those of URLs, wherever they stand in a value.
func passwords() *regexp.Regexp { return regexp.MustCompile(`://[^/@\s]*@`) }

// shownValue is a flag's value without what may be secret in it.
func shownValue(flag *pflag.Flag) string {
	return passwords().ReplaceAllString(listless(flag.Value.String()), "://…@")
}

// listless is the text of a value, where an empty list is nothing.
func listless(value string) string {
	if value == "[]" {
		return ""
	}
	return value
}

func (a *app) printSettings(all []setting, origin bool) error {
	table := a.table()
	head := "SETTING\tVALUE"
	if origin {
		head += "\tORIGIN"
	}
	fmt.Fprintln(table, head)
	several := map[string]int{}
	for _, s := range all {
		several[s.Name]++
	}
	for _, s := range all {
		name, value := s.Name, s.Value
		if several[name] > 1 || len(s.Commands) == 1 {
			name += " (" + strings.Join(s.Commands, ", ") + ")"
		}
		if value == "" {
			value = "-"
		}
		line := name + "\t" + value
		if origin {
			line += "\t" + strings.TrimSpace(string(s.Origin)+"  "+s.Source)
		}
		fmt.Fprintln(table, line)
	}
	return table.Flush()
}

// place is a file or folder that settings and data are kept in.
type place struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Exists bool   `json:"exists"`
}

func (a *app) configPathCommand() *cobra.Command {
	return &cobra.Command{
		Use: "path", Short: "Show where settings, contexts, definitions and data are kept", Args: cobra.NoArgs,
		Example: "  braid config path\n  ${EDITOR:-vi} \"$(braid config path --json | jq -r '.places[0].path')\"",
		RunE: func(*cobra.Command, []string) error {
			places, err := a.places()
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"places": places})
			}
			table := a.table()
			for _, p := range places {
				state := ""
				if !p.Exists {
					state = "(not there)"
				}
				fmt.Fprintln(table, strings.TrimRight(p.Name+"\t"+p.Path+"\t"+state, "\t"))
			}
			return table.Flush()
		},
	}
}

func (a *app) places() ([]place, error) {
	dir, err := a.configDir()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "config.yaml")
	for _, named := range []string{strings.TrimSpace(a.getenv(settings.Variable("config"))), a.config} {
		if named != "" {
			file = named
		}
	}
	places := []place{
		{Name: "settings", Path: file},
		{Name: "contexts", Path: filepath.Join(dir, "contexts")},
		{Name: "services", Path: a.servicesDir},
		{Name: "data", Path: a.dataDir},
	}
	for i := range places {
		_, err := os.Stat(places[i].Path)
		places[i].Exists = err == nil
	}
	return places, nil
}
