package service

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestNamesBecomeSnakeCaseAsRecorded(t *testing.T) {
	data, err := os.ReadFile("testdata/combine.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			ID, Kind string
			In       struct{ Name string }
			Expect   struct{ Name string }
		}
	}
	// Other kinds of cases have other members under the same names.
	var raw struct{ Cases []json.RawMessage }
	if err := json.Unmarshal(data, &raw); err != nil {
		t.Fatal(err)
	}
	for _, text := range raw.Cases {
		var kind struct{ Kind string }
		if json.Unmarshal(text, &kind) != nil || kind.Kind != "column_name" {
			continue
		}
		file.Cases = append(file.Cases, struct {
			ID, Kind string
			In       struct{ Name string }
			Expect   struct{ Name string }
		}{})
		if err := json.Unmarshal(text, &file.Cases[len(file.Cases)-1]); err != nil {
			t.Fatal(err)
		}
	}
	if len(file.Cases) == 0 {
		t.Fatal("no names are recorded")
	}
	for _, c := range file.Cases {
		if got := snakeCase(c.In.Name); got != c.Expect.Name {
			t.Errorf("%s: %q became %q, want %q", c.ID, c.In.Name, got, c.Expect.Name)
		}
	}
}

func TestNamesInSnakeCaseMeetTheFields(t *testing.T) {
	for rows, body := range map[string]string{
		"{format: json, names: snake_case}":  `[{"site":"a","flowNAVD88Ft":1},{"flowNAVD88Ft":2,"site":"b"}]`,
		"{format: jsonl, names: snake_case}": `{"site":"a","flowNAVD88Ft":1}` + "\n" + `{"flowNAVD88Ft":2,"site":"b"}`,
	} {
		page, err := decode(inFormat(t, rows), body)
		want := `{"site":"a","flow_navd88_ft":1}` + "\n" + `{"flow_navd88_ft":2,"site":"b"}` + "\n"
		if err != nil || string(page.Rows) != want {
			t.Errorf("%s: %s, %v", rows, page.Rows, err)
		}
	}
	page, err := decode(inFormat(t, "{format: csv, names: snake_case}"), "Site,flowNAVD88Ft\n01,2\n")
	if want := `{"site":"01","flow_navd88_ft":"2"}` + "\n"; err != nil || string(page.Rows) != want {
		t.Errorf("csv: %s, %v", page.Rows, err)
	}
}

func TestAListOfPackedParametersIsAnAxisForEach(t *testing.T) {
	c := gauges(t, "      - pack: site\n", "      - pack: [tag, site]\n")
	axes := c.Axes()
	if len(axes) != 3 || axes[1].Params[0] != "tag" || axes[2].Params[0] != "site" || len(axes[1].Params) != 1 {
		t.Errorf("axes %+v", axes)
	}
}

func TestTheZoneOfAFieldIsAnOffset(t *testing.T) {
	for zone, want := range map[string]string{"UTC": "Z", "'-06:00'": "-06:00"} {
		c := gauges(t, "flow: {type: decimal}", "flow: {type: timestamp, zone: "+zone+"}")
		fields := c.Shape().Fields
		if got := fields[len(fields)-1].Zone; got != want {
			t.Errorf("%s is %q, want %q", zone, got, want)
		}
	}
	for _, field := range []string{"{type: timestamp, zone: America/Chicago}", "{type: date, zone: UTC}"} {
		text := strings.Replace(minimal, "flow: {type: decimal}", "flow: "+field, 1)
		if _, err := Parse("rivers.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "fields.flow.zone") {
			t.Errorf("%s: %v", field, err)
		}
	}
}
