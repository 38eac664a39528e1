package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

func document(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// docs/plan.md says what changes a fingerprint and what does not.
func TestTheFingerprintCoversWhatTheDocumentSays(t *testing.T) {
	const whole = "schema: query/v1\nservice: rivers\ncollection: levels\nwhere:\n  gauge: [AB12, CD34, EF56]\n  time: {from: 2020-01-01, to: 2023-12-31}\noutput: t.csv\n"
	fingerprint := func(t *testing.T, definition, query []string) string {
		t.Helper()
		text, err := os.ReadFile("testdata/services/rivers.yaml")
		if err != nil {
			t.Fatal(err)
		}
		d := newFolder(t)
		d.env["BRAID_SERVICES_DIR"] = d.env["HOME"]
		d.write("rivers.yaml", strings.NewReplacer(definition...).Replace(string(text)))
		d.write("q.yaml", strings.NewReplacer(query...).Replace(whole))
		var plan messages.PlanSummary
		if err := json.Unmarshal([]byte(d.run("plan", "q.yaml", "--json").mustExit(t, 0).stdout), &plan); err != nil {
			t.Fatal(err)
		}
		return plan.Fingerprint
	}
	for name, test := range map[string]struct {
		definition, query []string
		same              bool
	}{
		"a value more":            {nil, []string{"EF56]", "EF56, GH78]"}, false},
		"the order of values":     {nil, []string{"AB12, CD34", "CD34, AB12"}, false},
		"the interval":            {nil, []string{"2023-12-31", "2023-12-30"}, false},
		"a default that is given": {nil, []string{"  time:", "  quantity: level\n  time:"}, false},
		"max_chunks":              {nil, []string{"output:", "max_chunks: 3\noutput:"}, false},
		"a limit that divides":    {[]string{"url_bytes: 400", "url_bytes: 90"}, nil, false},
		"the estimate, with chunk_rows": {
			[]string{"limits: {", "limits: {chunk_rows: 1500, "}, nil, false,
		},
		"a limit that does not divide": {[]string{"url_bytes: 400", "url_bytes: 300"}, nil, true},
		"a default in the definition":  {[]string{"default: level", "default: flow"}, nil, true},
		"the order of conditions": {
			nil, []string{"  gauge: [AB12, CD34, EF56]\n  time: {from: 2020-01-01, to: 2023-12-31}\n", "  time: {from: 2020-01-01, to: 2023-12-31}\n  gauge: [AB12, CD34, EF56]\n"}, true,
		},
		"a value that stands twice":         {nil, []string{"EF56]", "EF56, AB12]"}, true},
		"select, where it is not sent":      {nil, []string{"output:", "select: [gauge, time]\noutput:"}, true},
		"the output":                        {nil, []string{"t.csv", "u.parquet"}, true},
		"max_rows":                          {nil, []string{"output:", "max_rows: 7\noutput:"}, true},
		"run":                               {nil, []string{"output:", "run: {in_flight: 2}\noutput:"}, true},
		"paths, quotas, paging, page sizes": {[]string{"path: /levels", "path: /level5", "limit: 100", "limit: 99", "page_rows: 1000", "page_rows: 10"}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			home, err := os.Getwd()
			if err != nil {
				t.Fatal(err)
			}
			before := fingerprint(t, nil, nil)
			t.Chdir(home)
			if same := before == fingerprint(t, test.definition, test.query); same != test.same {
				t.Errorf("the same: %t, want %t", same, test.same)
			}
		})
	}
}

// docs/plan.md names every number that a plan tells, and docs/query-file.md says of every interval what its end means.
func TestTheDocumentsNameWhatAPlanTellsAndWhatIntervalsEndWith(t *testing.T) {
	plan := document(t, "plan.md")
	source, err := os.ReadFile("../../pkg/messages/plan_summary.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range regexp.MustCompile(`json:"(\w+)`).FindAllStringSubmatch(string(source), -1) {
		if tag[1] != "quotas" && !strings.Contains(plan, "`"+tag[1]+"`") && !strings.Contains(plan, "."+tag[1]+"`") {
			t.Errorf("docs/plan.md does not name %s", tag[1])
		}
	}
	named := map[string][]string{"whole day": {"usgs-waterdata daily time"}, "whole year": {"usgs-nwdc water-use time"}}
	got := map[string][]string{}
	for _, name := range service.BuiltinNames() {
		data, _ := service.Builtin(name)
		d, err := service.Parse(name, data)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range d.Collections {
			for _, p := range c.Parameters() {
				ends := endsText(p.Of)
				if (ends != "") != (p.Type == service.TypeInterval) {
					t.Errorf("%s %s %s: %q", name, c.Name, p.Name, ends)
				}
				for kind := range named {
					if strings.Contains(ends, "means the "+kind) {
						got[kind] = append(got[kind], name+" "+c.Name+" "+p.Name)
					}
				}
			}
		}
	}
	for kind, want := range named {
		if !slices.Equal(got[kind], want) {
			t.Errorf("a %s as the end: %v, docs/query-file.md says %v", kind, got[kind], want)
		}
	}
}
