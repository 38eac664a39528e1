package strictyaml

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrInvalid is wrapped by every error of this package.
var ErrInvalid = errors.New("invalid file")

// Error is one problem in a file.
type Error struct {
	File    string
	Line    int    // 1-based; 0 when the problem has no line
	Column  int    // 1-based; 0 when unknown
	Path    string // keys that lead there, such as collections.daily.axes[0]; empty at the top
	Message string
}

// Error gives file:line: path: message.
func (e *Error) Error() string {
	var text strings.Builder
	text.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&text, ":%d", e.Line)
	}
	if e.Path != "" {
		text.WriteString(": " + e.Path)
	}
	text.WriteString(": " + e.Message)
	return text.String()
}

// Unwrap gives ErrInvalid.
func (e *Error) Unwrap() error { return ErrInvalid }

// Errors is every problem of a file, in the order of its lines.
type Errors []*Error

const maxErrors = 100

// Error gives one problem a line.
func (e Errors) Error() string {
	lines := make([]string, 0, len(e))
	for _, err := range e[:min(len(e), maxErrors)] {
		lines = append(lines, err.Error())
	}
	if more := len(e) - maxErrors; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the problems.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, err := range e {
		errs[i] = err
	}
	return errs
}

// sorted orders by line. A node that was merged into several places is judged in each of them; one report is enough.
func (e Errors) sorted() Errors {
	sorted := slices.Clone(e)
	slices.SortStableFunc(sorted, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.CompactFunc(sorted, func(a, b *Error) bool {
		return a.Line == b.Line && a.Column == b.Column && a.Message == b.Message
	})
}
