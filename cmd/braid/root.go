package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/braidhq/braid/internal/logging"
	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// app is one invocation of the command.
type app struct {
	getenv         func(string) string
	stdout, stderr io.Writer
	log            *slog.Logger

	config      string
	dataDir     string
	server      string
	following   string // id of the query that this process runs or watches
	here        string // URL of the braid up of the data directory, where that is the server
	context     string
	tokenFile   string
	caFile      string
	color       string
	picked      picked // the context that counts
	servicesDir string
	serviceURL  map[string]string
	logLevel    string
	progress    string
	json        bool
	trouble     error // with the settings, of doctor
	jsonTold    bool  // something is on stdout as JSON
	failOnEmpty bool
	into        intoPostgres // of the flags
	tableOnly   bool
	waits       bool // --wait was given
	embedded    embeddedFlags
	origins     map[string]settings.Origin // where each setting came from
	library     *service.Library           // definitions that were opened
	telemetry   *braid.Telemetry           // of braid up; nil: nobody listens
}

type embeddedFlags struct {
	workers     int
	concurrency int
	inFlight    messages.InFlight
	priority    int
	weight      int
	listen      string
	durability  string
	fastSync    bool
	maxStore    settings.Size
	leaseTTL    time.Duration
	grace       time.Duration
}

// run is the whole program. It returns the exit code.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	a := &app{getenv: getenv, stdout: stdout, stderr: stderr, library: service.NewLibrary()}
	root := a.root() //nolint:contextcheck // cobra gives each command its context
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := a.advised(root.ExecuteContext(ctx))
	code := exitCode(ctx, err)
	if err != nil {
		a.json = a.json || slices.Contains(args, "--json") // a wrong flag before it hid it
		a.ended(code, err)
	}
	return code
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "braid",
		Short: "Run one logical query over a quota-limited HTTP service to one finished table",
		Example: `  braid demo
  braid plan daily-flow.yaml
  braid run daily-flow.yaml -o flow.parquet
  braid up`,
		Long: `Braid divides a query into chunks, runs them without ever exceeding the service's concurrency cap or
quota, keeps what is complete through every interruption, and writes one finished table.

` + exitHelp,
		SilenceUsage: true, SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			err := a.setUp(cmd)
			if err != nil && isWithin(cmd, "doctor") { // it is there to tell what is wrong
				a.trouble, err = err, nil
			}
			return err
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%w%s; see %s --help", settings.FlagError(err), nearestFlag(cmd, err), cmd.CommandPath())
	})
	versionFlag(root)
	flags := root.PersistentFlags()
	flags.StringVar(&a.config, "config", "", "settings file (default: braid/config.yaml in the user's config folder)")
	flags.StringVar(&a.dataDir, "data-dir", "", "folder that keeps queries and their results (default: braid in the user's data folder)")
	flags.StringVar(&a.server, "server", "", "URL of a coordinator to use instead of this process")
	flags.StringVar(&a.context, "context", "", "context whose server is used; local: none (default: the selected one)")
	flags.StringVar(&a.tokenFile, "token-file", "", "file with the token that the server wants")
	flags.StringVar(&a.caFile, "ca-file", "", "file of certificates that the server's is to be signed by (default: the system's)")
	settings.NotInFile(flags, "context")
	flags.StringVar(&a.servicesDir, "services-dir", "", "folder of service definitions (default: braid/services in the user's config folder)")
	flags.StringToStringVar(&a.serviceURL, "service-url", nil, "base URL of a mirror or simulator: `SERVICE=URL`; no credential is sent there")
	flags.Lookup("service-url").DefValue = "" // and not "[]", which is no way to write that there is none
	flags.StringVar(&a.logLevel, "log-level", "error", "what is logged on stderr: debug, info, warn, error")
	flags.StringVar(&a.progress, "progress", "auto", "progress on stderr: auto, tty, plain, json, quiet")
	flags.StringVar(&a.color, "color", "auto", "colour on terminals: auto, always, never; NO_COLOR is heeded")
	flags.BoolVar(&a.json, "json", false, "print JSON on stdout")
	root.AddCommand(a.runCommand(), a.resumeCommand(), a.listCommand(), a.statusCommand(), a.resultsCommand(), a.coverageCommand(), a.manifestCommand(), a.failedCommand(), a.retryCommand(), a.cancelCommand(),
		a.upCommand(), a.workersCommand(), a.submitCommand(), a.watchCommand(), a.contextCommand(), a.configCommand(), a.doctorCommand(), a.manCommand(),
		a.removeCommand(), a.verifyCommand(), a.gcCommand(), a.planCommand(), a.quotaCommand(), a.servicesCommand(), a.demoCommand(), a.simulatorCommand(), a.loadCommand(), a.tokenCommand(), a.ledgerCommand(), a.versionCommand())
	a.completions(root)
	a.fitHelp(root)
	wrapArgErrors(root)
	return root
}

// wrapArgErrors makes wrong arguments exit as wrong use.
func wrapArgErrors(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return wrongArgs(cmd, args)
			}
			return nil
		}
	} else if cmd.HasSubCommands() {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("there is no command %q%s; see %s --help", args[0], strictyaml.DidYouMean(args[0], commandNames(cmd)), cmd.CommandPath())
			}
			return nil
		}
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	for _, sub := range cmd.Commands() {
		wrapArgErrors(sub)
	}
}

// nearestFlag names the flag that was meant, where one was given that there is not.
func nearestFlag(cmd *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || unknown.GetSpecifiedShortnames() != "" {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	near := strictyaml.Nearest(unknown.GetSpecifiedName(), names)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean --%s?", near)
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	return names
}

// setUp resolves settings: flag, environment, settings file, default.
func (a *app) setUp(cmd *cobra.Command) error {
	if cmd.Name() == cobra.ShellCompRequestCmd || cmd.Name() == cobra.ShellCompNoDescRequestCmd {
		return nil // a completion settles what it needs, and complains of nothing
	}
	file, err := a.settingsFile(cmd)
	if err != nil {
		return &exitError{code: exitUsage, err: err}
	}
	if a.picked, err = a.pickContext(cmd); err != nil {
		return err
	}
	if a.origins, err = settings.Apply(cmd.Flags(), a.hidden(a.picked), a.picked.file, file); err != nil {
		return &exitError{code: exitUsage, err: err}
	}
	if a.picked.name == "" && (a.picked.from == settings.FromFlag || a.picked.from == settings.FromEnv) {
		a.server = "" // --context local, whatever the settings file says
	}
	if asksNoServer(cmd) {
		a.server = ""
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(a.logLevel)); err != nil {
		return usage("--log-level is %q; use debug, info, warn or error", a.logLevel)
	}
	if a.log, err = logging.New(a.stderr, logging.Text, level); err != nil {
		return err
	}
	if err := a.checkWords(); err != nil {
		return err
	}
	if a.dataDir == "" {
		if a.dataDir, err = userDir(a.getenv, "XDG_DATA_HOME", ".local/share"); err != nil {
			return err
		}
	}
	a.dataDir, a.servicesDir = a.expandHome(a.dataDir), a.expandHome(a.servicesDir)
	if a.servicesDir != "" {
		if info, err := os.Stat(a.servicesDir); err != nil || !info.IsDir() {
			return usage("--services-dir: %s is no folder", a.servicesDir)
		}
	}
	if a.servicesDir == "" {
		if dir, err := userDir(a.getenv, "XDG_CONFIG_HOME", ".config"); err == nil {
			a.servicesDir = filepath.Join(dir, "services")
		}
	}
	return a.checkServiceURL()
}

// checkWords refuses words that settings do not know.
func (a *app) checkWords() error {
	for _, w := range []struct {
		flag, word string
		known      []string
	}{{"progress", a.progress, progressModes()}, {"color", a.color, colorModes()}} {
		if !slices.Contains(w.known, w.word) {
			did := ""
			if near := strictyaml.Nearest(w.word, w.known); near != "" {
				did = fmt.Sprintf("did you mean %q? ", near)
			}
			return usage("--%s is %q; %suse %s", w.flag, w.word, did, strings.Join(w.known, ", "))
		}
	}
	return nil
}

func (a *app) settingsFile(cmd *cobra.Command) (*settings.File, error) {
	path := a.config
	if path == "" {
		path = a.getenv("BRAID_CONFIG")
	}
	asked := path != ""
	if !asked {
		dir, err := userDir(a.getenv, "XDG_CONFIG_HOME", ".config")
		if err != nil {
			return nil, nil //nolint:nilerr // without a home there is no settings file
		}
		path = filepath.Join(dir, "config.yaml")
	}
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) && !asked {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("settings file: %w", err)
	}
	return settings.ParseFile(path, data, settingKeys(cmd.Root()))
}

// settingKeys are the settings of all commands but completion: one file serves them all.
func settingKeys(root *cobra.Command) []string {
	var keys []string
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		keys = append(keys, settings.Keys(cmd.LocalFlags())...)
		for _, sub := range cmd.Commands() {
			if sub.Name() != "completion" {
				walk(sub)
			}
		}
	}
	walk(root)
	slices.Sort(keys)
	return slices.Compact(keys)
}

func userDir(getenv func(string) string, variable, below string) (string, error) {
	if dir := getenv(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, "braid"), nil
	}
	home := getenv("HOME")
	if home == "" {
		return "", usage("neither %s nor HOME is set; name a folder with --data-dir", variable)
	}
	return filepath.Join(home, below, "braid"), nil
}

// expandHome is what a shell does with a path that begins with ~/, for paths that no shell has seen.
func (a *app) expandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && a.getenv("HOME") != "" {
		return filepath.Join(a.getenv("HOME"), rest)
	}
	return path
}

// checkServiceURL refuses addresses that would be silently passed over.
func (a *app) checkServiceURL() error {
	if len(a.serviceURL) == 0 {
		return nil
	}
	if a.server != "" && a.origins["service-url"] == settings.FromFlag {
		return usage("--service-url has no effect on the server of %s: give it to the coordinator", a.serverFrom())
	}
	names := a.definitions().Names()
	for _, name := range slices.Sorted(maps.Keys(a.serviceURL)) {
		if !slices.Contains(names, name) {
			return usage("--service-url: there is no service %q%s", name, strictyaml.DidYouMean(name, names))
		}
	}
	return nil
}

// checkEmbedded refuses numbers with which a query in this process could not run.
func (a *app) checkEmbedded() error {
	switch e := a.embedded; {
	case e.workers < 0 || e.workers == 0 && e.listen == "" && a.server == "":
		return usage("--workers is %d; use at least 1, or 0 with --listen for workers of other processes", e.workers)
	case e.concurrency < 1:
		return usage("--concurrency is %d; use at least 1", e.concurrency)
	}
	if _, err := a.durability(); err != nil {
		return err
	}
	if err := messages.CheckPriority(a.embedded.priority); err != nil {
		return usage("--priority: %w", err)
	}
	if err := messages.CheckWeight(a.embedded.weight); err != nil {
		return usage("--weight: %w", err)
	}
	return nil
}

// durability is that of the server in this process.
func (a *app) durability() (braid.Durability, error) {
	d, err := braid.ParseDurability(a.embedded.durability)
	switch {
	case err != nil:
		return "", usage("--durability: %w", err)
	case a.embedded.fastSync && d == braid.Safe:
		return "", usage("--fast-sync is --durability fast, and --durability says safe; use one of them")
	case a.embedded.fastSync && d == "":
		d = braid.Fast
	}
	return d, nil
}

func (a *app) definitions() braid.Definitions {
	return braid.Definitions{Dir: a.servicesDir, Base: a.serviceURL, Library: a.library}
}

// lanes is how many chunks at a time the workers of this process take; 0: those of other processes may take more.
func (a *app) lanes() int {
	if a.server != "" || a.embedded.listen != "" {
		return 0
	}
	return int(min(int64(a.embedded.workers)*int64(a.embedded.concurrency), messages.MaxSlots))
}

// embeddedFlagsOn adds the flags of commands that run a query in this process, or tell what a run would do.
func (a *app) embeddedFlagsOn(flags *pflag.FlagSet) {
	a.standingFlagsOn(flags)
	flags.StringVar(&a.embedded.listen, "listen", "", "host:port on which workers of other processes may join (default: no port is opened)")
	a.processFlagsOn(flags)
}

// standingFlagsOn adds the flags of how a query stands at its service.
func (a *app) standingFlagsOn(flags *pflag.FlagSet) {
	settings.InFlightVar(flags, &a.embedded.inFlight, "in-flight", "requests in flight at the service, over all workers (default: as query and definition say)")
	flags.IntVar(&a.embedded.priority, "priority", 0, "while a query has work to give out, those of lower priority at its service get nothing; -10 to 10")
	flags.IntVar(&a.embedded.weight, "weight", 1, "of the query's share among those of its priority at its service; 1 to 100")
}

// engineFlagsOn adds the flags of a process that runs whatever is submitted.
func (a *app) engineFlagsOn(flags *pflag.FlagSet) {
	settings.InFlightVar(flags, &a.embedded.inFlight, "in-flight", "requests in flight at each service over all workers, whatever queries ask for (default: as they and its definition say)")
	a.embedded.weight = 1
	a.processFlagsOn(flags)
}

// processFlagsOn adds the flags of the server and the workers of this process.
func (a *app) processFlagsOn(flags *pflag.FlagSet) {
	flags.IntVar(&a.embedded.workers, "workers", 2, "workers in this process")
	flags.IntVar(&a.embedded.concurrency, "concurrency", 32, "most chunks at once in each worker")
	flags.StringVar(&a.embedded.durability, "durability", "", "safe: flush to disk at each write; fast: each second, a power cut may cost the last second's results (default: safe)")
	flags.BoolVar(&a.embedded.fastSync, "fast-sync", false, "the same as --durability fast")
	flags.Var(&a.embedded.maxStore, "max-store", "what the results of all queries may take on disk, such as 20GB (default: 80 % of what was free at first)")
	flags.DurationVar(&a.embedded.leaseTTL, "lease-ttl", 10*time.Second, "a dead worker's slots are free again after this")
	flags.DurationVar(&a.embedded.grace, "grace", 20*time.Second, "after a stop, how long requests in flight may take to finish")
}
