package docs

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// update writes what is made from the code into the pages, instead of comparing it: make reference.
var update = flag.Bool("update", false, "write the parts of docs/ that are made from the code")

// holds compares a whole file with what is made from the code.
func holds(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join(root, name)
	got, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatalf("%v; run make reference", err)
	}
	if string(got) == want {
		return
	}
	if !*update {
		t.Errorf("%s is not what the code says; run make reference\n%s", name, firstDifference(string(got), want))
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, path, want, 0o644)
}

// holdsPart compares what stands in a page between <!-- made: NAME --> and <!-- end of NAME -->.
func holdsPart(t *testing.T, page, name, want string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- made: "+name+" -->\n", "<!-- end of "+name+" -->"
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no part between %s and %s", page, strings.TrimSpace(begin), end)
	}
	holds(t, page, before+begin+"\n"+strings.TrimSpace(want)+"\n\n"+end+after)
}

// firstDifference shows where two texts part.
func firstDifference(got, want string) string {
	have, need := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range need {
		if i >= len(have) || have[i] != need[i] {
			line := "nothing"
			if i < len(have) {
				line = have[i]
			}
			return "it has:  " + line + "\nshould:  " + need[i]
		}
	}
	return "it has more lines than it should"
}
