package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

const jsonFlow = `schema: query/v1
service: usgs-waterdata
collection: daily
where:
  monitoring_location_id: [USGS-01013500, USGS-01022500]
  parameter_code: '00060'
  statistic_id: '00003'
  time: {from: 2023-10-01, to: 2024-09-30}
output: {to: flow.csv, if_exists: replace}
max_chunks: 2
`

// jsonStep is a command that prints one JSON document, with the fields that programs may count on; a dash for the fields of each
// entry of a list. ID stands for the query's id, and TID for the token's.
type jsonStep struct {
	args   string
	code   int
	fields string
}

// jsonSteps are run one after the other.
func jsonSteps() []jsonStep {
	const query = "message_type query progress"
	return []jsonStep{
		{"plan flow.yaml", 0, "service collection chunks"},
		{"run flow.yaml --max-requests 1 --in-flight 1", exitBudget, query + " continue"},
		{"resume ID", 0, query + " outputs coverage_file manifest_file"},
		{"run flow.yaml", 0, query + " outputs coverage_file manifest_file"},
		{"list", 0, "- query progress"},
		{"status ID", 0, "query progress"},
		{"watch ID", 0, query},
		{"results ID -o again.csv", 0, query + " outputs"},
		{"coverage ID", 0, "v query values"},
		{"manifest ID", 0, "v query service requests chunks"},
		{"failed ID", 0, "v query state failures"},
		{"retry ID --failed", 0, query + " outputs"},
		{"cancel ID", exitUsage, "message_type code message"},
		{"verify ID", 0, "v query queries"},
		{"quota", 0, "v quotas"},
		{"gc", 0, "v orphans bytes"},
		{"workers", 0, "v now workers"},
		{"doctor", 0, "ok checks"},
		{"services list", 0, "- name title source base_url collections"},
		{"services show usgs-waterdata", 0, "name text"},
		{"services check missing.yaml", exitUsage, ""},
		{"services test usgs-waterdata --collection nowhere", exitUsage, "message_type code message"},
		{"config show", 0, "- name value origin variable"},
		{"config path", 0, "- name path exists"},
		{"context add lab --server http://127.0.0.1:9", 0, "name server selected"},
		{"context list", 0, "- name selected"},
		{"context show lab", 0, "name server selected"},
		{"context select lab", 0, "name server selected"},
		{"submit flow.yaml", exitInternal, "message_type code message"}, // nobody listens there
		{"context select local", 0, "name selected"},
		{"context rm lab", 0, "removed"},
		{"token new --name ana --role reader --file tokens.yaml", 0, "id name role token sha256"},
		{"token list --file tokens.yaml", 0, "tokens"},
		{"token revoke ana --file tokens.yaml", 0, ""},
		{"rm ID", 0, ""},
		{"man --dir pages", 0, "dir pages"},
		{"version", 0, "version go"},
		{"list -z", exitUsage, "message_type code message"},
		{"list --nonsense", exitUsage, "message_type code message"},
		{"nonsense", exitUsage, "message_type code message"},
		{"demo nonsense", exitUsage, "message_type code message"},
		{"up --workers 0", exitUsage, "message_type code message"},
		{"simulator nonsense", exitUsage, "message_type code message"},
	}
}

func TestEveryCommandPrintsOneJSONDocument(t *testing.T) {
	d := newFolder(t)
	d.write("flow.yaml", jsonFlow)
	d.simulate()
	seen, id := map[string]bool{}, ""
	for _, step := range jsonSteps() {
		args := strings.Fields(strings.ReplaceAll(step.args, "ID", id))
		cmd, _, err := newRoot().Find(args)
		if err != nil {
			t.Fatal(err)
		}
		seen[cmd.CommandPath()] = true
		got := d.run(append(args, "--json")...)
		if got.code != step.code {
			t.Errorf("%s: exit code %d, want %d: %s", step.args, got.code, step.code, got.stderr)
		}
		var document any
		if err := json.Unmarshal([]byte(got.stdout), &document); err != nil {
			t.Errorf("%s: %v: %.200q", step.args, err, got.stdout)
			continue
		}
		hasFields(t, step, document)
		if found, ok := at(document, "query.id"); ok && args[0] == "run" {
			id = found.(string)
		}
	}
	everyCommand(newRoot(), func(cmd *cobra.Command) {
		if cmd.Name() != "help" && !cmd.HasSubCommands() && !seen[cmd.CommandPath()] {
			t.Errorf("%s has no case", cmd.CommandPath())
		}
	})
	if _, err := os.Stat("flow.csv"); err != nil {
		t.Error(err)
	}
}

func hasFields(t *testing.T, step jsonStep, document any) {
	t.Helper()
	fields := strings.Fields(step.fields)
	entries := []any{document}
	if i := slices.Index(fields, "-"); i == 0 {
		fields = fields[1:]
		list, ok := document.([]any)
		if !ok || len(list) == 0 {
			t.Errorf("%s: no list, or an empty one", step.args)
			return
		}
		entries = list
	}
	for _, entry := range entries {
		for _, name := range fields {
			if _, ok := at(entry, name); !ok {
				t.Errorf("%s: no field %s in %v", step.args, name, entry)
			}
		}
	}
}
