package main

import (
	"cmp"
	"errors"
	"slices"

	"github.com/braidhq/braid/pkg/strictyaml"
)

// problems is everything that is wrong with what was given, from all stages of checking.
type problems struct {
	list strictyaml.Errors
}

func (p *problems) add(list ...*strictyaml.Error) { p.list = append(p.list, list...) }

// take adds the problems that err tells of, and gives any other error back.
func (p *problems) take(err error) error {
	if several, ok := errors.AsType[strictyaml.Errors](err); ok {
		p.add(several...)
		return nil
	}
	return err
}

// err gives all problems of a query; nil when there are none.
func (p *problems) err() error { return p.told("; nothing was sent") }

// told gives all problems, those of one file together and in the order of its lines, and how many they are with what
// that means; nil when there are none.
func (p *problems) told(meaning string) error {
	if len(p.list) == 0 {
		return nil
	}
	rank := map[string]int{}
	for _, problem := range p.list {
		if _, seen := rank[problem.File]; !seen {
			rank[problem.File] = len(rank)
		}
	}
	sorted := slices.Clone(p.list)
	slices.SortStableFunc(sorted, func(a, b *strictyaml.Error) int {
		return cmp.Or(cmp.Compare(rank[a.File], rank[b.File]), cmp.Compare(a.Line, b.Line))
	})
	sorted = slices.CompactFunc(sorted, func(a, b *strictyaml.Error) bool { return *a == *b })
	if len(sorted) == 1 {
		return usage("%w", sorted)
	}
	return usage("%w\n%d problems%s", sorted, len(sorted), meaning)
}

// problem is one problem as --json prints it.
type problem struct {
	File    string `json:"file"` // or the flag
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Key     string `json:"key,omitempty"`
	Message string `json:"message"`
}

func problemsOf(list strictyaml.Errors) []problem {
	all := make([]problem, 0, len(list))
	for _, e := range list {
		all = append(all, problem{e.File, e.Line, e.Column, e.Path, e.Message})
	}
	return all
}
