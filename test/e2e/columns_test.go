//go:build unix

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/pkg/frame"
	definitions "github.com/braidhq/braid/pkg/service"
)

// asText are the columns that hold times and are declared as text: they say when a person wrote a note.
func asText() []string {
	return []string{"monitoring-locations.revision_created", "monitoring-locations.revision_modified"}
}

func TestEveryColumnOfTheServicesIsDeclaredWithItsType(t *testing.T) {
	t.Parallel()
	texts := asText()
	simulated := map[string]bool{}
	for _, c := range slices.Concat(simulator.WaterDataCollections(), simulator.NGWMNCollections()) {
		d := definition(t, c.Service)
		simulated[c.Service+"/"+c.Name] = true
		declared, err := d.Collection(c.Name)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, column := range c.Columns {
			name := c.Name + "." + column.Name
			field, known := fieldOf(declared, column.Name)
			want := typeOf(column.Type)
			if at := slices.Index(texts, name); at >= 0 {
				texts, want = slices.Delete(texts, at, at+1), frame.Text
			}
			switch {
			case !known:
				t.Errorf("%s: %s is not declared", c.Service, name)
			case field.Type != want:
				t.Errorf("%s: %s is declared as %s, and the service sends %s", c.Service, name, field.Type, column.Type)
			case column.Type == simulator.TypeLocalTime && field.Zone == "":
				t.Errorf("%s: %s has times without an offset, and no zone is declared", c.Service, name)
			}
		}
		if field, known := fieldOf(declared, "geometry"); c.Geometry && known && field.Type != frame.Geometry {
			t.Errorf("%s/%s: geometry is declared as %s", c.Service, c.Name, field.Type)
		}
	}
	if len(texts) > 0 {
		t.Errorf("no exception is needed any more for %s", strings.Join(texts, ", "))
	}
	for _, name := range []string{"usgs-waterdata", "usgs-ngwmn"} {
		for _, c := range definition(t, name).Collections {
			if !simulated[name+"/"+c.Name] {
				t.Errorf("the simulator does not have %s/%s", name, c.Name)
			}
		}
	}
}

func fieldOf(c *definitions.Collection, name string) (frame.Field, bool) {
	fields := c.Shape().Fields
	at := slices.IndexFunc(fields, func(f frame.Field) bool { return f.Name == name })
	if at < 0 {
		return frame.Field{}, false
	}
	return fields[at], true
}

func typeOf(t simulator.ColumnType) frame.Type {
	switch t {
	case simulator.TypeText:
		return frame.Text
	case simulator.TypeInteger:
		return frame.Int64
	case simulator.TypeDate:
		return frame.Date
	case simulator.TypeTimestamp, simulator.TypeLocalTime:
		return frame.Timestamp
	case simulator.TypeList:
		return frame.ListText
	case simulator.TypeJSON:
		return frame.JSON
	default: // decimals, in quotes or not, and those that may be a word
		return frame.Decimal
	}
}
