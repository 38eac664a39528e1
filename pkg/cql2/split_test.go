package cql2

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func readCases(t testing.TB, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

type splitCases struct {
	Cases []struct {
		ID    string
		Expr  string
		Parts []string
	}
}

func TestFiltersSplitAsTheRecordedClientSplitsThem(t *testing.T) {
	var file splitCases
	readCases(t, "testdata/filter_split.json", &file)
	if len(file.Cases) < 100 {
		t.Fatalf("only %d cases", len(file.Cases))
	}
	for _, test := range file.Cases {
		got := Split(test.Expr)
		if len(got) == 0 && len(test.Parts) == 0 {
			continue
		}
		if diff := cmp.Diff(test.Parts, got); diff != "" {
			t.Errorf("%s: %q\n%s", test.ID, test.Expr, diff)
		}
	}
}

// checkSplit holds what must be true of every division.
func checkSplit(t interface{ Fatalf(string, ...any) }, filter string) {
	parts := Split(filter)
	for i, part := range parts {
		if part == "" || trim(part) != part {
			t.Fatalf("part %q of %q is not trimmed", part, filter)
		}
		if last := i == len(parts)-1; !last && !balanced(part) {
			t.Fatalf("part %q of %q was cut within quotes or parentheses", part, filter)
		}
	}
	if again := Split(strings.Join(parts, Or)); cmp.Diff(parts, again) != "" {
		t.Fatalf("%q gives %q, and these joined %q", filter, parts, again)
	}
	if !accounted(parts).MatchString(letters(filter)) {
		t.Fatalf("%q gives %q, which lost something", filter, parts)
	}
}

// balanced tells whether all quotes are closed and as many parentheses are opened as closed.
func balanced(part string) bool {
	depth := 0
	var quote rune
	for _, r := range part {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case r == '(':
			depth++
		case r == ')':
			depth--
		}
	}
	return depth == 0 && quote == 0
}

func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if isSpace(r) {
			return -1
		}
		return r
	}, text)
}

// accounted is what the filter's letters must look like: the parts, and nothing lost between them but the word OR.
func accounted(parts []string) *regexp.Regexp {
	quoted := make([]string, len(parts))
	for i, part := range parts {
		quoted[i] = regexp.QuoteMeta(letters(part))
	}
	const or = "(?:[oO][rR])"
	return regexp.MustCompile("^" + or + "*" + strings.Join(quoted, or+"+") + or + "*$")
}

func TestADivisionLosesNothingAndCutsNothing(t *testing.T) {
	tokens := []string{" or ", " OR ", "\u00a0Or\t", "or", " ", "(", ")", "'", `"`, "''", "a", "é", "AND", "\x1c", "\n", "1", "BETWEEN 1 AND 2"}
	rapid.Check(t, func(t *rapid.T) {
		checkSplit(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(tokens), 0, 24).Draw(t, "tokens"), ""))
	})
}

func FuzzSplit(f *testing.F) {
	var file splitCases
	readCases(f, "testdata/filter_split.json", &file)
	for _, test := range file.Cases {
		f.Add(test.Expr)
	}
	f.Fuzz(func(t *testing.T, filter string) {
		if len(filter) > 300 || !utf8.ValidString(filter) {
			Split(filter)
			return
		}
		checkSplit(t, filter)
	})
}

func TestHostileFiltersTakeLinearTime(t *testing.T) {
	const size = 1 << 18
	for _, unit := range []string{
		" ", "(", ")", "'", `"`, " or", " or ", "a or ", "a ", "a IN (", "a BETWEEN ", "a BETWEEN 1 ", "a NOT ", "NOT ",
		"1.", "-1", "1e", "5 ", "= ", "=", "a=", "a= ", "x.5", "AND ", "AND 5x ", "é", "日 ", "a", "1", "_", "' '", "a IN (5x ",
	} {
		text := strings.Repeat(unit, size/len(unit))
		start := time.Now()
		Split(text)
		FindUnquoted(text)
		// A quadratic scan of a quarter of a megabyte takes a minute and more.
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%q repeated: %s", unit, took)
		}
	}
}
