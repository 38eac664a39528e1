package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Document is one parsed file and the problems found in it so far. It is not safe for concurrent use.
type Document struct {
	file   string
	bounds Bounds
	root   *yaml.Node
	errs   Errors
}

// Decode reads data into the value that into points to and reports every problem, as Errors. Keys that are absent
// leave their fields as they are, so defaults are set before. The file's name is only for messages.
func Decode(file string, data []byte, bounds Bounds, into any) error {
	doc, err := Parse(file, data, bounds)
	if err != nil {
		return err
	}
	doc.Root().Decode(into)
	return doc.Err()
}

// Parse reads data into nodes. An error means that the file cannot be judged further: it is over its bounds, is not
// YAML, or uses what is refused everywhere. A key given twice is noted and reported by Err.
func Parse(file string, data []byte, bounds Bounds) (*Document, error) {
	doc := &Document{file: file, bounds: bounds.withDefaults()}
	if err := doc.parse(data); err != nil {
		return nil, err
	}
	return doc, nil
}

// Root is the document's top node; of an empty file it is null.
func (d *Document) Root() Node { return Node{doc: d, yaml: d.root} }

// Err gives every problem noted so far as Errors, or nil.
func (d *Document) Err() error {
	if len(d.errs) == 0 {
		return nil
	}
	return d.errs.sorted()
}

func (d *Document) parse(data []byte) error {
	if len(data) > d.bounds.Bytes {
		return d.refuse(0, "the file has %d bytes, at most %d are read", len(data), d.bounds.Bytes)
	}
	if !utf8.Valid(data) {
		return d.refuse(0, "the file is not UTF-8 text; save it as UTF-8")
	}
	if d.bounds.mayHoldTooMany(data) {
		return d.refuse(0, "the file has too many values, at most %d are read", d.bounds.Nodes)
	}
	var top, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	switch err := decoder.Decode(&top); {
	case errors.Is(err, io.EOF):
		d.root = &yaml.Node{Kind: yaml.ScalarNode, Tag: nullTag, Line: 1, Column: 1}
		return nil
	case err != nil:
		return d.syntax(err)
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return d.refuse(second.Line, "a second document begins here; a file holds one, so remove the line ---")
	case !errors.Is(err, io.EOF):
		return d.syntax(err)
	}
	d.root = top.Content[0]
	return d.audit()
}

// syntax translates the parser's "yaml: line 3: reason". Its scanner counts lines from 1, what builds on the scanner from
// 0, and both leave out the first line.
func (d *Document) syntax(err error) error {
	reason := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if rest, ok := strings.CutPrefix(reason, "line "); ok {
		number, after, _ := strings.Cut(rest, ": ")
		if n, errNumber := strconv.Atoi(number); errNumber == nil {
			line, reason = n, after
		}
	}
	switch {
	case strings.HasPrefix(reason, "unknown anchor"), strings.HasPrefix(reason, "control characters"):
		// These have no place.
	case line == 0 || slices.Contains(countedFromZero(), reason):
		line++
	}
	return d.refuse(line, "not YAML: %s", reason)
}

// countedFromZero are the reasons whose lines the parser counts from 0.
func countedFromZero() []string {
	return []string{
		"did not find expected key", "did not find expected node content", "did not find expected '-' indicator",
		"did not find expected ',' or ']'", "did not find expected ',' or '}'", "did not find expected <document start>",
		"found undefined tag handle", "found duplicate %YAML directive", "found duplicate %TAG directive", "found incompatible YAML document",
	}
}

func (d *Document) refuse(line int, format string, args ...any) error {
	return Errors{{File: d.file, Line: line, Message: fmt.Sprintf(format, args...)}}
}
