package docs

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/braidhq/braid/test/rig"
)

// mention is a command that a page names in a sentence, or that the help of a command gives as an example.
type mention struct{ at, command string }

var (
	span      = regexp.MustCompile("`((?:braid|coordinator|worker) [^`]+)`")
	behind    = regexp.MustCompile(`[|<>&;#…(].*$`)
	aNumber   = regexp.MustCompile(` N\b`) // stands for a number
	continued = regexp.MustCompile(`\\\n\s*`)
)

// mentions finds them. What stands behind a pipe, a comment or an ellipsis is left out.
func (p page) mentions() []mention {
	var all []mention
	add := func(at, command string) {
		command = strings.TrimSpace(behind.ReplaceAllString(command, ""))
		if words := strings.Fields(command); len(words) > 1 && words[1] != "COMMAND" {
			all = append(all, mention{at, command})
		}
	}
	for _, m := range span.FindAllStringSubmatch(p.text, -1) {
		add(p.name, m[1])
	}
	for _, b := range p.blocks {
		if b.lang != "" || !strings.Contains(strings.ToLower(p.titles[max(0, b.heading-1)]), "example") {
			continue
		}
		for line := range strings.SplitSeq(continued.ReplaceAllString(b.body, " "), "\n") {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "braid ") {
				add(b.at(), line)
			}
		}
	}
	return all
}

// TestEveryCommandThatIsMentionedIsUnderstood asks for the help of each, with the words and flags as they stand: a command or a flag that there is not
// is refused before.
func TestEveryCommandThatIsMentionedIsUnderstood(t *testing.T) {
	tried := make(map[string]string)
	for _, p := range pages(t) {
		for _, m := range p.mentions() {
			said, seen := tried[m.command]
			if !seen {
				said = misunderstood(t, m.command)
				tried[m.command] = said
			}
			if said != "" {
				t.Errorf("%s: `%s`: %s", m.at, m.command, said)
			}
		}
	}
	if len(tried) < 20 {
		t.Errorf("only %d commands were found", len(tried))
	}
}

// misunderstood is what a program says of a command that it does not know; empty when it does.
func misunderstood(t *testing.T, command string) string {
	t.Helper()
	line := aNumber.ReplaceAllString(command, " 5") + " --help"
	cmd := exec.CommandContext(t.Context(), "bash", "-c", line)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + rig.BinDir() + ":/usr/bin:/bin", "HOME=" + cmd.Dir}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%v: %s", err, strings.TrimSpace(rig.Tail(string(out))))
	}
	word, rest, _ := strings.Cut(command, " ")
	if sub, _, _ := strings.Cut(rest, " "); word == "braid" && !strings.HasPrefix(sub, "-") && !strings.Contains(string(out), filepath.Base(word)+" "+sub) {
		return "there is no such command"
	}
	return ""
}

func TestMentionsAreFound(t *testing.T) {
	p, err := parsePage("a.md", []byte("# Examples\n`braid run a.yaml --wait | cat`, `braid resume …`, `braid`\n```\n  braid plan a.yaml \\\n    --json   # what\n  other\n```\n# Else\n```\nbraid no\n```\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(p.mentions())
	if want := "[{a.md braid run a.yaml --wait} {a.md braid resume} {a.md:3 braid plan a.yaml  --json}]"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
