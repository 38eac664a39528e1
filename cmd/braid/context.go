package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
)

func (a *app) contextCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "context",
		Short: "Keep servers under names, and select one",
		Long: `A context keeps the address of a server under a name, with the file of the token that it wants and of the certificates
that it is known by. Commands use the context that --context or BRAID_CONTEXT names, else the selected one. Who gives
--server or --data-dir uses none.

A context is a file NAME.yaml in braid/contexts in the user's config folder. The token stays in a file of its own.`,
		Example: `  braid context add lab --server https://braid.example.org \
    --token-file ~/.config/braid/lab.token
  braid context select lab
  braid list
  braid context select local`,
	}
	cmd.AddCommand(a.contextAddCommand(), a.contextListCommand(), a.contextSelectCommand(), a.contextShowCommand(), a.contextRemoveCommand())
	return cmd
}

// shownContext is a context as --json prints it. What a token is stays in its file.
type shownContext struct {
	Name      string `json:"name"`
	Server    string `json:"server,omitempty"`
	TokenFile string `json:"token_file,omitempty"`
	CAFile    string `json:"ca_file,omitempty"`
	Selected  bool   `json:"selected"`
	Problem   string `json:"problem,omitempty"` // why it cannot be used
}

func (a *app) shownContext(name string) shownContext {
	c := shownContext{Name: name, Selected: name == a.selectedContext() || name == thisMachine && a.selectedContext() == ""}
	if name == thisMachine {
		return c
	}
	file, err := a.readContext(name)
	if err != nil {
		c.Problem = err.Error()
		return c
	}
	server := file.Text("server")
	if _, err := braid.NewClient(server); err != nil {
		c.Problem = "server: " + err.Error() // which may have a password in it
		return c
	}
	c.Server, c.TokenFile, c.CAFile = server, messages.Text(file.Text("token_file")), messages.Text(file.Text("ca_file"))
	return c
}

func (a *app) contextAddCommand() *cobra.Command {
	var replace, selected bool
	cmd := &cobra.Command{
		Use: "add NAME --server URL", Short: "Keep a server under a name", Args: cobra.ExactArgs(1),
		Example: `  braid context add lab --server https://braid.example.org \
    --token-file lab.token
  braid context add here --server http://127.0.0.1:8080 --select`,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.addContext(args[0], replace); err != nil {
				return err
			}
			if selected {
				if err := a.selectContext(args[0]); err != nil {
					return err
				}
			}
			if a.json {
				return a.printJSON(a.shownContext(args[0]))
			}
			fmt.Fprintf(a.stdout, "added %s\n", args[0])
			if !selected {
				a.line("next", "braid context select %s", args[0])
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "in place of one that is there")
	cmd.Flags().BoolVar(&selected, "select", false, "select it too")
	settings.OnlyFlags(cmd.Flags(), "replace", "select")
	return cmd
}

func (a *app) addContext(name string, replace bool) error {
	path, err := a.contextFile(name)
	switch {
	case err != nil:
		return err
	case name == thisMachine:
		return usage("%s is the name of no context: the queries of this machine; choose another", thisMachine)
	case a.server == "":
		return usage("say which server it is: braid context add %s --server URL", name)
	}
	if _, err := braid.NewClient(a.server); err != nil {
		return usage("--server: %w", err)
	}
	info, err := os.Lstat(path)
	switch {
	case err == nil && !replace:
		return usage("there is a context %s already; --replace writes it anew", name)
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		return usage("the context %s is a link: change the file that it leads to, or remove the link by braid context rm %s first", name, name)
	}
	lines := []string{fmt.Sprintf("server: %q\n", a.server)}
	for _, file := range []struct{ key, path string }{{"token_file", a.tokenFile}, {"ca_file", a.caFile}} {
		if file.path == "" {
			continue
		}
		full, err := filepath.Abs(a.expandHome(file.path))
		if err != nil {
			return fmt.Errorf("%s: %w", file.key, err)
		}
		if _, err := os.Stat(full); err != nil {
			return usage("--%s: %w", strings.ReplaceAll(file.key, "_", "-"), err)
		}
		lines = append(lines, fmt.Sprintf("%s: %q\n", file.key, full))
	}
	if a.tokenFile != "" {
		if _, err := a.readToken(a.tokenFile); err != nil {
			return err
		}
	}
	return writePrivate(path, strings.Join(lines, ""))
}

// writePrivate writes a small file that others cannot read, whole or not at all.
func writePrivate(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err := output.Save(path, func(w writer) error {
		_, err := fmt.Fprint(w, text)
		return err
	})
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func (a *app) contextListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List contexts; the selected one has a star", Aliases: []string{"ls"}, Args: cobra.NoArgs,
		Example: "  braid context list\n  braid context list --json",
		RunE: func(*cobra.Command, []string) error {
			all := []shownContext{a.shownContext(thisMachine)}
			for _, name := range a.contextNames() {
				all = append(all, a.shownContext(name))
			}
			if a.json {
				return a.printJSON(map[string]any{"contexts": all})
			}
			table := a.table()
			fmt.Fprintln(table, "  NAME\tSERVER")
			for _, c := range all {
				star, server := " ", c.Server
				if c.Selected {
					star = "*"
				}
				switch {
				case c.Name == thisMachine:
					server = "none: the queries of " + a.dataDir
				case c.Problem != "":
					server = "unusable: " + c.Problem
				}
				fmt.Fprintf(table, "%s %s\t%s\n", star, c.Name, server)
			}
			return table.Flush()
		},
	}
}

func (a *app) contextSelectCommand() *cobra.Command {
	return &cobra.Command{
		Use: "select NAME", Short: "Use a context from now on; local uses none", Aliases: []string{"use"}, Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeContext,
		Example: "  braid context select lab\n  braid context select local",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.selectContext(args[0]); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(a.shownContext(args[0]))
			}
			_, err := fmt.Fprintf(a.stdout, "selected %s\n", args[0])
			return err
		},
	}
}

func (a *app) selectContext(name string) error {
	path, err := a.selectionFile()
	if err != nil {
		return err
	}
	if name == thisMachine {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("select %s: %w", name, err)
		}
		return nil
	}
	if _, err := a.readContext(name); err != nil {
		return err
	}
	return writePrivate(path, name+"\n")
}

func (a *app) contextShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show [NAME]", Short: "Show a context; without a name the selected one", Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeContext,
		Example: "  braid context show\n  braid context show lab --json",
		RunE: func(_ *cobra.Command, args []string) error {
			name := first(args)
			if name == "" {
				name = a.selectedContext()
			}
			if name == "" {
				name = thisMachine
			}
			if name != thisMachine {
				if _, err := a.readContext(name); err != nil {
					return err
				}
			}
			c := a.shownContext(name)
			if a.json {
				return a.printJSON(c)
			}
			table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintf(table, "context\t%s\n", c.Name)
			if c.Server == "" {
				fmt.Fprintf(table, "data\t%s\n", a.dataDir)
			} else {
				fmt.Fprintf(table, "server\t%s\n", c.Server)
			}
			for _, file := range []struct{ label, path string }{{"token", c.TokenFile}, {"CA", c.CAFile}} {
				if file.path != "" {
					fmt.Fprintf(table, "%s\t%s\n", file.label, file.path)
				}
			}
			fmt.Fprintf(table, "selected\t%s\n", yesNo(c.Selected))
			return table.Flush()
		},
	}
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

func (a *app) contextRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rm NAME", Short: "Forget a context; its token file stays", Aliases: []string{"remove"}, Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeContext,
		Example: "  braid context rm lab",
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := a.contextFile(args[0])
			if err != nil {
				return err
			}
			if _, err := os.Lstat(path); err != nil {
				_, err := a.readContext(args[0])
				return err
			}
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("remove context: %w", err)
			}
			if a.selectedContext() == args[0] {
				if err := a.selectContext(thisMachine); err != nil {
					return err
				}
				a.line("note", "it was selected; now none is")
			}
			if a.json {
				return a.printJSON(map[string]string{"removed": args[0]})
			}
			_, err = fmt.Fprintf(a.stdout, "removed %s\n", args[0])
			return err
		},
	}
}
