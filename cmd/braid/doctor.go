package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/service"
)

// verdict is what a check came to.
type verdict string

// The verdicts: as it should be; something to know, with which Braid works; something with which it does not.
const (
	fine     verdict = "ok"
	doubtful verdict = "warn"
	broken   verdict = "fail"
)

// check is one thing that Braid needs, and how it stands.
type check struct {
	Name   string  `json:"name"`
	Status verdict `json:"status"`
	Text   string  `json:"text"`           // what was found
	Why    string  `json:"why,omitempty"`  // what it means for work
	Cure   string  `json:"cure,omitempty"` // what to do about it
}

func (a *app) doctorCommand() *cobra.Command {
	var online bool
	var nats bus.Config
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check what Braid needs on this machine, or of a server", Args: cobra.NoArgs,
		Long: `Checks settings, contexts and service definitions, the data directory and its disk, the server in this process or the one
that --server or a context names, the clock against that server's and NATS's, credentials, limits and the terminal. With
--nats-url the NATS server that coordinators and workers of other processes use is checked too. Nothing is changed and no service is
asked, unless --online is given: then each service gets one HEAD request without a credential, which may count as a request
of the quota of this machine's address.

The exit code is 0 when nothing failed, whatever is doubtful, and else 1.`,
		Example: `  braid doctor
  braid doctor --server https://braid.example.org --json
  braid doctor --nats-url nats://nats.example.org:4222 --nats-creds braid.creds
  braid doctor --online`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context(), online, nats) },
	}
	cmd.Flags().BoolVar(&online, "online", false, "ask each service whether it can be reached, by one request without a credential")
	settings.OnlyFlags(cmd.Flags(), "online")
	natsFlagsOn(cmd.Flags(), &nats)
	return cmd
}

func (a *app) doctor(ctx context.Context, online bool, nats bus.Config) error {
	checks := []check{a.checkSettings()}
	if a.trouble == nil {
		checks = append(checks, a.checkContexts())
		if a.server != "" {
			checks = append(checks, a.checkServer(ctx)...)
		} else {
			checks = append(checks, a.checkDataDir(), a.checkDisk())
			checks = append(checks, a.checkStore(ctx)...)
		}
		checks = append(checks, a.checkDefinitions())
		checks = append(checks, a.checkCredentials()...)
		if nats.URL != "" {
			checks = append(checks, checkNATS(ctx, nats)...)
		}
		if online {
			checks = append(checks, a.checkReach(ctx)...)
		}
	}
	checks = append(checks, a.checkFiles(), a.checkTerminal())
	bad, doubts := 0, 0
	for _, c := range checks {
		switch c.Status {
		case broken:
			bad++
		case doubtful:
			doubts++
		case fine:
		}
	}
	if a.json {
		if err := a.printJSON(map[string]any{"ok": bad == 0, "checks": checks}); err != nil {
			return err
		}
	} else {
		a.printChecks(checks)
	}
	if bad > 0 {
		return &exitError{code: exitInternal, err: fmt.Errorf("%s of %s failed", thousands(int64(bad)), count(int64(len(checks)), "check"))}
	}
	if !a.json && !a.isQuiet() {
		text := "Braid can work here"
		if doubts > 0 {
			text += "; " + count(int64(doubts), "thing") + " to know"
		}
		a.line("ok", "%s", text)
	}
	return nil
}

func (a *app) printChecks(checks []check) {
	for _, c := range checks {
		fmt.Fprintf(a.stdout, "%-5s %-12s %s\n", c.Status, c.Name, c.Text)
		for _, more := range []struct{ label, text string }{{"why", c.Why}, {"do", c.Cure}} {
			if more.text != "" {
				fmt.Fprintf(a.stdout, "%-5s %12s %s\n", "", more.label+":", more.text)
			}
		}
	}
}

func (a *app) checkSettings() check {
	c := check{Name: "settings", Status: fine}
	if a.trouble != nil {
		c.Status, c.Text = broken, strings.TrimSpace(strings.ReplaceAll(a.trouble.Error(), "\n", "; "))
		c.Why, c.Cure = "no command runs with it", "correct it; braid config path tells where it stands"
		return c
	}
	places, err := a.places()
	if err != nil {
		c.Status, c.Text = doubtful, err.Error()
		return c
	}
	c.Text = "no settings file: flags, variables and defaults count"
	if places[0].Exists {
		c.Text = places[0].Path + " is valid"
	}
	return c
}

func (a *app) checkContexts() check {
	names := a.contextNames()
	c := check{Name: "contexts", Status: fine, Text: "there are none"}
	if len(names) > 0 {
		c.Text = strings.Join(names, ", ")
		if a.picked.name != "" {
			c.Text += "; " + a.picked.name + " is used"
		}
	}
	for _, name := range names {
		shown := a.shownContext(name)
		if path, err := a.contextFile(name); err == nil && shown.Problem == "" {
			if mode, open := changedByOthers(path); open {
				c.Status, c.Text, c.Why = doubtful, fmt.Sprintf("%s: others can change %s (mode %04o)", name, path, mode), "they can have its token sent elsewhere"
				c.Cure = "chmod 600 " + quoteArg(path)
			}
		}
		switch {
		case shown.Problem != "":
			c.Status, c.Text = broken, name+": "+shown.Problem
			c.Cure = "braid context add " + name + " --replace --server URL, or braid context rm " + name
		case shown.TokenFile != "":
			if mode, open := openToOthers(shown.TokenFile); open {
				c.Status, c.Text = doubtful, fmt.Sprintf("%s: others can read the token in %s (mode %04o)", name, shown.TokenFile, mode)
				c.Cure = "chmod 600 " + quoteArg(shown.TokenFile)
			}
		}
	}
	return c
}

// checkDataDir tells whether the data directory can be written, without making it.
func (a *app) checkDataDir() check {
	c := check{Name: "data", Status: fine, Text: a.dataDir}
	dir, missing := a.dataDir, false
	for {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			return check{"data", broken, dir + " is no folder", "nothing can be kept", "name another with --data-dir"}
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir {
			return check{"data", broken, err.Error(), "nothing can be kept", "name another with --data-dir"}
		}
		dir, missing = filepath.Dir(dir), true
	}
	file, err := os.CreateTemp(dir, ".braid-doctor-*")
	if err != nil {
		return check{"data", broken, err.Error(), "nothing can be kept", "make " + dir + " writable, or name another folder with --data-dir"}
	}
	_ = file.Close()
	_ = os.Remove(file.Name())
	if missing {
		c.Text += " is made by the first query"
	} else {
		c.Text += " is writable"
	}
	return c
}

const littleSpace = 1 << 30

func (a *app) checkDisk() check {
	dir := a.dataDir
	for {
		if _, err := os.Stat(dir); err == nil || filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	free, err := freeBytes(dir)
	switch {
	case err != nil:
		return check{Name: "disk", Status: doubtful, Text: "how much is free cannot be told: " + err.Error()}
	case free < littleSpace:
		return check{"disk", doubtful, fileSize(free) + " free", "a query pauses when its results no longer fit", "braid gc --older-than 30d, or another --data-dir"}
	}
	return check{Name: "disk", Status: fine, Text: fileSize(free) + " free"}
}

// checkStore starts the server of this process: on the data directory where it is there and nobody has it, else beside it.
func (a *app) checkStore(ctx context.Context) []check {
	c := check{Name: "store", Status: fine}
	dir := a.dataDir
	if _, err := os.Stat(filepath.Join(dir, "jetstream")); err != nil {
		temp, err := os.MkdirTemp("", "braid-doctor-")
		if err != nil {
			return []check{{"store", broken, err.Error(), "the server of this process cannot be tried", "make the folder for temporary files writable"}}
		}
		defer func() { _ = os.RemoveAll(temp) }()
		dir = temp
	}
	e, err := braid.OpenEmbedded(ctx, braid.EmbeddedConfig{Dir: dir, Definitions: a.definitions(), Getenv: a.getenv, Log: slog.New(slog.DiscardHandler)})
	switch {
	case errors.Is(err, bus.ErrDirInUse):
		c.Text = "a process has it"
		if h := a.readHouse(); h.URL != "" {
			c.Text = fmt.Sprintf("braid up (process %d) has it, and serves %s", h.Process, h.URL)
		}
		return append([]check{c}, a.clockOfHouse(ctx)...)
	case err != nil:
		return []check{{"store", broken, err.Error(), "no query can run in a process of its own", "see docs/operations.md, or name another folder with --data-dir"}}
	}
	c.Text = "the embedded NATS server starts"
	if all, err := e.Statuses(ctx); err == nil && dir == a.dataDir {
		c.Text += "; " + count(int64(len(all)), "query")
	}
	checks := []check{c}
	if clock, told := clockByWorkers(ctx, e, "NATS's"); told {
		checks = append(checks, clock)
	}
	if err := e.Close(); err != nil {
		return []check{{"store", broken, "it does not close: " + err.Error(), "", "try again; then see docs/operations.md"}}
	}
	return checks
}

func (a *app) checkDefinitions() check {
	c := check{Name: "services", Status: fine}
	names := a.definitions().Names()
	c.Text = count(int64(len(names)), "definition") + ", all valid"
	for _, name := range names {
		if _, err := a.definitions().Open(name); err != nil {
			c.Status = broken
			c.Text = name + ": " + oneLine(problemText(err))
			c.Why, c.Cure = "queries of it cannot be planned", "braid services check FILE tells all that is wrong"
		}
	}
	return c
}

// checkCredentials tells of each service that names credentials whether they are there, and never what they are.
func (a *app) checkCredentials() []check {
	var checks []check
	sources := fetch.CredentialSources{Getenv: a.getenv, Dir: filepath.Dir(a.servicesDir)}
	for _, name := range a.definitions().Names() {
		d, err := a.definitions().Open(name)
		if err != nil {
			continue // told already
		}
		for _, credential := range d.CredentialsFor(d.BaseURL) {
			checks = append(checks, credentialCheck(name, credential, sources))
		}
	}
	return checks
}

func credentialCheck(name string, credential service.Credential, sources fetch.CredentialSources) check {
	c := check{Name: "credential", Status: fine, Text: name + ": " + credential.ID + " is set"}
	var places []string
	for _, source := range credential.From {
		switch source.Kind {
		case "env":
			places = append(places, source.Name)
		case "file":
			places = append(places, filepath.Join(sources.Dir, source.Name)+" (mode 0600)")
		}
	}
	_, found, err := sources.Resolve(credential)
	switch {
	case err != nil:
		c.Status, c.Text, c.Why = broken, name+": "+credential.ID+": "+err.Error(), "queries of it fail with exit code 4"
	case !found && credential.Required:
		c.Status, c.Text = doubtful, name+": "+credential.ID+" is not set, and the service demands it"
		c.Why, c.Cure = "queries of it fail with exit code 4", "set "+strings.Join(places, " or ")
	case !found:
		c.Text, c.Cure = name+": "+credential.ID+" is not set; it would raise the quota", "set "+strings.Join(places, " or ")
	}
	return c
}

const fewFiles = 1024

func (a *app) checkFiles() check {
	limit, known := fileLimit()
	switch {
	case !known:
		return check{Name: "files", Status: fine, Text: "no limit of open files is known here"}
	case limit < fewFiles:
		return check{"files", doubtful, fmt.Sprintf("a process may open %s files", thousands(int64(limit))), "many workers and connections need more", fmt.Sprintf("ulimit -n %d", 4*fewFiles)}
	}
	return check{Name: "files", Status: fine, Text: fmt.Sprintf("a process may open %s files", thousands(int64(min(limit, 1<<62))))}
}

func (a *app) checkTerminal() check {
	c := check{Name: "terminal", Status: fine, Text: "stderr is none: progress is a line every 30 s"}
	if f, ok := a.stderr.(*os.File); ok && a.isTerminal() {
		width, height, err := term.GetSize(int(f.Fd())) //nolint:gosec // a file descriptor
		c.Text = fmt.Sprintf("%d columns, %d lines", width, height)
		if err != nil || width <= 0 {
			c.Status, c.Text = doubtful, "it does not tell its width; lines are cut at "+fmt.Sprint(listWidth)
		}
	}
	if a.getenv("NO_COLOR") != "" {
		c.Text += "; without colour (NO_COLOR)"
	}
	return c
}

const reachWait = 10 * time.Second
