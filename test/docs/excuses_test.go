package docs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// excuse is a block that nobody runs: the page says so above it, and here is why it may.
type excuse struct {
	page   string
	begins string // first line of the block
	reason string
}

// excuses is reviewed: a block that can be run is run.
func excuses() []excuse {
	return []excuse{
		{"docs/ledger.md", "-- How has a dashboard's p95", "it is PostgreSQL's; a test of internal/ledger runs it on a real ledger"},
		{"docs/operations.md", "install -m 0755 dist/braid", "it installs units on the machine; archtest reads the units themselves"},
		{"docs/operations.md", "braid token new --name ana", "it writes files of the machine, for units that are not installed"},
		{"docs/operations.md", "kubectl apply", "there is no cluster; a test of the manifests reads them strictly"},
		{"docs/recipes.md", "INSTALL httpfs", "DuckDB downloads the extension, and the pages are run without a network"},
	}
}

func TestOnlyListedBlocksAreNotRun(t *testing.T) {
	var marked []block
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if _, is := b.mark("not run"); is {
				marked = append(marked, b)
			}
		}
	}
	for _, finding := range checkExcuses(excuses(), marked) {
		t.Error(finding)
	}
}

// checkExcuses finds marks that nobody has reviewed, and reviewed ones that are gone.
func checkExcuses(list []excuse, marked []block) []string {
	var findings []string
	used := make(map[int]bool)
	for _, b := range marked {
		i := slices.IndexFunc(list, func(e excuse) bool { return e.page == b.page && strings.HasPrefix(b.body, e.begins) })
		if reason, _ := b.mark("not run"); reason == "" {
			findings = append(findings, b.at()+": is not run, and does not say why")
		}
		if i < 0 {
			findings = append(findings, fmt.Sprintf("%s: is not run, and excuses in test/docs/excuses_test.go does not list it: %.60q", b.at(), b.firstLine()))
		}
		used[i] = true
	}
	for i, e := range list {
		if !used[i] {
			findings = append(findings, fmt.Sprintf("%s has no block %q that is not run any more; remove its line in excuses", e.page, e.begins))
		}
	}
	return findings
}

// standIn is a command that does something else here than where a reader types it, or nothing at all.
type standIn struct {
	command string // as the pages write it; * stands for anything
	does    string // shell; empty: nothing
	reason  string
}

// standIns is reviewed, and each has to be used by some page. All of these commands are found under their first word; one that is in no line here is
// an error for those words, but for openssl and the like, which have no line at all.
func standIns() []standIn {
	const (
		recursion = "this test is one of those that it runs"
		built     = "the binaries are those that this test has built"
		network   = "it downloads; what it would bring is here already"
	)
	return []standIn{
		{"make demo", `mkdir "$USED.demo" 2>/dev/null && braid demo || [ -d "$USED.demo" ]`, built + ", and once is enough"},
		{"make help", "", "it lists what stands in the Makefile"},
		{"make test*", "", recursion},
		{"make check", "", recursion},
		{"make build", `mkdir -p dist && ln -sf "$BIN"/* dist/`, built},
		{"make chaos", "", "half an hour; CI has its own run of it"},
		{"go test *", "", recursion},
		{"go install github.com/nats-io/nats-server/v2@latest", "", network},
		{"go install github.com/nats-io/nkeys/nk@latest", "", network},
		{"nats stream backup *", "", "the tool is hundreds of modules; what it writes is NATS' own business"},
	}
}

// script gives the program that stands for all commands with one first word.
func script(word string, list []standIn, used string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#!/bin/bash\ncase \"$*\" in\n")
	for i, s := range list {
		name, arguments, _ := strings.Cut(s.command, " ")
		if name != word {
			continue
		}
		fmt.Fprintf(&b, "%s) echo %d >> %s; %s ;;\n", pattern(arguments), i, used, cmp.Or(s.does, ":"))
	}
	fmt.Fprintf(&b, "*) echo \"%s $*: no page may say this before standIns in test/docs/excuses_test.go says what becomes of it\" >&2; exit 99 ;;\nesac\n", word)
	return b.String()
}

// pattern quotes all but the stars.
func pattern(arguments string) string {
	parts := strings.Split(arguments, "*")
	for i, part := range parts {
		if part != "" {
			parts[i] = "'" + part + "'"
		}
	}
	return cmp.Or(strings.Join(parts, "*"), "''")
}

func TestPlantedExcusesAreFound(t *testing.T) {
	list := []excuse{{"a.md", "docker", "no engine"}, {"a.md", "gone", "…"}}
	got := checkExcuses(list, []block{
		{page: "a.md", body: "docker compose up\n", marks: []string{"not run: no engine"}},
		{page: "a.md", body: "rm\n", marks: []string{"not run: no heart"}},
	})
	if len(got) != 2 || !strings.Contains(got[0], `"rm"`) || !strings.Contains(got[1], `"gone"`) {
		t.Errorf("findings %q", got)
	}
}
