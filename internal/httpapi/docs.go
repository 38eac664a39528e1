package httpapi

import (
	"bytes"
	"html/template"
	"maps"
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

const docsTemplate = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}} API</title>
<style>body{font:16px/1.5 sans-serif;max-width:50em;margin:2em auto;padding:0 1em}code{background:#8882}dt{margin-top:1em}</style>
</head><body>
<h1>{{.Title}} API</h1>
<p>{{.About}} Version {{.Version}}. The full description with all schemas is <a href="/openapi.json">/openapi.json</a>.</p>
<dl>{{range .Operations}}
<dt id="{{.OperationID}}"><code>{{.Method}} {{.Path}}</code></dt>
<dd>{{.Summary}}.{{with .Description}} {{.}}{{end}}{{with .Parameters}}<ul>{{range .}}
<li><code>{{.Name}}</code> ({{.In}}): {{.Description}}</li>{{end}}</ul>{{end}}</dd>{{end}}
</dl></body></html>
`

// docsPage shows the operations as one page that needs nothing else: no script, no other server.
func docsPage(description *huma.OpenAPI) []byte {
	var operations []*huma.Operation
	for _, path := range slices.Sorted(maps.Keys(description.Paths)) {
		item := description.Paths[path]
		for _, operation := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if operation != nil {
				operations = append(operations, operation)
			}
		}
	}
	var page bytes.Buffer
	err := template.Must(template.New("docs").Parse(docsTemplate)).Execute(&page, map[string]any{
		"Title": description.Info.Title, "About": description.Info.Description, "Version": description.Info.Version, "Operations": operations,
	})
	if err != nil {
		panic(err) // it is built from our own types alone: a mistake here shows in every test
	}
	return page.Bytes()
}
