package docs

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// page is one Markdown file.
type page struct {
	name   string // path below the root, with slashes
	text   string // without what stands in fences
	blocks []block
	titles []string // of its headings, in order
}

// block is one fenced block.
type block struct {
	page    string
	line    int    // of the fence that opens it
	lang    string // word behind the fence
	body    string
	marks   []string // contents of the comments right above it
	heading int      // how many headings stand before it
}

func (b block) at() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// mark finds a comment that begins with a word, and gives what follows it.
func (b block) mark(word string) (rest string, ok bool) {
	for _, m := range b.marks {
		if after, found := strings.CutPrefix(m, word); found && (after == "" || strings.ContainsAny(after[:1], ": ")) {
			return strings.TrimSpace(strings.TrimPrefix(after, ":")), true
		}
	}
	return "", false
}

func (b block) firstLine() string {
	first, _, _ := strings.Cut(b.body, "\n")
	return first
}

var (
	fence   = regexp.MustCompile("^( *)(```+)([A-Za-z0-9+-]*)[^`]*$")
	comment = regexp.MustCompile(`^<!--\s*(.*?)\s*-->$`)
	heading = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*$`)
)

// parsePage reads fences, the comments above them, and headings.
func parsePage(name string, data []byte) (page, error) {
	p := page{name: name}
	var prose strings.Builder
	var marks []string
	var open *block
	var indent, ticks string
	scanner := bufio.NewScanner(bytes.NewReader(data))
	scanner.Buffer(nil, 1<<20)
	for n := 1; scanner.Scan(); n++ {
		line := scanner.Text()
		if open != nil {
			if strings.TrimSpace(line) == ticks {
				p.blocks, open = append(p.blocks, *open), nil
				continue
			}
			open.body += strings.TrimPrefix(line, indent) + "\n"
			continue
		}
		trimmed := strings.TrimSpace(line)
		switch {
		case fence.MatchString(line):
			parts := fence.FindStringSubmatch(line)
			indent, ticks = parts[1], parts[2]
			open = &block{page: name, line: n, lang: parts[3], marks: marks, heading: len(p.titles)}
			marks = nil
		case comment.MatchString(trimmed):
			marks = append(marks, comment.FindStringSubmatch(trimmed)[1])
		case trimmed != "":
			marks = nil
			if h := heading.FindStringSubmatch(line); h != nil {
				p.titles = append(p.titles, h[1])
			}
		}
		prose.WriteString(line + "\n")
	}
	if err := scanner.Err(); err != nil {
		return p, fmt.Errorf("%s: %w", name, err)
	}
	if open != nil {
		return p, fmt.Errorf("%s: the fence is not closed", open.at())
	}
	p.text = prose.String()
	return p, nil
}

// pages reads README.md, CONTRIBUTING.md and all of docs/.
func pages(t *testing.T) []page {
	t.Helper()
	names := []string{"README.md", "CONTRIBUTING.md", "examples/adapter/README.md"}
	err := fs.WalkDir(os.DirFS(root), "docs", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".md") {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	all := make([]page, 0, len(names))
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		p, err := parsePage(name, data)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b page) int { return strings.Compare(a.name, b.name) })
	return all
}

func TestAPageIsReadWithItsBlocksAndWhatIsSaidOfThem(t *testing.T) {
	p, err := parsePage("a.md", []byte("# A `b` c\n\n<!-- exits 75 -->\n<!-- file: x -->\n\n```sh\necho '# no heading'\n```\n\n<!-- lost -->\ntext\n- item\n\n  ```yaml\n  a:\n    b: 1\n  ```\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.blocks) != 2 || !slices.Equal(p.titles, []string{"A `b` c"}) {
		t.Fatalf("%d blocks, titles %q", len(p.blocks), p.titles)
	}
	sh, yaml := p.blocks[0], p.blocks[1]
	if sh.body != "echo '# no heading'\n" || sh.line != 6 || sh.lang != "sh" || !slices.Equal(sh.marks, []string{"exits 75", "file: x"}) {
		t.Errorf("first block %+v", sh)
	}
	if yaml.body != "a:\n  b: 1\n" || len(yaml.marks) != 0 || yaml.heading != 1 {
		t.Errorf("second block %+v", yaml)
	}
	if code, ok := sh.mark("exits"); !ok || code != "75" {
		t.Errorf("exits %q, %v", code, ok)
	}
	if _, err := parsePage("a.md", []byte("```sh\n")); err == nil {
		t.Error("a fence that is not closed is let through")
	}
}
