package frame

import (
	"slices"
	"testing"
)

func TestTheKeyIsFollowedThroughFinalize(t *testing.T) {
	fields := []Field{{Name: "site", Type: Text}, {Name: "at", Type: Timestamp}, {Name: "value", Type: Text}}
	for name, test := range map[string]struct {
		shape Shape
		seen  []string
		want  []string
	}{
		"as it is":                       {Shape{Key: []string{"at", "site"}}, nil, []string{"at", "site"}},
		"renamed":                        {Shape{Key: []string{"site", "at"}, Finalize: []Operation{{Rename: map[string]string{"site": "place", "value": "site"}}}}, nil, []string{"place", "at"}},
		"selected in another order":      {Shape{Key: []string{"site", "at"}, Select: []string{"at", "site"}}, nil, []string{"site", "at"}},
		"cast":                           {Shape{Key: []string{"site"}, Finalize: []Operation{{Cast: map[string]Type{"site": Int64}}}}, nil, []string{"site"}},
		"a part is dropped":              {Shape{Key: []string{"site", "at"}, Finalize: []Operation{{Drop: []string{"at"}}}}, nil, nil},
		"a part is not selected":         {Shape{Key: []string{"site", "at"}, Select: []string{"site"}}, nil, nil},
		"another takes its name":         {Shape{Key: []string{"site"}, Finalize: []Operation{{Drop: []string{"site"}}, {Rename: map[string]string{"value": "site"}}}}, nil, nil},
		"a part that is nowhere":         {Shape{Key: []string{"site", "sensor"}}, nil, []string{"site"}},
		"a part that no field declares":  {Shape{Key: []string{"site", "sensor"}}, []string{"sensor"}, []string{"site", "sensor"}},
		"a part whose member is dropped": {Shape{Key: []string{"site", "sensor"}, Unknown: UnknownDrop}, []string{"sensor"}, nil},
		"none":                           {Shape{}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			test.shape.Fields = fields
			table, err := Build(t.Context(), test.shape, test.seen, func(func([]byte, error) bool) {}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(table.Key, test.want) {
				t.Errorf("got %q, want %q", table.Key, test.want)
			}
		})
	}
}
