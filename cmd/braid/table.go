package main

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// table prints rows of cells that are separated by tabs, a line each. On a terminal its columns are aligned, and the longest one
// gives way until a row fits into a line; anywhere else the rows stay as they are, for programs.
type table struct {
	to    io.Writer
	width int // of the terminal; 0: none
	text  bytes.Buffer
}

const leastColumn = 8 // characters that a column keeps

// table makes a table on stdout. It is printed by Flush.
func (a *app) table() *table { return &table{to: a.stdout, width: terminalWidth(a.stdout)} }

// Write takes in rows.
func (t *table) Write(p []byte) (int, error) { return t.text.Write(p) }

// Flush prints the rows.
func (t *table) Flush() error {
	text := t.text.String()
	t.text.Reset()
	if t.width > 0 {
		var rows [][]string
		for line := range strings.Lines(text) {
			rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
		}
		text = aligned(rows, t.width)
	}
	_, err := io.WriteString(t.to, text)
	return err
}

// aligned writes rows in columns, in lines of at most width characters as far as columns can give way.
func aligned(rows [][]string, width int) string {
	widths := columnWidths(rows, width)
	var text strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			cell = shortened(cell, widths[i])
			line.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
		text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return text.String()
}

// columnWidths gives the widths of columns: what their cells need, but where that is more than a line the longest gives way first.
func columnWidths(rows [][]string, width int) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	over := 2*(len(widths)-1) - width
	for _, w := range widths {
		over += w
	}
	byWidth := make([]int, len(widths))
	for i := range byWidth {
		byWidth[i] = i
	}
	slices.SortStableFunc(byWidth, func(x, y int) int { return widths[y] - widths[x] })
	for _, column := range byWidth {
		less := min(max(over, 0), max(widths[column]-leastColumn, 0))
		widths[column] -= less
		over -= less
	}
	return widths
}

// terminalWidth is how many characters a line of the terminal has; 0: it is no terminal.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !isTerminal(f) {
		return 0
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 { //nolint:gosec // a file descriptor
		return width
	}
	return listWidth
}
