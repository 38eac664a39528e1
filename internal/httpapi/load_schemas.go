package httpapi

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/pkg/timing"
)

// schemaName gives types of load runs names of their own: queries have a Progress and a Series too.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case strings.HasSuffix(t.PkgPath(), "pkg/load"):
		return "Load" + name
	case strings.HasSuffix(t.PkgPath(), "pkg/timing"):
		return "Load" + name
	case strings.HasSuffix(t.PkgPath(), "pkg/planner/matrix"):
		return "Load" + name
	}
	return name
}

func describeLoadTypes(schemas huma.Registry) {
	schemas.RegisterTypeAlias(reflect.TypeFor[timing.Milliseconds](), reflect.TypeFor[milliseconds]())
	schemas.RegisterTypeAlias(reflect.TypeFor[timing.Rate](), reflect.TypeFor[rate]())
	schemas.RegisterTypeAlias(reflect.TypeFor[json.RawMessage](), reflect.TypeFor[anyJSON]())
}

// milliseconds describes timing.Milliseconds.
type milliseconds struct{}

// Schema is huma.SchemaProvider's.
func (milliseconds) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeNumber, Nullable: true, Description: "Milliseconds, to the microsecond; null: there are no samples"}
}

// rate describes timing.Rate.
type rate struct{}

// Schema is huma.SchemaProvider's.
func (rate) Schema(huma.Registry) *huma.Schema {
	whole := &huma.Schema{Type: huma.TypeInteger}
	return &huma.Schema{
		Type: huma.TypeObject, Nullable: true, Properties: map[string]*huma.Schema{"num": whole, "den": whole}, Required: []string{"num", "den"},
		Description: "An exact part of a whole; null: nothing completed",
	}
}

// asGiven describes what a caller sends of a record: all but what is required may be left out, and has its default.
func (a *api) asGiven(record string, required ...string) *huma.Schema {
	schemas := a.huma.OpenAPI().Components.Schemas.Map()
	given := *schemas[record]
	given.Required = required
	schemas[record+"Given"] = &given
	return &huma.Schema{Ref: "#/components/schemas/" + record + "Given"}
}

// anyJSON describes json.RawMessage: whatever a service sent, null too.
type anyJSON struct{}

// Schema is huma.SchemaProvider's.
func (anyJSON) Schema(huma.Registry) *huma.Schema {
	var all []*huma.Schema
	for _, kind := range []string{huma.TypeObject, huma.TypeArray, huma.TypeString, huma.TypeNumber, huma.TypeBoolean, "null"} {
		all = append(all, &huma.Schema{Type: kind})
	}
	return &huma.Schema{AnyOf: all}
}
