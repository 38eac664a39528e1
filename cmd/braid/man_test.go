package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/internal/testkit/program"
	"github.com/braidhq/braid/pkg/service"
)

func newRoot() *cobra.Command {
	a := &app{getenv: func(string) string { return "" }, stdout: io.Discard, stderr: io.Discard, library: service.NewLibrary()}
	return a.root()
}

// The manual in docs/cli is that of the commands: `go test ./cmd/braid -run TestTheManual -update` writes it anew.
func TestTheManualIsThatOfTheCommands(t *testing.T) {
	dir, err := filepath.Abs("../../docs/cli")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := manual(newRoot(), "markdown")
	if err != nil {
		t.Fatal(err)
	}
	there, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]bool{}
	for _, p := range pages {
		wanted[p.name] = true
		golden(t, dir, p.name, string(p.text))
	}
	for _, path := range there {
		switch name := filepath.Base(path); {
		case wanted[name]:
		case *update:
			if err := os.Remove(path); err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("%s is the page of no command", name)
		}
	}
}

func TestTheManualIsWrittenTheSameTwice(t *testing.T) {
	for _, format := range []string{"man", "markdown"} {
		first, err := manual(newRoot(), format)
		if err != nil {
			t.Fatal(err)
		}
		second, err := manual(newRoot(), format)
		if err != nil || len(first) != len(second) {
			t.Fatal(len(first), len(second), err)
		}
		for i := range first {
			if first[i].name != second[i].name || !bytes.Equal(first[i].text, second[i].text) {
				t.Errorf("%s and %s differ", first[i].name, second[i].name)
			}
		}
	}
	if _, err := manual(newRoot(), "html"); err == nil {
		t.Error("an unknown format is written")
	}
}

func TestMandocHasNothingToSayOfTheManPages(t *testing.T) {
	mandoc := program.Find(t, "mandoc", "mandoc")
	dir := t.TempDir()
	pages, err := manual(newRoot(), "man")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		path := filepath.Join(dir, p.name)
		if err := os.WriteFile(path, p.text, 0o600); err != nil {
			t.Fatal(err)
		}
		// Warnings are of taste: md2man writes macros that mandoc takes for old. Errors lose text.
		out, err := exec.CommandContext(t.Context(), mandoc, "-Tlint", "-Werror", path).CombinedOutput() //nolint:gosec // a program that lints
		if err != nil {
			t.Errorf("%s: %s", p.name, out)
		}
	}
}

// Markdown takes what stands between two underscores for emphasis, and so the pages lost those of variables.
func TestEveryVariableOfAHelpTextIsInItsManPage(t *testing.T) {
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		mandoc = "cat"
	}
	variable := regexp.MustCompile(`BRAID_[A-Z_]+[A-Z]|--set [A-Z]+=\S+`)
	pages := map[string]string{}
	all, err := manual(newRoot(), "man")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		pages[p.name] = string(p.text)
	}
	everyCommand(newRoot(), func(cmd *cobra.Command) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		wanted := variable.FindAllString(cmd.Long, -1)
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { wanted = append(wanted, variable.FindAllString(flag.Usage, -1)...) })
		if len(wanted) == 0 {
			return
		}
		render := exec.CommandContext(t.Context(), mandoc) //nolint:gosec // a program that shows a page
		if mandoc != "cat" {
			render = exec.CommandContext(t.Context(), mandoc, "-Tascii", "-Owidth=200") //nolint:gosec // likewise
		}
		render.Stdin = strings.NewReader(pages[name])
		out, err := render.Output()
		if err != nil {
			t.Fatal(err)
		}
		shown := regexp.MustCompile(".\b").ReplaceAllString(strings.ReplaceAll(string(out), `\-`, "-"), "") // overstruck
		for _, want := range wanted {
			if !strings.Contains(shown, want) {
				t.Errorf("%s does not show %s", name, want)
			}
		}
		if strings.Contains(shown, "--set NAME=VALUE") && indentOf(shown, "--set NAME=VALUE") != indentOf(shown, "--set time=FROM/TO") {
			t.Errorf("%s indents the lines of a list unevenly", name)
		}
	})
}

// indentOf is where a line begins that has the text.
func indentOf(text, what string) int {
	before, _, _ := strings.Cut(text, what)
	return len(before) - strings.LastIndexByte(before, '\n')
}

// everyCommand walks all that a person can run.
func everyCommand(root *cobra.Command, visit func(*cobra.Command)) {
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() && cmd.Name() != "completion" {
			visit(cmd)
			everyCommand(cmd, visit)
		}
	}
}

// Each example is one that the command line takes: the command is there, and so are its flags.
func TestEveryCommandHasExamplesThatAreUnderstood(t *testing.T) {
	everyCommand(newRoot(), func(cmd *cobra.Command) {
		if cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for line := range strings.Lines(strings.ReplaceAll(cmd.Example, "\\\n", "")) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), " |")
			if !strings.HasPrefix(line, "braid ") {
				continue
			}
			root := newRoot()
			args := strings.Fields(strings.ReplaceAll(line, "'", ""))[1:]
			found, rest, err := root.Find(args)
			if err == nil {
				err = found.ParseFlags(rest)
			}
			if err == nil && found.Args != nil {
				err = found.Args(found, found.Flags().Args())
			}
			if err != nil || found == root {
				t.Errorf("%q of %s is not understood: %v", line, cmd.CommandPath(), err)
			}
		}
	})
}

// Flags of one name are settings of one meaning, or have names of their own as settings.
func TestASettingMeansOneThing(t *testing.T) {
	types := map[string]string{}
	everyCommand(newRoot(), func(cmd *cobra.Command) {
		cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
			key := nameAsSetting(flag)
			if key == "" {
				return
			}
			kind := strings.TrimSuffix(flag.Value.Type(), "Array")
			if before, ok := types[key]; ok && before != kind {
				t.Errorf("%s: %s is a %s here and a %s elsewhere", cmd.CommandPath(), key, kind, before)
			}
			types[key] = kind
		})
	})
	for _, key := range []string{"listen", "api-listen", "simulator-listen"} {
		if types[key] != "string" {
			t.Errorf("there is no setting %s", key)
		}
	}
}

func nameAsSetting(flag *pflag.Flag) string {
	if !settings.IsSetting(flag) {
		return ""
	}
	return settings.NameOf(flag)
}
