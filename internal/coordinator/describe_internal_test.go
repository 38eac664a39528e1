package coordinator

import (
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

type oneDefinition string

func (d oneDefinition) Pinned(name string) ([]byte, error) {
	return service.Pinned{File: name + ".yaml", Text: string(d)}.Encode()
}

func TestAnIntervalIsDescribedAsOne(t *testing.T) {
	const text = `
schema: service/v1
name: rivers
base_url: https://rivers.example
hosts: [{host: rivers.example}]
limits: {in_flight: 4}
collections:
  monthly:
    request: {path: /monthly}
    params: {site: {type: text}, time: {type: interval, of: month}}
    axes: [{each: site}]
    rows: {format: json, at: '$.data[*]'}
    fields: {site: {type: text}, n: {type: int64}}
    key: [site, n]
`
	for want, interval := range map[string][]string{
		"site: s1; time: 2015-01/2015-12": {"2015-01", "2015-12"},
		"site: s1; time: 2015-01":         {"2015-01"},
	} {
		spec := &query.Spec{V: query.SpecVersion, Name: "test", Service: "rivers", Collection: "monthly", Values: service.Values{"site": {"s1", "s2"}, "time": interval}}
		_, p, err := plan(oneDefinition(text), nil, nil, spec, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if got := p.asks("0"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
