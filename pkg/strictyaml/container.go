package strictyaml

import "iter"

// Map is a mapping that keeps the order of the file.
type Map[T any] []Entry[T]

// Entry is one key and value of a Map.
type Entry[T any] struct {
	Key   string
	Value T
}

// UnmarshalStrict reads a mapping.
func (m *Map[T]) UnmarshalStrict(n Node) {
	if !n.expect(Mapping) {
		return
	}
	*m = make(Map[T], 0, n.Len())
	for key, value := range n.Entries() {
		entry := Entry[T]{Key: key}
		value.Decode(&entry.Value)
		*m = append(*m, entry)
	}
}

// All gives the entries in the order of the file.
func (m Map[T]) All() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for _, entry := range m {
			if !yield(entry.Key, entry.Value) {
				return
			}
		}
	}
}

// Keys gives the keys in the order of the file.
func (m Map[T]) Keys() []string {
	keys := make([]string, len(m))
	for i, entry := range m {
		keys[i] = entry.Key
	}
	return keys
}

// OneOrMany is a list that may be written as its only member.
type OneOrMany[T any] []T

// UnmarshalStrict reads a list, or one member.
func (l *OneOrMany[T]) UnmarshalStrict(n Node) {
	if n.Kind() == List {
		n.Decode((*[]T)(l))
		return
	}
	var one T
	n.Decode(&one)
	*l = OneOrMany[T]{one}
}
