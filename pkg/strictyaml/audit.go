package strictyaml

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

const nullTag = "!!null"

// audit walks every node once: what it refuses is an error now, keys given twice are noted for Err.
func (d *Document) audit() error {
	a := auditor{doc: d}
	a.walk(Node{doc: d, yaml: d.root}, 1)
	if len(a.refused) > 0 {
		return a.refused.sorted()
	}
	return nil
}

type auditor struct {
	doc     *Document
	nodes   int
	refused Errors
}

func (a *auditor) refuse(n Node, format string, args ...any) {
	if len(a.refused) < maxErrors {
		a.refused = append(a.refused, n.problem(fmt.Sprintf(format, args...)))
	}
}

func (a *auditor) walk(n Node, depth int) {
	a.nodes++
	switch bounds := a.doc.bounds; {
	case a.nodes > bounds.Nodes:
		if a.nodes == bounds.Nodes+1 {
			a.refuse(n, "the file has too many values, at most %d are read", bounds.Nodes)
		}
		return
	case depth > bounds.Depth:
		a.refuse(n, "nested deeper than %d levels", bounds.Depth)
		return
	case n.yaml.Kind == yaml.AliasNode:
		a.refuse(n, "the alias *%s is not read; write the value out", n.yaml.Value)
		return
	case n.yaml.Anchor != "":
		a.refuse(n, "the anchor &%s is not read; write the value where it is needed", n.yaml.Anchor)
	case n.yaml.Style&yaml.TaggedStyle != 0:
		a.refuse(n, "the tag %s is not read; every value is text until its key gives it a type, so remove the tag", n.yaml.Tag)
	}
	switch n.yaml.Kind {
	case yaml.SequenceNode:
		for i := range n.yaml.Content {
			a.walk(n.index(i), depth+1)
		}
	case yaml.MappingNode:
		a.walkMapping(n, depth)
	default: // nothing lies below
	}
}

func (a *auditor) walkMapping(n Node, depth int) {
	lines := make(map[string]int, len(n.yaml.Content)/2)
	for key, value := range n.pairs() {
		a.nodes++
		if err := checkKey(key); err != "" {
			a.refuse(key, "%s", err)
			continue
		}
		if line, twice := lines[key.yaml.Value]; twice {
			value.at(key).Fail("the key stands twice, first in line %d; keep one", line)
		}
		lines[key.yaml.Value] = key.yaml.Line
		a.walk(value, depth+1)
	}
}

func checkKey(key Node) string {
	switch {
	case key.yaml.Kind != yaml.ScalarNode || key.yaml.Anchor != "" || key.yaml.Style&yaml.TaggedStyle != 0:
		return "a key must be a plain text"
	case key.yaml.Tag == "!!merge":
		return "the merge key << is not read; write the keys out"
	}
	return ""
}
