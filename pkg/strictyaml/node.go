package strictyaml

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Kind tells what a node is.
type Kind string

// The kinds of nodes.
const (
	Absent  Kind = "nothing"
	Null    Kind = "no value"
	Scalar  Kind = "a text"
	List    Kind = "a list"
	Mapping Kind = "a mapping"
)

// Node is one value of a document. As the type of a field it takes the value undecoded, to be judged later; the zero
// Node is an absent value.
type Node struct {
	doc    *Document
	yaml   *yaml.Node
	parent string     // path of the container
	key    string     // in a mapping
	item   int        // 1-based, in a list
	where  *yaml.Node // reported instead of yaml when set
	name   *yaml.Node // the key that the value stands behind; nil outside of a mapping
}

// Unmarshaler decodes itself from a node, for values of several forms. Problems go to Node.Fail.
type Unmarshaler interface {
	UnmarshalStrict(n Node)
}

// Kind tells what the node is.
func (n Node) Kind() Kind {
	switch {
	case n.yaml == nil:
		return Absent
	case n.yaml.Kind == yaml.SequenceNode:
		return List
	case n.yaml.Kind == yaml.MappingNode:
		return Mapping
	case n.yaml.Tag == nullTag && n.yaml.Style == 0:
		return Null
	}
	return Scalar
}

// Text is a scalar as it stands in the file, without quotes; "" for other kinds.
func (n Node) Text() string {
	if n.Kind() != Scalar {
		return ""
	}
	return n.yaml.Value
}

// Quoted tells whether a scalar stands in quotes or as a block of text, where the difference means something: 1 and "1" as a value of no
// declared type.
func (n Node) Quoted() bool { return n.Kind() == Scalar && n.yaml.Style&^yaml.TaggedStyle != 0 }

// Line is where the value stands, 1-based; 0 when it is absent.
func (n Node) Line() int {
	if n.yaml == nil {
		return 0
	}
	return n.yaml.Line
}

// KeyLine is where the key of the value stands, 1-based: a list or mapping may begin on a line below its key. For what
// stands behind no key it is Line.
func (n Node) KeyLine() int {
	if n.name == nil {
		return n.Line()
	}
	return n.name.Line
}

// Problems is how many problems of the whole document have been noted so far. Who asks before and after reading a part
// knows whether the part is usable.
func (n Node) Problems() int {
	if n.doc == nil {
		return 0
	}
	return len(n.doc.errs)
}

// Len is the number of members of a list or mapping.
func (n Node) Len() int {
	switch n.Kind() {
	case List:
		return len(n.yaml.Content)
	case Mapping:
		return len(n.yaml.Content) / 2
	default:
		return 0
	}
}

// Entries gives the keys and values of a mapping in the order of the file.
func (n Node) Entries() iter.Seq2[string, Node] {
	return func(yield func(string, Node) bool) {
		for key, value := range n.pairs() {
			if !yield(key.yaml.Value, value) {
				return
			}
		}
	}
}

// Items gives the members of a list.
func (n Node) Items() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		if n.Kind() != List {
			return
		}
		for i := range n.yaml.Content {
			if !yield(n.index(i)) {
				return
			}
		}
	}
}

// Has tells whether a mapping has the key.
func (n Node) Has(key string) bool {
	for name := range n.Entries() {
		if name == key {
			return true
		}
	}
	return false
}

// At walks down keys (string) and list indices (int), as far as they exist: the node to blame in a message.
func (n Node) At(steps ...any) Node {
	for _, step := range steps {
		next, ok := n.step(step)
		if !ok {
			return n
		}
		n = next
	}
	return n
}

func (n Node) step(step any) (Node, bool) {
	switch step := step.(type) {
	case int:
		if n.Kind() == List && step < len(n.yaml.Content) {
			return n.index(step), true
		}
	case string:
		for key, value := range n.Entries() {
			if key == step {
				return value, true
			}
		}
	}
	return Node{}, false
}

// Fail notes a problem of this node; Document.Err reports it.
func (n Node) Fail(format string, args ...any) {
	if n.doc != nil {
		n.doc.errs = append(n.doc.errs, n.problem(fmt.Sprintf(format, args...)))
	}
}

// Merge gives n laid over base: mappings merge key by key, everything else replaces. Lines stay those of the file.
func (n Node) Merge(base Node) Node {
	switch {
	case base.Kind() == Absent || base.Kind() == Null:
		return n
	case n.Kind() == Absent || n.Kind() == Null:
		return Node{doc: base.doc, yaml: base.yaml, parent: n.parent, key: n.key, item: n.item}
	case n.Kind() != Mapping || base.Kind() != Mapping:
		return n
	}
	merged := *n.yaml
	merged.Content = nil
	for key, value := range base.pairs() {
		if own, ok := n.step(key.yaml.Value); ok {
			value = own.Merge(value)
		}
		merged.Content = append(merged.Content, key.yaml, value.yaml)
	}
	for key, value := range n.pairs() {
		if !base.Has(key.yaml.Value) {
			merged.Content = append(merged.Content, key.yaml, value.yaml)
		}
	}
	n.yaml = &merged
	return n
}

func (n Node) pairs() iter.Seq2[Node, Node] {
	return func(yield func(Node, Node) bool) {
		if n.Kind() != Mapping {
			return
		}
		path := n.path()
		for i := 0; i+1 < len(n.yaml.Content); i += 2 {
			key := Node{doc: n.doc, yaml: n.yaml.Content[i], parent: path}
			value := Node{doc: n.doc, yaml: n.yaml.Content[i+1], parent: path, key: key.yaml.Value, name: key.yaml}
			if !yield(key, value) {
				return
			}
		}
	}
}

func (n Node) index(i int) Node {
	return Node{doc: n.doc, yaml: n.yaml.Content[i], parent: n.path(), item: i + 1}
}

// path is put together when it is asked for: a list of a million values asks only for those at fault.
func (n Node) path() string {
	switch {
	case n.item > 0:
		return fmt.Sprintf("%s[%d]", n.parent, n.item-1)
	case n.key == "":
		return n.parent
	}
	key := n.key
	if strings.ContainsAny(key, ".[] ") {
		key = strconv.Quote(key)
	}
	if n.parent == "" {
		return key
	}
	return n.parent + "." + key
}

// at gives n reported at the place of key.
func (n Node) at(key Node) Node {
	n.where = key.yaml
	return n
}

func (n Node) problem(message string) *Error {
	err := &Error{File: n.doc.file, Path: n.path(), Message: message}
	if place := n.where; place != nil {
		err.Line, err.Column = place.Line, place.Column
	} else if n.yaml != nil {
		err.Line, err.Column = n.yaml.Line, n.yaml.Column
	}
	return err
}
