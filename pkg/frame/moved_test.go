package frame

import (
	"slices"
	"testing"
)

func TestAFieldThatNobodyDeclaredNeverMakesTheTableImpossible(t *testing.T) {
	row := `{"id":"1","flow":"f","x":"y","flow_source":"s"}`
	seen := []string{"id", "flow", "x", "flow_source"}
	fields := []Field{{Name: "id", Type: Text}}
	rename := func(names map[string]string) []Operation { return []Operation{{Rename: names}} }
	for name, c := range map[string]struct {
		shape   Shape
		columns string
		row     string
		moved   []MovedField
	}{
		"added":                     {Shape{Fields: fields, Finalize: []Operation{{Add: map[string]string{"x": "mine"}}}}, "id:text flow:text x_source:text flow_source:text x:text", "1 f y s mine", []MovedField{{"x", "x_source"}}},
		"renamed to":                {Shape{Fields: fields, Finalize: rename(map[string]string{"id": "x"})}, "x:text flow:text x_source:text flow_source:text", "1 f y s", []MovedField{{"x", "x_source"}}},
		"the suffix is taken":       {Shape{Fields: fields, Finalize: rename(map[string]string{"id": "flow"})}, "flow:text flow_source_source:text x:text flow_source:text", "1 f y s", []MovedField{{"flow", "flow_source_source"}}},
		"the suffix is made":        {Shape{Fields: fields, Finalize: []Operation{{Add: map[string]string{"x": "a", "x_source": "b"}}}}, "id:text flow:text x_source_source:text flow_source:text x:text x_source:text", "1 f y s a b", []MovedField{{"x", "x_source_source"}}},
		"made later":                {Shape{Fields: fields, Finalize: []Operation{{Add: map[string]string{"x": "a"}}, {Add: map[string]string{"x_source": "b"}}}}, "id:text flow:text x_source_source:text flow_source:text x:text x_source:text", "1 f y s a b", []MovedField{{"x", "x_source_source"}}},
		"of a family":               {Shape{Fields: append(slices.Clone(fields), Field{Name: "fl*", Type: JSON}), Unknown: UnknownDrop, Finalize: rename(map[string]string{"id": "flow"})}, "flow:text flow_source_source:json flow_source:json", `1 "f" "s"`, []MovedField{{"flow", "flow_source_source"}}},
		"both undeclared":           {Shape{Fields: fields, Finalize: rename(map[string]string{"x": "flow"})}, "id:text flow_source_source:text flow:text flow_source:text", "1 f y s", []MovedField{{"flow", "flow_source_source"}}},
		"onto a declared one":       {Shape{Fields: fields, Finalize: rename(map[string]string{"x": "id"})}, "id:text flow:text id_source:text flow_source:text", "1 f y s", []MovedField{{"x", "id_source"}}},
		"it is not in the table":    {Shape{Fields: fields, Finalize: []Operation{{Add: map[string]string{"x": "a"}}}, Select: []string{"x"}}, "x:text", "a", nil},
		"dropped, and nothing told": {Shape{Fields: fields, Finalize: []Operation{{Drop: []string{"x"}}, {Add: map[string]string{"x": "a"}}}}, "id:text flow:text flow_source:text x:text", "1 f s a", nil},
	} {
		t.Run(name, func(t *testing.T) {
			table := build(t, c.shape, seen, row)
			wantTable(t, table, c.columns, c.row)
			if !slices.Equal(table.Report.Moved, c.moved) {
				t.Errorf("moved: %+v, want %+v", table.Report.Moved, c.moved)
			}
		})
	}
}
