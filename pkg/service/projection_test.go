package service

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const projecting = `schema: service/v1
name: rivers
base_url: https://api.example.org
collections:
  levels:
    request: {path: /levels}
    params:
      gauge: {type: text, many: comma}
      properties: {type: columns, many: comma, omit: [id, level_id], aliases: [columns]}
    rows: {format: geojson}
    fields:
      gauge: {type: text}
      time: {type: date}
      level: {type: decimal}
      unit: {type: text}
      changed: {type: timestamp}
      geometry: {type: geometry, from: '$.geometry'}
      id: {type: text, from: '$.id'}
    key: [gauge, time]
    on_duplicate: {newest: changed}
    finalize:
      - rename: {id: level_id, level: height}
      - filter: {unit: [m]}
      - add: {source: rivers}
      - sort: [height]
`

func TestAServiceIsAskedForTheColumnsThatTheTableIsMadeOf(t *testing.T) {
	d, err := Parse("rivers.yaml", []byte(projecting))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		values   Values
		selected []string
		want     Values
	}{
		"all columns":      {Values{"gauge": {"a"}}, nil, Values{"gauge": {"a"}}},
		"selected":         {Values{"gauge": {"a"}}, []string{"time", "height"}, Values{"gauge": {"a"}, "properties": {"gauge", "time", "level", "unit", "changed"}}},
		"made elsewhere":   {Values{}, []string{"source", "geometry", "level_id"}, Values{"properties": {"gauge", "time", "level", "unit", "changed"}}},
		"named":            {Values{"columns": {"id", "depth-of-bed", "time"}}, nil, Values{"properties": {"gauge", "time", "level", "unit", "changed", "depth_of_bed"}}},
		"named the id":     {Values{"properties": {"id"}}, nil, Values{"properties": {"id"}}},
		"another name too": {Values{"properties": {"level"}}, []string{"time"}, Values{"properties": {"gauge", "time", "level", "unit", "changed"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, d.Collections[0].Project(test.values, test.selected)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestColumnsThatCannotBeNamedAreNotLeftOut(t *testing.T) {
	for name, edit := range map[string][2]string{
		"a path into the row":     {"unit: {type: text}", "unit: {type: text, from: '$.properties.unit.name'}"},
		"the item is the row":     {"rows: {format: geojson}", "rows: {format: json, at: '$[*]'}"},
		"nothing to say it with":  {"      properties: {type: columns, many: comma, omit: [id, level_id], aliases: [columns]}\n", ""},
		"nothing to say it with ": {"type: columns, many: comma, omit: [id, level_id], aliases: [columns]", "type: text"},
	} {
		d, err := Parse("rivers.yaml", []byte(strings.Replace(projecting, edit[0], edit[1], 1)))
		if err != nil {
			t.Fatal(name, err)
		}
		values := Values{"gauge": {"a"}}
		if diff := cmp.Diff(values, d.Collections[0].Project(values, []string{"level_id", "unit"})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
