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

// reference is the guard by Go's regular expressions, for ASCII, where their \b, \w and \s are those of the rule. Go has no
// lookahead: fields that are NOT are passed over by hand.
type reference struct{ literal, inWord, compare, in, between *regexp.Regexp }

func newReference() reference {
	expand := strings.NewReplacer(
		"NUM", `-?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?`, "FIELD", `[A-Za-z_]\w*`, "OP", `>=|<=|<>|!=|==|=|>|<`, "~", `[\s\v\x1c-\x1f]`)
	compile := func(pattern string) *regexp.Regexp { return regexp.MustCompile(expand.Replace(pattern)) }
	return reference{
		literal: compile(`'[^']*'`),
		inWord:  compile(`^\w`),
		compare: compile(`\b(FIELD)~*(OP)~*(NUM)\b|\b(NUM)~*(OP)~*(FIELD)\b`),
		in:      compile(`(?i)^(FIELD)~+(NOT~+)?IN~*\([^)]*\bNUM\b[^)]*\)`),
		between: compile(`(?i)^(FIELD)~+(NOT~+)?BETWEEN~+(?:NUM\b[^)]*?\bAND\b|[^)]*?\bAND~+NUM\b)`),
	}
}

func (r reference) find(filter string) (Unquoted, bool) {
	filter = r.literal.ReplaceAllString(filter, "''")
	if m := r.compare.FindStringSubmatch(filter); len(m) > 0 {
		if m[1] == "" {
			m[1], m[2], m[3] = m[6], m[5], m[4]
		}
		return Unquoted{m[1], fmt.Sprintf("%s %s %s", m[1], m[2], m[3])}, true
	}
	if found, ok := r.predicate(filter, r.in, "IN (…)"); ok {
		return found, true
	}
	return r.predicate(filter, r.between, "BETWEEN …")
}

func (r reference) predicate(filter string, pattern *regexp.Regexp, shown string) (Unquoted, bool) {
	for i := range filter {
		if i > 0 && r.inWord.MatchString(filter[i-1:]) {
			continue
		}
		m := pattern.FindStringSubmatch(filter[i:])
		if len(m) == 0 || strings.EqualFold(m[1], "NOT") {
			continue
		}
		if m[2] != "" {
			shown = "NOT " + shown
		}
		return Unquoted{m[1], m[1] + " " + shown}, true
	}
	return Unquoted{}, false
}

func TestTheGuardIsTheRuleOfTheExpressions(t *testing.T) {
	tokens := []string{
		"a", "value", "NOT", "not", "IN", "in", "BETWEEN", "AND", "and", "(", ")", "'", "''", "'x'", `"`, " ", "  ", "\t", "\x1c", ",", ".", "-", "+", "e", "E5",
		"1", "5", "60", "1.5", ".5", "1e5", "1e", "5x", "_", ">=", "<=", "<>", "!=", "==", "=", ">", "<", "!", "value >= ", "IN (", " AND 6", " BETWEEN 5",
	}
	rule := newReference()
	rapid.Check(t, func(t *rapid.T) {
		filter := strings.Join(rapid.SliceOfN(rapid.SampledFrom(tokens), 0, 14).Draw(t, "tokens"), "")
		got, found := FindUnquoted(filter)
		want, wanted := rule.find(filter)
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
