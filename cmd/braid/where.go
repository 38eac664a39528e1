package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/access"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// thisMachine is the name of no context: queries are those of the data directory.
const thisMachine = "local"

// contextKeys are what a context says: where a server is, and how to be known and to know it there.
func contextKeys() []string { return []string{"ca_file", "server", "token_file"} }

// picked is the context that a command uses.
type picked struct {
	name string          // empty: none
	from settings.Origin // FromFile: it was selected
	file *settings.File  // what it says
}

// pickContext finds the context that counts: --context, else BRAID_CONTEXT, else the selected one. Who names a server, or by a flag
// a data directory, has said where to go.
func (a *app) pickContext(cmd *cobra.Command) (picked, error) {
	flags, env := cmd.Flags(), func(flag string) string { return strings.TrimSpace(a.getenv(settings.Variable(flag))) }
	var p picked
	switch {
	case isWithin(cmd, "context"):
		return p, nil // they mend contexts
	case asksNoServer(cmd) && (flags.Changed("context") || flags.Changed("server")):
		name := "server"
		if flags.Changed("context") {
			name = "context"
		}
		return p, usage("%s asks no server; leave --%s out", cmd.CommandPath(), name)
	case asksNoServer(cmd):
		return p, nil
	case flags.Changed("context") && flags.Changed("server"):
		return p, usage("--context and --server both say which server to ask; use one of them")
	case flags.Changed("context"):
		p = picked{name: a.context, from: settings.FromFlag}
	case flags.Changed("server"), env("server") != "":
	case env("context") != "":
		p = picked{name: env("context"), from: settings.FromEnv}
	case flags.Changed("data-dir"):
	default:
		p = picked{name: a.selectedContext(), from: settings.FromFile}
	}
	if p.name == "" || p.name == thisMachine {
		p.name = ""
		return p, nil
	}
	var err error
	p.file, err = a.readContext(p.name)
	if err != nil && p.from == settings.FromFile {
		err = fmt.Errorf("%w; it is the selected context: braid context select %s selects none", err, thisMachine)
	}
	if path, errPath := a.contextFile(p.name); err == nil && errPath == nil {
		if mode, open := changedByOthers(path); open {
			a.line("warning", "%s", warnChanged(path, mode))
		}
	}
	return p, err
}

func warnChanged(path string, mode fs.FileMode) string {
	return fmt.Sprintf("%s has mode %04o, so others can change where its token is sent; run: chmod 600 %s", path, mode, quoteArg(path))
}

// asksNoServer tells whether a command is a server itself, or brings its own: what variables and contexts say of another one is not
// meant for it.
func asksNoServer(cmd *cobra.Command) bool {
	return isWithin(cmd, "up") || isWithin(cmd, "simulator") || isWithin(cmd, "demo")
}

// serverFrom says who named the server, for messages.
func (a *app) serverFrom() string {
	switch a.origins["server"] {
	case settings.FromEnv:
		return settings.Variable("server")
	case settings.FromContext:
		return "the context " + a.picked.name
	case settings.FromFile:
		return "server in the settings file"
	case settings.FromFlag, settings.FromDefault:
	}
	return "--server"
}

// isWithin tells whether a command is the named one below the root, or one of its own.
func isWithin(cmd *cobra.Command, name string) bool {
	for ; cmd.HasParent(); cmd = cmd.Parent() {
		if cmd.Name() == name && !cmd.Parent().HasParent() {
			return true
		}
	}
	return false
}

// configDir is the folder of what a person has set up.
func (a *app) configDir() (string, error) { return userDir(a.getenv, "XDG_CONFIG_HOME", ".config") }

func (a *app) contextsDir() (string, error) {
	dir, err := a.configDir()
	return filepath.Join(dir, "contexts"), err
}

func (a *app) contextFile(name string) (string, error) {
	if err := messages.CheckName(name); err != nil {
		return "", usage("context %.40q: %w", name, err)
	}
	dir, err := a.contextsDir()
	return filepath.Join(dir, name+".yaml"), err
}

// contextNames lists the contexts that there are, sorted.
func (a *app) contextNames() []string {
	dir, err := a.contextsDir()
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range entries {
		if name, ok := strings.CutSuffix(entry.Name(), ".yaml"); ok && messages.CheckName(name) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (a *app) readContext(name string) (*settings.File, error) {
	path, err := a.contextFile(name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, usage("context %s: %s is no file", name, path) // and a pipe would keep us waiting
	}
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage("there is no context %q%s; braid context list shows those that there are", name, strictyaml.DidYouMean(name, append(a.contextNames(), thisMachine)))
	}
	if err != nil {
		return nil, usage("context %s: %w", name, err)
	}
	file, err := settings.ParseFile(path, data, contextKeys())
	if err != nil {
		return nil, usage("%w", err)
	}
	if file.Text("server") == "" {
		return nil, usage("context %s names no server: write server: URL into %s", name, path)
	}
	file.Origin = settings.FromContext
	return file, nil
}

func (a *app) selectionFile() (string, error) {
	dir, err := a.configDir()
	return filepath.Join(dir, "context"), err
}

// selectedContext is the name that braid context select has written; empty: none.
func (a *app) selectedContext() string {
	path, err := a.selectionFile()
	if err != nil {
		return ""
	}
	data, err := readFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// hidden is the environment for settings: who names a context by a flag means its server, and not that of a variable.
func (a *app) hidden(p picked) func(string) string {
	if p.from != settings.FromFlag {
		return a.getenv
	}
	return func(name string) string {
		if slices.ContainsFunc(contextKeys(), func(key string) bool { return settings.Variable(key) == name }) {
			return ""
		}
		return a.getenv(name)
	}
}

// client makes a client of the server that was named.
func (a *app) client() (*braid.Client, error) {
	if _, err := braid.NewClient(a.server); err != nil {
		if a.origins["server"] != settings.FromFlag {
			err = fmt.Errorf("%s: %w", a.serverFrom(), err)
		}
		return nil, err // before any credential is read for it
	}
	opts, err := a.clientOptions()
	if err != nil {
		return nil, err
	}
	return braid.NewClient(a.server, opts...)
}

// advised adds to an error of a server that was named what a person can do about it.
func (a *app) advised(err error) error {
	if err == nil || a.server == "" {
		return err
	}
	if own, ok := errors.AsType[*exitError](err); ok && own.said {
		return err
	}
	add := "braid context add NAME --server " + a.server
	switch {
	case errors.Is(err, braid.ErrAuthority):
		return fmt.Errorf("%w\nname the file of the authority's certificate with --ca-file FILE; to keep it: %s --ca-file FILE", err, add)
	case errors.Is(err, access.ErrUnauthenticated):
		return fmt.Errorf("%w\ngive a token with --token-file FILE or in %s; to keep it: %s --token-file FILE", err, tokenVariable, add)
	case errors.Is(err, braid.ErrServer) && a.origins["server"] != settings.FromFlag && a.origins["server"] != "":
		return fmt.Errorf("%w\nthe server is that of %s; --context %s asks none", err, a.serverFrom(), thisMachine)
	}
	return err
}
