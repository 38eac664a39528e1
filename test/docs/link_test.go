package docs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	inline  = regexp.MustCompile(`\[[^\]\[]*(?:\[[^\]]*\][^\]\[]*)*\]\(([^()\s]+)\)`)
	code    = regexp.MustCompile("`[^`]*`")
	tag     = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	linking = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	all := pages(t)
	anchors := make(map[string]map[string]bool)
	for _, p := range all {
		anchors[p.name] = p.anchors()
	}
	for _, p := range all {
		for _, finding := range p.brokenLinks(anchors, func(name string) bool {
			_, err := os.Stat(filepath.Join(root, name))
			return err == nil
		}) {
			t.Error(finding)
		}
	}
}

// brokenLinks checks relative links and their anchors. Other sites are not asked.
func (p page) brokenLinks(anchors map[string]map[string]bool, exists func(string) bool) []string {
	var findings []string
	for n, line := range strings.Split(p.text, "\n") {
		for _, m := range inline.FindAllStringSubmatch(code.ReplaceAllString(line, "`code`"), -1) {
			link := m[1]
			if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(link, "#")
			target := p.name
			if file != "" {
				target = path.Join(path.Dir(p.name), file)
			}
			known, isPage := anchors[target]
			switch {
			case strings.HasPrefix(file, "/") || !exists(target):
				findings = append(findings, fmt.Sprintf("%s: line %d of its prose links to %s, which is not there", p.name, n+1, link))
			case anchor != "" && isPage && !known[anchor]:
				findings = append(findings, fmt.Sprintf("%s: links to %s, and %s has no such heading", p.name, link, target))
			}
		}
	}
	return findings
}

// anchors gives the names that headings get where the pages are shown, and those that are set by hand.
func (p page) anchors() map[string]bool {
	names := make(map[string]bool)
	for _, title := range p.titles {
		base := slug(title)
		name := base
		for i := 1; names[name]; i++ {
			name = fmt.Sprintf("%s-%d", base, i)
		}
		names[name] = true
	}
	for _, m := range tag.FindAllStringSubmatch(p.text, -1) {
		names[m[1]] = true
	}
	return names
}

// slug is how GitHub and others make an anchor of a heading: small letters, hyphens for spaces, no punctuation.
func slug(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(linking.ReplaceAllString(title, "$1")) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

func TestPlantedLinksAreFound(t *testing.T) {
	p, err := parsePage("docs/a.md", []byte("# When it's `so`, now\n[here](#when-its-so-now) [there](#gone) [up](../README.md#x) [no](none.md) `[code](none.md)` [web](https://example.org/#a)\n"))
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]map[string]bool{"docs/a.md": p.anchors(), "README.md": {"x": true}}
	got := p.brokenLinks(anchors, func(name string) bool { return name == "README.md" || name == "docs/a.md" })
	if len(got) != 2 || !strings.Contains(got[0], "#gone") || !strings.Contains(got[1], "none.md") {
		t.Errorf("findings %q", got)
	}
}
