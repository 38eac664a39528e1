package superset

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// keeps tells whether filters let a text of a column pass.
func keeps(filters []clause, value string) bool {
	for _, f := range filters {
		if !f.keeps(value) {
			return false
		}
	}
	return true
}

func (f clause) keeps(value string) bool {
	var text string
	var list []string
	_ = json.Unmarshal(f.Val, &text) // other values are compared with the empty text
	_ = json.Unmarshal(f.Val, &list) // likewise
	switch strings.ToUpper(f.Op) {
	case "==":
		return value == text
	case "!=":
		return value != text
	case ">":
		return value > text
	case ">=":
		return value >= text
	case "<":
		return value < text
	case "<=":
		return value <= text
	case "IN":
		return slices.Contains(list, value)
	case "NOT IN":
		return !slices.Contains(list, value)
	case "LIKE":
		return like(text, value)
	case "NOT LIKE":
		return !like(text, value)
	case "ILIKE":
		return like(strings.ToLower(text), strings.ToLower(value))
	case "NOT ILIKE":
		return !like(strings.ToLower(text), strings.ToLower(value))
	case "IS NULL", "IS TRUE", "IS FALSE":
		return false // no text of ours is null
	default:
		return true
	}
}

// like matches a pattern with % and _.
func like(pattern, value string) bool {
	glob := strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`, `%`, `*`, `_`, `?`, `/`, "\x01").Replace(pattern)
	matched, err := path.Match(glob, strings.ReplaceAll(value, "/", "\x01"))
	return err == nil && matched
}

// allowed tells whether row-level-security clauses let a text of a column pass: one of each group must.
func allowed(clauses []string, column, value string) bool {
	verdicts := map[string]bool{}
	for _, c := range clauses {
		group, sql, _ := strings.Cut(c, "\x00")
		if pass, concerns := judge(sql, column, value); concerns {
			verdicts[group] = verdicts[group] || pass
		}
	}
	for _, pass := range verdicts {
		if !pass {
			return false
		}
	}
	return true
}

// judge reads clauses of the forms col = 'x', col != 'x', col <> 'x' and col IN ('x', 'y'). concerns is false for all others.
func judge(sql, column, value string) (pass, concerns bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(sql), column)
	if !ok {
		return false, false
	}
	rest = strings.TrimSpace(rest)
	for _, form := range []struct {
		operator string
		pass     func(values []string) bool
	}{
		{"!=", func(values []string) bool { return !slices.Contains(values, value) }},
		{"<>", func(values []string) bool { return !slices.Contains(values, value) }},
		{"=", func(values []string) bool { return slices.Contains(values, value) }},
		{"NOT IN", func(values []string) bool { return !slices.Contains(values, value) }},
		{"IN", func(values []string) bool { return slices.Contains(values, value) }},
	} {
		if len(rest) >= len(form.operator) && strings.EqualFold(rest[:len(form.operator)], form.operator) {
			values := literals(rest[len(form.operator):])
			return form.pass(values), len(values) > 0
		}
	}
	return false, false
}

// literals are the texts in single quotes.
func literals(sql string) []string {
	parts := strings.Split(sql, "'")
	var values []string
	for i := 1; i+1 < len(parts); i += 2 {
		values = append(values, parts[i])
	}
	return values
}
