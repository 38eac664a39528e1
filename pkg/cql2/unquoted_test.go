package cql2

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type numericCases struct {
	Cases []struct {
		ID, Expr       string
		OK             bool
		Field, Offense string
	}
}

func TestTheGuardRefusesWhatTheRecordedClientRefuses(t *testing.T) {
	var file numericCases
	readCases(t, "testdata/filter_numeric.json", &file)
	if len(file.Cases) < 60 {
		t.Fatalf("only %d cases", len(file.Cases))
	}
	for _, test := range file.Cases {
		found, ok := FindUnquoted(test.Expr)
		want := Unquoted{Field: test.Field, Comparison: test.Offense}
		if ok == test.OK || found != want {
			t.Errorf("%s: %q gives %+v, want %+v", test.ID, test.Expr, found, want)
		}
	}
}

// reference is the guard by Go's regular expressions, for ASCII, where their \b, \w and \s are those of the rule.
func reference(filter string) (Unquoted, bool) {
	const (
		number = `-?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?`
		field  = `[A-Za-z_]\w*`
		op     = `>=|<=|<>|!=|==|=|>|<`
		space  = `[\s\v\x1c-\x1f]`
	)
	filter = regexp.MustCompile(`'[^']*'`).ReplaceAllString(filter, "''")
	expand := strings.NewReplacer("NUM", number, "FIELD", field, "OP", op, "~", space)
	compare := regexp.MustCompile(expand.Replace(`\b(FIELD)~*(OP)~*(NUM)\b|\b(NUM)~*(OP)~*(FIELD)\b`))
	if m := compare.FindStringSubmatch(filter); m != nil {
		if m[1] == "" {
			m[1], m[2], m[3] = m[6], m[5], m[4]
		}
		return Unquoted{m[1], fmt.Sprintf("%s %s %s", m[1], m[2], m[3])}, true
	}
	// Go has no lookahead: fields that are NOT are passed over by hand.
	search := func(keyword, pattern, rest string) (Unquoted, bool) {
		re := regexp.MustCompile(expand.Replace(`(?i)^(FIELD)~+(NOT~+)?` + pattern))
		for i := range filter {
			if i > 0 && regexp.MustCompile(`^\w`).MatchString(filter[i-1:]) {
				continue
			}
			if m := re.FindStringSubmatch(filter[i:]); len(m) > 0 && !strings.EqualFold(m[1], "NOT") {
				if m[2] != "" {
					keyword = "NOT " + keyword
				}
				return Unquoted{m[1], m[1] + " " + keyword + rest}, true
			}
		}
		return Unquoted{}, false
	}
	if found, ok := search("IN", `IN~*\([^)]*\bNUM\b[^)]*\)`, " (…)"); ok {
		return found, true
	}
	return search("BETWEEN", `BETWEEN~+(?:NUM\b[^)]*?\bAND\b|[^)]*?\bAND~+NUM\b)`, " …")
}

func TestTheGuardIsTheRuleOfTheExpressions(t *testing.T) {
	tokens := []string{
		"a", "value", "NOT", "not", "IN", "in", "BETWEEN", "AND", "and", "(", ")", "'", "''", "'x'", `"`, " ", "  ", "\t", "\x1c", ",", ".", "-", "+", "e", "E5",
		"1", "5", "60", "1.5", ".5", "1e5", "1e", "5x", "_", ">=", "<=", "<>", "!=", "==", "=", ">", "<", "!", "value >= ", "IN (", " AND 6", " BETWEEN 5",
	}
	rapid.Check(t, func(t *rapid.T) {
		filter := strings.Join(rapid.SliceOfN(rapid.SampledFrom(tokens), 0, 14).Draw(t, "tokens"), "")
		got, found := FindUnquoted(filter)
		want, wanted := reference(filter)
		if got != want || found != wanted {
			t.Fatalf("%q gives %+v %t, want %+v %t", filter, got, found, want, wanted)
		}
	})
}

func FuzzFindUnquoted(f *testing.F) {
	var file numericCases
	readCases(f, "testdata/filter_numeric.json", &file)
	for _, test := range file.Cases {
		f.Add(test.Expr)
	}
	f.Fuzz(func(t *testing.T, filter string) {
		if found, ok := FindUnquoted(filter); ok && (found.Field == "" || !strings.HasPrefix(found.Comparison, found.Field+" ")) {
			t.Errorf("%q gives %+v", filter, found)
		}
	})
}
