package frame

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrShape is wrapped by every error of a shape that contradicts itself or names a column that the table has not.
var ErrShape = errors.New("bad shape")

const (
	maxFields     = 4096 // declared fields, and columns of a table
	maxOperations = 256
)

func types() []Type {
	return []Type{Text, Int64, Float64, Decimal, Bool, Date, Timestamp, ListText, JSON, Geometry}
}

// Validate reports the first thing in s that is wrong whatever the rows are. What depends on the columns that were
// seen, such as sorting by a column that no field declares, is found by Build before it reads a row.
func (s Shape) Validate() error {
	for _, check := range []func() error{s.checkFields, s.checkRules, s.checkKey, s.checkFinalize} {
		if err := check(); err != nil {
			return fmt.Errorf("%w: %w", ErrShape, err)
		}
	}
	return nil
}

func (s Shape) checkFields() error {
	if len(s.Fields) > maxFields {
		return fmt.Errorf("fields: %d, at most %d", len(s.Fields), maxFields)
	}
	names := make(map[string]bool, len(s.Fields))
	for _, f := range s.Fields {
		switch {
		case f.Name == "":
			return errors.New("fields: a field without a name")
		case names[f.Name]:
			return fmt.Errorf("fields: %q is declared twice; keep one", f.Name)
		case strings.Count(f.Name, "*") > 1 || strings.Contains(strings.Trim(f.Name, "*"), "*"):
			return fmt.Errorf("fields: %q: a name may have one star, at its beginning or its end", f.Name)
		}
		names[f.Name] = true
		if _, ok := parseOffset(f.Zone); f.Zone != "" && (!ok || f.Type != Timestamp) {
			return fmt.Errorf("fields: %q: the zone %.20q is no offset of timestamps; write Z or ±hh:mm at a timestamp", f.Name, f.Zone)
		}
		if f.Unit != "" && f.UnitFrom != "" {
			return fmt.Errorf("fields: %q: a unit and a column that has it; keep one", f.Name)
		}
		if err := checkType(f.Type); err != nil {
			return fmt.Errorf("fields: %q: %w", f.Name, err)
		}
	}
	return nil
}

func checkType(t Type) error {
	if !slices.Contains(types(), t) {
		return fmt.Errorf("the type %.40q is none of %s", t, joined(types()))
	}
	return nil
}

func (s Shape) checkRules() error {
	unknown := []UnknownRule{"", UnknownText, UnknownDrop, UnknownFail}
	if !slices.Contains(unknown, s.Unknown) {
		return fmt.Errorf("unknown_fields: %.40q is none of %s", s.Unknown, joined(unknown[1:]))
	}
	duplicate := []DuplicateRule{"", KeepFirst, KeepNewest, FailIfDifferent}
	if !slices.Contains(duplicate, s.OnDuplicate) {
		return fmt.Errorf("on_duplicate: %.40q is none of %s", s.OnDuplicate, joined(duplicate[1:]))
	}
	return nil
}

func (s Shape) checkKey() error {
	if err := checkNames("key", s.Key); err != nil {
		return err
	}
	if s.OnDuplicate != KeepNewest {
		return nil
	}
	if len(s.Key) == 0 {
		return errors.New("on_duplicate: newest needs a key")
	}
	// An undeclared column would be compared as text, which is no order of times or numbers.
	if _, found := s.field(s.NewestBy); !found {
		return fmt.Errorf("on_duplicate: newest by %q, which no field declares; declare it with its type", s.NewestBy)
	}
	return nil
}

// field finds the declaration of a column: the exact name, else the first star that fits.
func (s Shape) field(name string) (Field, bool) {
	star := -1
	for i, f := range s.Fields {
		if f.Name == name {
			return f, true
		}
		if star < 0 && starFits(f.Name, name) {
			star = i
		}
	}
	if star < 0 {
		return Field{}, false
	}
	return s.Fields[star], true
}

func hasStar(name string) bool { return strings.HasPrefix(name, "*") || strings.HasSuffix(name, "*") }

func starFits(pattern, name string) bool {
	if end, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(name, end)
	}
	start, ok := strings.CutSuffix(pattern, "*")
	return ok && strings.HasPrefix(name, start)
}

func (s Shape) checkFinalize() error {
	if len(s.Finalize) > maxOperations {
		return fmt.Errorf("finalize: %d operations, at most %d", len(s.Finalize), maxOperations)
	}
	for i, op := range s.Finalize {
		if err := op.check(); err != nil {
			return fmt.Errorf("finalize[%d]: %w", i, err)
		}
	}
	return checkNames("select", s.Select)
}

func (o Operation) check() error {
	set := 0
	for _, n := range []int{len(o.Rename), len(o.Drop), len(o.Select), len(o.Add), len(o.Cast), len(o.Filter), len(o.Sort)} {
		set += min(n, 1)
	}
	if o.Limit != nil {
		set++
		if *o.Limit < 0 {
			return fmt.Errorf("limit: %d, want 0 or more", *o.Limit)
		}
	}
	if set != 1 {
		return fmt.Errorf("%d of rename, drop, select, add, cast, filter, sort, limit; want exactly one", set)
	}
	for name, t := range o.Cast {
		if err := checkType(t); err != nil {
			return fmt.Errorf("cast: %q: %w", name, err)
		}
	}
	return errors.Join(checkNames("drop", o.Drop), checkNames("select", o.Select), checkNames("sort", o.Sort))
}

func checkNames(what string, names []string) error {
	if len(names) > maxFields {
		return fmt.Errorf("%s: %d names, at most %d", what, len(names), maxFields)
	}
	known := make(map[string]bool, len(names))
	for _, name := range names {
		if name == "" {
			return fmt.Errorf("%s: an empty name", what)
		}
		if known[name] {
			return fmt.Errorf("%s: %q twice; keep one", what, name)
		}
		known[name] = true
	}
	return nil
}

func joined[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, ", ")
}
