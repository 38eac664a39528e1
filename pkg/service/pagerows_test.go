package service_test

import (
	"strings"
	"testing"

	"github.com/braidhq/braid/pkg/service"
)

func TestFewerRowsAPageAreAskedForWhereverTheirNumberIsSent(t *testing.T) {
	for name, test := range map[string]struct{ request, paging, want string }{
		"query":  {"request: {path: /levels, query: {limit: '{page_rows}'}}", "paging: {style: none}", "limit=7"},
		"paging": {"request: {path: /levels}", "paging: {style: offset, send: {offset: '{offset}', limit: '{page_rows}'}, stop: short_page}", "limit=7"},
		"body": {
			"request: {path: /levels, method: POST, body: {as: json, with: {limit: '{page_rows}'}}}", "paging: {style: none}", `"limit":7`,
		},
	} {
		text := strings.NewReplacer("REQUEST", test.request, "PAGING", test.paging).Replace(`
schema: service/v1
name: rivers
base_url: https://rivers.example
limits: {page_rows: 500}
collections:
  levels:
    REQUEST
    params: {gauge: {type: text, many: comma}}
    PAGING
    rows: {format: json}
    fields: {gauge: {type: text}}
`)
		d, err := service.Parse("rivers.yaml", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c := d.Collections[0]
		for rows, want := range map[int64]string{7: test.want, 0: strings.Replace(test.want, "7", "500", 1), 500: strings.Replace(test.want, "7", "500", 1), 1 << 40: strings.Replace(test.want, "7", "500", 1)} {
			request, err := c.WithPageRows(rows).Request(service.Values{"gauge": {"a"}})
			if sent := request.URL + string(request.Body); err != nil || !strings.Contains(sent, want) {
				t.Errorf("%s, %d rows: %s, %v; want %s", name, rows, sent, err, want)
			}
		}
		if c.Limits.PageRows != 500 {
			t.Errorf("%s: the collection itself has changed", name)
		}
	}
}
