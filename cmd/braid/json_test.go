package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
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

// jsonStep is a command that prints one JSON document, an object with "v", with the fields that programs may count on: LIST. before
// those of each entry of a list that is not empty, and [] behind a list that may be. ID stands for the query's id, and UP for the server's URL.
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
		{"cancel ID", 0, "query query.id query.stop"},
		{"resume ID", 0, query + " outputs. outputs.path coverage_file manifest_file"},
		{"run flow.yaml", 0, query + " outputs. coverage_file manifest_file"},
		{"list", 0, "queries. queries.query queries.progress"},
		{"status ID", 0, "query progress"},
		{"watch ID", 0, query},
		{"results ID -o again.csv", 0, query + " outputs."},
		{"coverage ID", 0, "query values."},
		{"manifest ID", 0, "query service requests chunks."},
		{"failed ID", 0, "query state failures[]"},
		{"retry ID --failed", 0, query + " outputs."},
		{"cancel ID", exitUsage, "message_type code message"},
		{"verify ID", 0, "query queries."},
		{"quota", 0, "quotas."},
		{"gc", 0, "orphans bytes"},
		{"workers", 0, "now workers[]"},
		{"doctor", 0, "ok checks. checks.name checks.status checks.text"},
		{"services list", 0, "services. services.name services.title services.source services.base_url services.collections"},
		{"services show usgs-waterdata", 0, "name text"},
		{"services show usgs-waterdata --collection daily", 0, "service collection parameters. columns."},
		{"services show usgs-waterdata --live", 0, "name"},
		{"services check SERVICES/rivers.yaml", 0, "files. files.file files.name files.collections files.problems"},
		{"services check missing.yaml", exitUsage, "files. files.problems"},
		{"services test usgs-waterdata --collection daily --set monitoring_location_id=USGS-01646500", 0, "collections. collections.collection collections.status collections.rows"},
		{"services test usgs-waterdata --collection nowhere", exitUsage, "message_type code message"},
		{"config show", 0, "settings. settings.name settings.value settings.origin settings.variable"},
		{"config path", 0, "places. places.name places.path places.exists"},
		{"context add lab --server http://127.0.0.1:9", 0, "name server selected"},
		{"context list", 0, "contexts. contexts.name contexts.selected"},
		{"context show lab", 0, "name server selected"},
		{"context select lab", 0, "name server selected"},
		{"submit flow.yaml", exitInternal, "message_type code message"}, // nobody listens there
		{"context select local", 0, "name selected"},
		{"context rm lab", 0, "removed"},
		{"token new --name ana --role reader --file tokens.yaml", 0, "id name role token sha256"},
		{"token list --file tokens.yaml", 0, "tokens. tokens.id tokens.name"},
		{"token revoke ana --file tokens.yaml", 0, "revoked."},
		{"rm ID", 0, "removed"},
		{"man --dir pages", 0, "dir pages."},
		{"version", 0, "version go"},
		{"--version", 0, "version go"},
		{"list -z", exitUsage, "message_type code message"},
		{"list --nonsense", exitUsage, "message_type code message"},
		{"nonsense", exitUsage, "message_type code message"},
		{"demo nonsense", exitUsage, "message_type code message"},
		{"up --workers 0", exitUsage, "message_type code message"},
		{"simulator nonsense", exitUsage, "message_type code message"},
	}
}

// servedSteps are of a server that runs.
func servedSteps() []jsonStep {
	const query = "message_type query progress"
	return []jsonStep{
		{"submit flow.yaml --server UP", 0, "query query.id query.state"},
		{"watch ID --server UP", 0, query},
		{"submit flow.yaml --watch --server UP", 0, query},
		{"list --server UP", 0, "queries. queries.query queries.progress"},
		{"workers --server UP", 0, "now workers. workers.id"},
		{"services show usgs-waterdata --live --server UP", 0, "name queries[] slots"},
		{"quota --server UP", 0, "quotas."},
		{"doctor --server UP", 0, "ok checks."},
	}
}

func TestEveryCommandPrintsOneJSONDocument(t *testing.T) {
	d := newFolder(t)
	d.write("flow.yaml", jsonFlow)
	d.simulate()
	d.dashboards(t)
	seen, id, gate, base := map[string]bool{}, "", "", ""
	walk := func(steps []jsonStep, up string) {
		for _, step := range steps {
			named := strings.NewReplacer("SERVICES", d.env["BRAID_SERVICES_DIR"], "UP", up, "ID", id, "GATE", gate, "BASE", base).Replace(step.args)
			got := d.run(append(strings.Fields(named), "--json")...)
			if got.code != step.code {
				t.Errorf("%s: exit code %d, want %d: %s", step.args, got.code, step.code, got.stderr)
			}
			document := documentOf(t, step, got.stdout)
			if found, ok := at(document, "query.id"); ok && step.code != exitUsage {
				id = found.(string)
			}
			if found, ok := at(document, "gate.gate_hash"); ok {
				gate = found.(string)
			}
			if found, ok := at(document, "run.id"); ok && base == "" {
				base = found.(string)
			}
			if cmd, _, err := newRoot().Find(strings.Fields(step.args)); err != nil {
				t.Logf("%s: %v", step.args, err) // the name of no command
			} else {
				seen[cmd.CommandPath()] = seen[cmd.CommandPath()] || step.code == 0
			}
		}
	}
	walk(jsonSteps(), "")
	walk(loadSteps(), "")
	serving := d.serve(t, "up", "--listen", "127.0.0.1:0", "--workers", "1")
	up, _ := at(documentOf(t, jsonStep{"up", 0, "url data_dir process workers goes_on[]"}, serving.document), "url")
	walk(servedSteps(), up.(string))
	walk(servedLoadSteps(), up.(string))
	serving.end(t)
	fakes := d.serve(t, "simulator", "--listen", "127.0.0.1:0")
	documentOf(t, jsonStep{"simulator", 0, "services. services.name services.url counters"}, fakes.document)
	fakes.end(t)
	seen["braid up"], seen["braid simulator"] = true, true
	seen["braid demo"] = true // TestTheDemoPrintsOneJSONDocument
	for _, verb := range []string{"migrate", "status", "forget"} {
		seen["braid ledger "+verb] = true // TestTheLedgersTablesAreMadeAndLookedInto
	}
	everyCommand(newRoot(), func(cmd *cobra.Command) {
		if cmd.Name() != "help" && !cmd.HasSubCommands() && !seen[cmd.CommandPath()] {
			t.Errorf("%s has no case that ends well", cmd.CommandPath())
		}
	})
	if _, err := os.Stat("flow.csv"); err != nil {
		t.Error(err)
	}
}

func TestTheDemoPrintsOneJSONDocument(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the demo")
	}
	t.Parallel()
	environment := map[string]string{"HOME": t.TempDir()}
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"demo", "--json", "--dir", t.TempDir()}, func(name string) string { return environment[name] }, &stdout, &stderr)
	if code != 0 {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	documentOf(t, jsonStep{"demo", 0, "message_type checks. checks.promise checks.held tables. requests pauses"}, stdout.String())
}

// What a person or a shell reads is no document: --json, which may be a setting, changes nothing of it.
func TestHelpAndCompletionScriptsAreTextWhateverIsAskedFor(t *testing.T) {
	d := newFolder(t)
	for _, args := range []string{"--help", "help run", "run --help", "context", "completion bash", "completion zsh", "completion fish", "completion powershell"} {
		want := d.run(strings.Fields(args)...).mustExit(t, 0).stdout
		for name, got := range map[string]screen{
			"the flag": d.run(append(strings.Fields(args), "--json")...),
			"the variable": func() screen {
				d.env["BRAID_JSON"] = "true"
				defer delete(d.env, "BRAID_JSON")
				return d.run(strings.Fields(args)...)
			}(),
		} {
			if got.code != 0 || got.stdout != want || want == "" || strings.HasPrefix(want, "{") {
				t.Errorf("braid %s with %s: exit code %d, %.100q", args, name, got.code, got.stdout)
			}
		}
	}
}

// served is a command that stays.
type served struct {
	document string // that it printed as soon as it served
	stop     context.CancelFunc
	ended    chan int
	rest     *bytes.Buffer
	stderr   *bytes.Buffer
}

// serve starts a command that stays, and gives what it printed as soon as it served.
func (d *folder) serve(t *testing.T, args ...string) *served {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	s := &served{stop: stop, ended: make(chan int, 1), rest: new(bytes.Buffer), stderr: new(bytes.Buffer)}
	go func() {
		code := run(ctx, append(args, "--json"), func(name string) string { return d.env[name] }, write, s.stderr)
		_ = write.Close()
		s.ended <- code
	}()
	decoder := json.NewDecoder(read)
	var document json.RawMessage
	if err := decoder.Decode(&document); err != nil {
		t.Fatalf("%v: no document: %v: %s", args, err, s.stderr)
	}
	s.document = string(document)
	go func() { _, _ = io.Copy(s.rest, io.MultiReader(decoder.Buffered(), read)) }()
	return s
}

// end stops it as a signal does: it ends well, and has printed one document.
func (s *served) end(t *testing.T) {
	t.Helper()
	s.stop()
	if code := <-s.ended; code != 0 {
		t.Errorf("it ended with %d: %s", code, s.stderr)
	}
	if more := strings.TrimSpace(s.rest.String()); more != "" {
		t.Errorf("it printed another document: %s", more)
	}
}

// documentOf reads what a step printed.
func documentOf(t *testing.T, step jsonStep, text string) map[string]any {
	t.Helper()
	var document map[string]any
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Errorf("%s: %v: %.200q", step.args, err, text)
		return nil
	}
	for _, name := range append(strings.Fields(step.fields), "v") {
		list, field, listed := strings.Cut(name, ".")
		entries, is := document[list].([]any)
		switch {
		case strings.HasSuffix(name, "[]"):
			found, _ := at(document, strings.TrimSuffix(name, "[]"))
			if _, is := found.([]any); !is {
				t.Errorf("%s: %s is no list in %v", step.args, name, document)
			}
		case listed && is:
			for _, entry := range entries {
				if _, ok := at(entry, field); field != "" && !ok {
					t.Errorf("%s: no field %s in %v", step.args, name, entry)
				}
			}
			if len(entries) == 0 {
				t.Errorf("%s: %s is empty", step.args, list)
			}
		case listed && field == "":
			t.Errorf("%s: %s is no list in %v", step.args, list, document)
		default:
			if _, ok := at(document, name); !ok {
				t.Errorf("%s: no field %s in %v", step.args, name, document)
			}
		}
	}
	return document
}
