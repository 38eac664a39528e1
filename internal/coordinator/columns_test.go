package coordinator

import (
	"strings"
	"testing"

	"github.com/braidhq/braid/pkg/frame"
)

func TestASelectedColumnIsOneThatTheTableHas(t *testing.T) {
	shape := frame.Shape{
		Unknown: frame.UnknownDrop,
		Fields:  []frame.Field{{Name: "time"}, {Name: "value"}, {Name: "*_mgd"}, {Name: "note"}},
		Finalize: []frame.Operation{
			{Rename: map[string]string{"value": "flow"}}, {Add: map[string]string{"source": "x"}}, {Drop: []string{"note"}},
		},
	}
	for _, column := range []string{"time", "flow", "total_mgd", "source"} {
		shape.Select = []string{column}
		if err := checkSelect(shape); err != nil {
			t.Errorf("%s: %v", column, err)
		}
	}
	for column, want := range map[string]string{"tmie": `did you mean "time"`, "value": "no column", "note": "no column", "mgd": "no column"} {
		shape.Select = []string{"time", column}
		if err := checkSelect(shape); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", column, err, want)
		}
	}
	shape.Unknown = frame.UnknownText
	for column, want := range map[string]bool{"tmie": true, "value": false, "note": false, "flow": true} {
		shape.Select = []string{column}
		if err := checkSelect(shape); (err == nil) != want {
			t.Errorf("%s with fields that are not declared: %v", column, err)
		}
	}
}
