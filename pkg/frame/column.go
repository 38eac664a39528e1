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
	// Unit is the unit of the values, as declared. UnitColumn names the column of the table that has it instead, row by row.
	Unit, UnitColumn string
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

// ColumnsOf gives the columns that the table of a shape has, for rows whose members are seen. Errors are those of Build.
func ColumnsOf(shape Shape, seen []string) ([]Column, error) {
	if err := shape.Validate(); err != nil {
		return nil, err
	}
	l, err := newLayout(shape, seen)
	if err != nil {
		return nil, err
	}
	f, err := newFinalizer(shape, l.columns)
	if err != nil {
		return nil, err
	}
	columns := make([]Column, len(f.view))
	for i, c := range f.view {
		columns[i] = c.Column
	}
	return columns, nil
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
	l.columns = append(l.columns, storedColumn{Column{Name: name, Type: f.Type, Declared: true, Unit: f.Unit, UnitColumn: f.UnitFrom}, f.Null, f.Zone})
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
		l.columns = append(l.columns, storedColumn{Column: Column{Name: name, Type: Text}})
	}
	return nil
}
