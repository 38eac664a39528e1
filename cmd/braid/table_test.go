package main

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestATableIsForProgramsWhereNoTerminalIs(t *testing.T) {
	name := strings.Repeat("n", 200)
	for _, width := range []int{0, 30} {
		var out strings.Builder
		table := &table{to: &out, width: width}
		fmt.Fprintf(table, "ID\tNAME\tSTATE\na\t%s\tdone\n", name)
		if err := table.Flush(); err != nil {
			t.Fatal(err)
		}
		if width == 0 {
			if want := "ID\tNAME\tSTATE\na\t" + name + "\tdone\n"; out.String() != want {
				t.Errorf("without a terminal a table is %q", out.String())
			}
			continue
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d characters, more than %d: %q", n, width, line)
			}
		}
		if !strings.Contains(out.String(), "…  done") || !strings.HasPrefix(out.String(), "ID  NAME") {
			t.Errorf("a table is %q", out.String())
		}
	}
}

func TestParagraphsOfAHelpTextFitAndListsStay(t *testing.T) {
	text := "one two three\nfour five\n\nCodes:\n  0    fine\n  1    not fine, for some reason\n"
	want := "one two\nthree four\nfive\n\nCodes:\n  0    fine\n  1    not fine, for some reason\n"
	if got := reflowed(text, 10); got != want {
		t.Errorf("%q", got)
	}
}
