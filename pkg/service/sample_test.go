package service

import (
	"strings"
	"testing"
)

// minimal is a small definition; edits replace text in it.
const minimal = `schema: service/v1
name: rivers
base_url: https://api.example.org/v1
hosts:
  - host: api.example.org
    credentials: [key]
    aliases: [old.example.org]
credentials:
  key:
    send: {header: X-Key}
    from: env:RIVERS_KEY
limits: {page_rows: 500}
responses:
  - {when: {status: [404], body: 'no observations'}, then: no_data}
  - {when: {status: [200], at: '$.error.code', is: 'busy'}, then: transient, gives_up_as: too_large}
  - {when: {header: {X-State: '^gone$'}}, then: cursor_gone}
defaults:
  paging:
    style: link
    next: '$.links[?rel=next].href'
    count: {returned: '$.returned'}
collections:
  gauges:
    request:
      path: /gauges
      query: {order: 'id,ts', limit: '{page_rows}'}
    params:
      site: {type: text, many: comma}
      tag: {type: text, many: repeat}
      state: {type: text, pattern: '^[A-Z]{2}$', send: {location: 'state:{}'}}
      basin: {type: text, pattern: '^[0-9]+$', send: {location: 'huc{len}:{}'}}
      mode: {type: text, values: [overlap, envelop], default: overlap}
      depth: {type: float64}
      count: {type: int64}
      active: {type: bool}
      day: {type: date}
      at: {type: timestamp}
      years: {type: interval, of: [year, month], send: {start: '{from}', end: '{to}'}}
      time: {type: interval, of: timestamp}
    exactly_one: [state, basin]
    axes:
      - each: [state, basin]
      - pack: site
    rows: {format: json, at: '$.data[*]'}
    fields:
      station_id: {type: text, from: '$.id'}
      area: {type: decimal, from: '$.basin.area', null: ['-999']}
      basin: {type: json}
      name: {type: text}
      '*_mgd': {type: float64}
      flow: {type: decimal}
    key: [station_id]
    on_duplicate: fail_if_different
    finalize:
      - rename: {flow: flow_m3s}
      - filter: {name: a}
      - cast: {name: text}
      - limit: 10
`

func edited(oldnew ...string) string { return strings.NewReplacer(oldnew...).Replace(minimal) }

func gauges(t testing.TB, oldnew ...string) *Collection {
	t.Helper()
	d, err := Parse("rivers.yaml", []byte(edited(oldnew...)))
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Collection("gauges")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func daily(t testing.TB) *Collection {
	t.Helper()
	data, ok := Builtin("usgs-waterdata")
	if !ok {
		t.Fatal("no definition usgs-waterdata")
	}
	d, err := Parse("usgs-waterdata.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Collection("daily")
	if err != nil {
		t.Fatal(err)
	}
	return c
}
