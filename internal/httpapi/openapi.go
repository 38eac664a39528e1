package httpapi

import (
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/messages"
)

// openAPIConfig leaves out the library's own routes: they load scripts from elsewhere, and render on first use without a
// lock. It shares nothing between two handlers.
func openAPIConfig(version string) huma.Config {
	schemas := huma.NewMapRegistry("#/components/schemas/", schemaName)
	schemas.RegisterTypeAlias(reflect.TypeFor[messages.InFlight](), reflect.TypeFor[inFlight]())
	describeLoadTypes(schemas)
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       "Braid",
				Version:     version,
				Description: "Runs one query over a quota-limited HTTP service in chunks, survives interruptions, and gives one table.",
			},
			Components: &huma.Components{Schemas: schemas, SecuritySchemes: securitySchemes()},
		},
		Formats:                      map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{ownProblem},
	}
}

// inFlight describes messages.InFlight.
type inFlight struct{}

// Schema is huma.SchemaProvider's.
func (inFlight) Schema(huma.Registry) *huma.Schema {
	least, most := 1.0, float64(messages.MaxSlots)
	return &huma.Schema{OneOf: []*huma.Schema{
		{Type: huma.TypeInteger, Minimum: &least, Maximum: &most},
		{Type: huma.TypeString, Enum: []any{messages.Unbounded.String()}},
	}}
}

// operation describes a route whose errors are problem documents.
func (a *api) operation(id, method, path, summary string) huma.Operation {
	required := a.rules[method+" "+path]
	return huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary,
		Security: required.security(), Extensions: map[string]any{"x-permission": string(required.permission)},
		Responses: map[string]*huma.Response{"default": {
			Description: "Problem",
			Content:     map[string]*huma.MediaType{contract.ProblemType: {Schema: schemaOf[contract.Problem](a)}},
		}},
	}
}

// routeDescription serves the OpenAPI document. It comes last, when all routes are known.
func (a *api) routeDescription() {
	description := a.huma.OpenAPI()
	delete(description.Components.Schemas.Map(), "ErrorModel") // the library's own problem, which is never sent
	document, err := json.Marshal(description)
	if err != nil {
		panic(err) // it is built from our own types alone: a mistake here shows in every test
	}
	page := docsPage(description)
	a.static("/openapi.json", "application/openapi+json", document)
	a.static("/docs", "text/html; charset=utf-8", page)
}

// static serves bytes that never change while the process runs.
func (a *api) static(path, contentType string, content []byte) {
	a.huma.Adapter().Handle(&huma.Operation{Method: http.MethodGet, Path: path}, func(ctx huma.Context) {
		_, w := humago.Unwrap(ctx)
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
		_, _ = w.Write(content) // the reader is gone
	})
}
