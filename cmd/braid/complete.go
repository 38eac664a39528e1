package main

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
)

// completeWait is how long a shell may be kept waiting for the ids of queries.
const completeWait = 700 * time.Millisecond

// completions says what each argument and flag may be, for shells. A completion never waits long, says nothing of errors and
// changes nothing.
func (a *app) completions(root *cobra.Command) {
	words := func(words ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	var formats []string
	for _, f := range output.Formats() {
		formats = append(formats, string(f))
	}
	folder := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	flags := map[string]cobra.CompletionFunc{
		"service": a.completeService, "collection": a.completeCollection, "context": a.completeContext,
		"format": words(formats...), "progress": words(progressModes()...), "color": words(colorModes()...), "log-level": words("debug", "info", "warn", "error"),
		"durability": words("safe", "fast"), "role": words("reader", "submitter", "operator", "admin"), "on-failure": words("stop", "finish"), "if-exists": words("fail", "replace", "append", "append_new", "upsert"),
		"data-dir": folder, "services-dir": folder, "dir": folder,
		"config": yamlFiles, "save-query": yamlFiles, "output": files(append(formats, "json")...),
	}
	arguments := map[string]cobra.CompletionFunc{
		"run": firstOnly(yamlFiles), "plan": firstOnly(yamlFiles), "submit": firstOnly(yamlFiles), "services check": yamlFiles,
		"services show": a.completeService, "services test": a.completeService,
	}
	for _, verb := range []string{"status", "results", "coverage", "manifest", "failed", "watch", "verify"} {
		arguments[verb] = a.completeQuery
	}
	arguments["resume"] = a.completeStates(func(s messages.QueryState) bool { return s != messages.Complete })
	arguments["retry"] = a.completeStates(func(s messages.QueryState) bool { return s == messages.Failed || s == messages.Interrupted })
	arguments["cancel"] = a.completeStates(func(s messages.QueryState) bool { return s != messages.Complete && s != messages.Cancelled })
	arguments["load apply"] = firstOnly(yamlFiles)
	arguments["rm"] = a.completeStates(func(s messages.QueryState) bool { return !s.Active() })
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, name := range slices.Sorted(keysOf(flags)) {
			if cmd.LocalNonPersistentFlags().Lookup(name) == nil && (cmd.HasParent() || cmd.PersistentFlags().Lookup(name) == nil) {
				continue
			}
			if err := cmd.RegisterFlagCompletionFunc(name, flags[name]); err != nil {
				panic(err) // the flag is not declared
			}
		}
		if complete := arguments[strings.TrimPrefix(cmd.CommandPath(), root.Name()+" ")]; complete != nil {
			cmd.ValidArgsFunction = complete
		} else if cmd.ValidArgsFunction == nil && !cmd.HasSubCommands() {
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

func keysOf(m map[string]cobra.CompletionFunc) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

func files(endings ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(endings, cobra.ShellCompDirectiveFilterFileExt)
}

func yamlFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

func firstOnly(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, to string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, to)
	}
}

// completeService completes the name of a service as the first argument, or as the value of a flag.
func (a *app) completeService(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || !a.settled(cmd) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, name := range a.definitions().Names() {
		title := ""
		if d, err := a.definitions().Open(name); err == nil {
			title = d.Title
		}
		names = append(names, explained(name, title))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// explained is a word for a shell with what it means.
func explained(word, meaning string) string {
	if meaning == "" {
		return word
	}
	return cobra.CompletionWithDesc(word, meaning)
}

// completeCollection completes the name of a collection of the service that --service or the first argument names.
func (a *app) completeCollection(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	name := first(args)
	if flag := cmd.Flags().Lookup("service"); flag != nil && flag.Value.String() != "" {
		name = flag.Value.String()
	}
	if name == "" || !a.settled(cmd) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	d, err := a.definitions().Open(name)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := make([]string, len(d.Collections))
	for i, c := range d.Collections {
		names[i] = explained(c.Name, c.Title)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeContext(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 && cmd.Flags().Lookup("context") == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := []string{cobra.CompletionWithDesc(thisMachine, "no server: the queries of this machine")}
	for _, name := range a.contextNames() {
		names = append(names, explained(name, a.shownContext(name).Server))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeSetting(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return settingKeys(cmd.Root()), cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeQuery(cmd *cobra.Command, args []string, to string) ([]string, cobra.ShellCompDirective) {
	return a.completeStates(func(messages.QueryState) bool { return true })(cmd, args, to)
}

// completeStates completes the id of a query in one of some states, the newest first, with its name and state.
func (a *app) completeStates(in func(messages.QueryState) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		if len(args) > 0 || !a.settled(cmd) {
			return nil, directive
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWait)
		defer cancel()
		var ids []string
		for _, q := range a.knownQueries(ctx) {
			if in(q.State) {
				ids = append(ids, cobra.CompletionWithDesc(q.ID, q.Name+", "+string(q.State)))
			}
		}
		return ids, directive
	}
}

// knownQuery is what a completion tells of a query.
type knownQuery struct {
	ID    string              `json:"id"`
	Name  string              `json:"name"`
	State messages.QueryState `json:"state"`
}

// mostKnown bounds what is kept for completions, and what a shell has to show.
const mostKnown = 200

func known(all []*messages.Status) []knownQuery {
	var list []knownQuery
	for _, s := range all[:min(len(all), mostKnown)] {
		list = append(list, knownQuery{s.Query.ID, s.Query.Name, s.Query.State})
	}
	return list
}

// knownQueries asks whoever can answer at once: the server, the process that has the data directory, else what the last one noted.
func (a *app) knownQueries(ctx context.Context) []knownQuery {
	client, err := a.client()
	if a.server == "" {
		client, err = braid.NewSocketClient(a.dataDir)
	}
	if err == nil {
		if all, err := client.Statuses(ctx); err == nil {
			return known(all)
		}
	}
	if a.server != "" {
		return nil
	}
	var list []knownQuery
	data, err := readFile(a.knownFile())
	if err != nil || json.Unmarshal(data, &list) != nil {
		return nil
	}
	return slices.DeleteFunc(list, func(q knownQuery) bool { return messages.CheckName(q.ID) != nil || messages.CheckName(q.Name) != nil })
}

func (a *app) knownFile() string { return filepath.Join(a.dataDir, "queries.json") }

// noteQueries notes for completions which queries the data directory has, so that a shell does not wait for a server to start.
func (s *session) noteQueries(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), completeWait)
	defer cancel()
	all, err := s.Statuses(ctx)
	if err != nil {
		return
	}
	data, err := json.Marshal(known(all))
	if err == nil {
		err = writePrivate(s.app.knownFile(), string(data)+"\n")
	}
	if err != nil {
		s.app.log.Debug("the ids of queries are not noted for completions", "error", err)
	}
}

// settled resolves the settings for a completion, which complains of nothing.
func (a *app) settled(cmd *cobra.Command) bool {
	a.stderr = io.Discard
	return a.setUp(cmd) == nil
}
