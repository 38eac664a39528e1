package matrix

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/jcs"
)

// Clause is one condition of a filter list.
type Clause struct {
	Column   string          `json:"col"`
	Operator string          `json:"op"` // upper case, single blanks
	Value    json.RawMessage `json:"val"`
}

// MaxClauses bounds a filter list.
const MaxClauses = 1000

// readFilters normalises a filter list: clauses without duplicates, ordered by their canonical bytes. raw is in canonical form.
func readFilters(raw json.RawMessage) (value, error) {
	if string(raw) == "null" {
		return value{canonical: []byte("[]")}, nil
	}
	var given []json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return value{}, badFilter("a list of clauses {col, op, val} is wanted")
	}
	if len(given) > MaxClauses {
		return value{}, badFilter("there are %d clauses, at most %d are read", len(given), MaxClauses)
	}
	clauses := make([][]byte, len(given))
	for i, text := range given {
		clause, err := readClause(text)
		if err != nil {
			return value{}, badFilter("clause %d: %s", i, err)
		}
		clauses[i] = clause
	}
	return value{canonical: list(clauses)}, nil
}

func badFilter(format string, args ...any) error {
	return &Error{Code: BadFilter, Value: -1, Message: fmt.Sprintf(format, args...)}
}

// list puts canonical texts in order, without duplicates, between brackets.
func list(texts [][]byte) []byte {
	slices.SortFunc(texts, bytes.Compare)
	texts = slices.CompactFunc(texts, bytes.Equal)
	return slices.Concat([]byte("["), bytes.Join(texts, []byte(",")), []byte("]"))
}

func readClause(raw json.RawMessage) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return nil, badFilter("a clause is an object {col, op, val}")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name != "col" && name != "op" && name != "val" {
			return nil, badFilter("a clause has no member %.60q; it has col, op and val", name)
		}
	}
	column, ok := text(members["col"])
	if !ok || column == "" {
		return nil, badFilter("col names a column, as text")
	}
	operator, _ := text(members["op"])
	if operator = strings.ToUpper(strings.Join(strings.Fields(operator), " ")); operator == "" {
		return nil, badFilter("op names an operator, such as == or IN")
	}
	operand := members["val"]
	if operand == nil {
		operand = json.RawMessage("null")
	}
	if operator == "IN" || operator == "NOT IN" {
		var members []json.RawMessage
		if err := json.Unmarshal(operand, &members); err != nil || members == nil {
			return nil, badFilter("%s needs a list as val", operator)
		}
		set := make([][]byte, len(members))
		for i, m := range members {
			set[i] = m
		}
		operand = list(set)
	}
	clause := append([]byte(`{"col":`), jcs.AppendString(nil, column)...)
	clause = append(clause, `,"op":`...)
	clause = append(jcs.AppendString(clause, operator), `,"val":`...)
	return append(append(clause, operand...), '}'), nil
}

// text gives a JSON text's value.
func text(raw json.RawMessage) (string, bool) {
	var s *string
	if err := json.Unmarshal(raw, &s); err != nil || s == nil {
		return "", false
	}
	return *s, true
}

func readText(raw json.RawMessage, code Code, what string) (value, error) {
	if string(raw) == "null" {
		return value{canonical: raw}, nil
	}
	s, ok := text(raw)
	if !ok || s == "" {
		return value{}, &Error{Code: code, Value: -1, Message: what + " is a text that is not empty"}
	}
	return value{canonical: raw, text: s}, nil
}

func readViewport(raw json.RawMessage) (value, error) {
	if string(raw) == "null" {
		return value{canonical: raw}, nil
	}
	bad := &Error{Code: BadViewport, Value: -1, Message: "a viewport is {width, height}, both whole numbers above 0"}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || len(members) != 2 || members["width"] == nil || members["height"] == nil {
		return value{}, bad
	}
	for _, side := range members {
		// In canonical form a whole number has neither a point nor, below 10^21, an exponent.
		for _, c := range side {
			if c < '0' || c > '9' {
				return value{}, bad
			}
		}
		if side[0] == '0' {
			return value{}, bad
		}
	}
	return value{canonical: raw}, nil
}
