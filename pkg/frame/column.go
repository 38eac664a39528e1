package frame

import (
	"errors"
	"fmt"
	"strings"
)

// ErrUnknownField is wrapped when rows have a field that none declares and the shape says that this must not be.
var ErrUnknownField = errors.New("unknown field")

// Column is one column of a table.
type Column struct {
	Name     string
	Type     Type
	Declared bool // by a field or by finalize; false for an unknown field that is kept as text
}

// storedColumn is a column as the rows are stored, before finalize.
type storedColumn struct {
	Column
	null []string
	zone string // offset of timestamps that are written without one
}

// layout is the merged schema of all results of a query.
type layout struct {
	columns []storedColumn
	index   map[string]int // member → column; dropped for a member that is left out
	unknown []string       // members that no field declares, in first-seen order
	seen    map[string]bool
}

const dropped = -1

// newLayout puts the exactly declared fields first, whether rows have them or not, so that the columns of a query do
// not depend on the chunks that happened to have rows; then what was seen of the stars; then what was seen and is unknown.
func newLayout(shape Shape, seen []string) (*layout, error) {
	l := &layout{index: make(map[string]int, len(seen)), seen: make(map[string]bool, len(seen))}
	for _, f := range shape.Fields {
		if !hasStar(f.Name) {
			l.add(f.Name, f)
		}
	}
	for _, name := range seen {
		_, exact := l.index[name]
		again := l.seen[name]
		l.seen[name] = true
		if exact || again {
			continue
		}
		if f, found := shape.field(name); found {
			l.add(name, f)
		} else {
			l.unknown = append(l.unknown, name)
		}
	}
	if err := l.addUnknown(shape.Unknown); err != nil {
		return nil, err
	}
	if len(l.columns) > maxFields {
		return nil, fmt.Errorf("merge columns: %d, at most %d; declare the fields and say unknown_fields: drop", len(l.columns), maxFields)
	}
	return l, nil
}

func (l *layout) add(name string, f Field) {
	l.index[name] = len(l.columns)
	l.columns = append(l.columns, storedColumn{Column{name, f.Type, true}, f.Null, f.Zone})
}

func (l *layout) addUnknown(rule UnknownRule) error {
	if rule == UnknownFail && len(l.unknown) > 0 {
		shown := l.unknown[:min(len(l.unknown), 10)]
		return fmt.Errorf("%w: %d that no field declares (%s); declare them or change unknown_fields",
			ErrUnknownField, len(l.unknown), clip(strings.Join(shown, ", ")))
	}
	for _, name := range l.unknown {
		if rule == UnknownDrop {
			l.index[name] = dropped
			continue
		}
		l.index[name] = len(l.columns)
		l.columns = append(l.columns, storedColumn{Column: Column{name, Text, false}})
	}
	return nil
}
