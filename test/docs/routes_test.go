package docs

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/httpapi"
)

func TestEveryRouteIsOnThePage(t *testing.T) {
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/openapi.json", nil)
	httpapi.New(httpapi.Config{}, httpapi.Ports{}).ServeHTTP(answer, request)
	var api struct {
		Paths map[string]map[string]struct {
			Summary    string `json:"summary"`
			Parameters []struct {
				Name string `json:"name"`
				In   string `json:"in"`
			} `json:"parameters"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &api); err != nil {
		t.Fatalf("%d: %v", answer.Code, err)
	}
	if len(api.Paths) < 12 {
		t.Fatalf("only %d paths", len(api.Paths))
	}
	var b strings.Builder
	b.WriteString("| route | does | parameters |\n|---|---|---|\n")
	for _, path := range slices.Sorted(maps.Keys(api.Paths)) {
		for _, method := range []string{"get", "post", "put", "delete"} {
			op, ok := api.Paths[path][method]
			if !ok {
				continue
			}
			var query []string
			for _, p := range op.Parameters {
				if p.In == "query" {
					query = append(query, "`"+p.Name+"`")
				}
			}
			fmt.Fprintf(&b, "| `%s %s` | %s | %s |\n", strings.ToUpper(method), path, cell(op.Summary), strings.Join(query, ", "))
		}
	}
	holdsPart(t, "docs/http-api.md", "routes", b.String())
}
