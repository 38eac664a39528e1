//go:build unix

package e2e

import "slices"

// samples are all queries that are interrupted at each of their requests.
func samples() []*sample {
	return slices.Concat(waterDataSamples(), networkSamples(), waterUseSamples(), openSamples(), openBodiesSamples(), splitSamples())
}

// openSamples cover the example of a definition: cursor, offset with a limit that the service clamps, page, and Link.
func openSamples() []*sample {
	return ofService("open-hydro", []*sample{
		{
			collection: "stations", where: "{basin: [danube, elbe, odra, rhône]}", keys: inTwo, config: pagesOf(30),
			chunks: 2, formats: []string{"parquet", "jsonl"},
		},
		{collection: "readings", where: "{station: st-001, ts: {from: 2023-04-01, to: 2024-04-30}}", chunks: 2},
		{collection: "events", where: "{kind: [drought, flood, ice]}", keys: inTwo, config: pagesOf(5), chunks: 2},
		{collection: "alerts", where: "{}", config: pagesOf(3), chunks: 1},
	})
}

const openBodies = "open-bodies"

// openBodiesDefinition asks the same service by POST, with parameters and cursor in the body.
const openBodiesDefinition = `schema: service/v1
name: open-bodies
base_url: https://data.example.org/api
collections:
  search:
    request:
      path: /search
      method: POST
      body: {as: form, with: {limit: '{page_rows}'}}
    limits: {page_rows: 10}
    params:
      basin: {type: text, many: repeat}
    axes: [{pack: basin}]
    paging: {style: cursor, next: $.cursor, send: {cursor: '{}'}}
    rows: {format: json, at: '$.results[*]'}
    fields:
      id: {type: text}
      name: {type: text}
      area: {type: decimal, from: $.basin.area}
    unknown_fields: drop
    key: [id]
  query:
    request:
      path: /query
      method: POST
      body: {as: json, with: {limit: '{page_rows}'}}
    limits: {page_rows: 10}
    params:
      basin: {type: text, many: repeat}
      open: {type: bool}
    axes: [{pack: basin}]
    paging: {style: cursor, next: $.page.next, more: $.page.more, send: {cursor: '{}'}}
    rows: {format: json, at: '$.results[*]'}
    fields:
      id: {type: text}
      name: {type: text}
      open: {type: bool}
    unknown_fields: drop
    key: [id]
`

// openBodiesSamples cover walks whose cursor travels in a form and in a JSON object.
func openBodiesSamples() []*sample {
	return ofService(openBodies, []*sample{
		{collection: "search", where: "{basin: [danube, rhône]}", keys: inTwo, chunks: 2},
		{collection: "query", where: "{basin: [danube, rhône], open: 'true'}", keys: inTwo, chunks: 2},
	})
}
