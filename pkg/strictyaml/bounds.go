package strictyaml

import "bytes"

// Bounds limits what a file may cost to read. A zero member takes its default.
type Bounds struct {
	Bytes int // of the file; default 4 MiB
	Depth int // of nesting; default 64
	Nodes int // scalars, lists and mappings; default 200,000
}

func (b Bounds) withDefaults() Bounds {
	if b.Bytes == 0 {
		b.Bytes = 4 << 20
	}
	if b.Depth == 0 {
		b.Depth = 64
	}
	if b.Nodes == 0 {
		b.Nodes = 200_000
	}
	return b
}

// mayHoldTooMany tells, before the parser allocates a node for each, that the text has far more separators than the
// allowed nodes need. A block list spends two separators a node and a flow mapping two nodes a separator, hence the
// slack; the exact count follows after parsing.
func (b Bounds) mayHoldTooMany(data []byte) bool {
	separators := 0
	for _, s := range []string{",", "\n", "\r", "[", "{", "- ", ": ", "? "} {
		separators += bytes.Count(data, []byte(s))
	}
	return separators > 3*b.Nodes
}
