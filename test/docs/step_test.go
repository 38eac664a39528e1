package docs

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// step is what is done with one block, in the shell of its page.
type step struct {
	block  block
	file   string // that gets the block's text; empty: none
	shell  string // what is run; empty: nothing
	code   string // with which it has to end
	ready  string // host:port that answers, or says "words": the step stays running; empty: it ends
	output string // what the page says that it prints; empty: nothing in particular

	outputLang string // text or json
}

// steps gives what is to be done with a page. An error says what of the page nobody knows how to check.
func (p page) steps(machine machine) ([]step, error) {
	var all []step
	for i, b := range p.blocks {
		if _, is := b.mark("not run"); is {
			continue
		}
		s, err := b.step(i, machine)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.at(), err)
		}
		if b.lang == "sh" && i+1 < len(p.blocks) && s.ready == "" {
			next := p.blocks[i+1]
			_, file := next.mark("file")
			if _, not := next.mark("not output"); !not && !file && (next.lang == "text" || next.lang == "json") && next.heading == b.heading {
				s.output, s.outputLang = next.body, next.lang
			}
		}
		if s.shell != "" || s.file != "" {
			all = append(all, s)
		}
	}
	return all, nil
}

func (b block) step(number int, machine machine) (step, error) {
	s := step{block: b, code: "0"}
	if code, is := b.mark("exits"); is {
		s.code = code
	}
	s.ready, _ = b.mark("stays running")
	file, named := b.mark("file")
	s.file = file
	switch b.lang {
	case "sh":
		if !named {
			s.shell = b.body
		}
		return s, nil
	case "yaml":
		return s.ofYAML(number)
	case "json":
		var text json.RawMessage
		return s, json.Unmarshal([]byte(b.body), &text)
	case "go":
		return s, parseGo(b.body)
	case "sql":
		s.file = fmt.Sprintf(".blocks/%d.sql", number)
		s.shell = "duckdb < " + s.file
		return s, nil
	case "python":
		if !named {
			s.file = fmt.Sprintf(".blocks/%d.py", number)
		}
		s.shell = machine.python(b, s.file, named)
		return s, nil
	case "r":
		s.file = fmt.Sprintf(".blocks/%d.R", number)
		s.shell = machine.r(b, s.file)
		return s, nil
	case "ini", "csv":
		if !named {
			return s, fmt.Errorf("say which file a block of %s is, by <!-- file: NAME -->", b.lang)
		}
		return s, checkUnit(b)
	case "mermaid":
		return s, checkDiagram(b.body)
	case "text", "":
		if prompt.MatchString(b.body) {
			return s, errors.New("a command stands in a block that nobody runs; write it as sh, and what it prints as text behind it")
		}
		return s, nil
	}
	return s, fmt.Errorf("nobody checks blocks of %q: see step in test/docs/step_test.go", b.lang)
}

// prompt is that of a shell before a command.
var prompt = regexp.MustCompile(`(?m)^\$ `)

// ofYAML plans a query, checks a definition, and reads all else.
func (s step) ofYAML(number int) (step, error) {
	body := s.block.body
	var document any
	if err := yaml.Unmarshal([]byte(body), &document); err != nil {
		return s, err
	}
	if of, is := s.block.mark("part of"); is {
		if of != "query" {
			return s, fmt.Errorf("part of %q: only parts of a query can be checked", of)
		}
		whole, err := completed(document)
		if err != nil {
			return s, err
		}
		body, s.block.body = whole, whole
	}
	if s.file == "" {
		s.file = fmt.Sprintf("examples/block-%d.yaml", number) // the file of sites is there
	}
	switch {
	case strings.Contains(body, "schema: query/v1"):
		s.shell = "braid plan " + s.file
	case strings.Contains(body, "schema: service/v1"):
		s.shell = "braid services check " + s.file
	}
	return s, nil
}

// completed makes a whole query of some keys of one: those of where too.
func completed(part any) (string, error) {
	keys, ok := part.(map[string]any)
	if !ok {
		return "", fmt.Errorf("part of a query: %T is no mapping", part)
	}
	where := map[string]any{"monitoring_location_id": []string{"USGS-05427718"}, "parameter_code": "00060"}
	whole := map[string]any{"schema": "query/v1", "service": "usgs-waterdata", "collection": "daily", "where": where}
	top := []string{"schema", "service", "collection", "where", "select", "output", "run", "verify", "since", "max_chunks", "max_rows", "zone"}
	for key, value := range keys {
		if slices.Contains(top, key) {
			whole[key] = value
			continue
		}
		where[key] = value
	}
	data, err := yaml.Marshal(whole)
	return string(data), err
}

// parseGo reads a file, declarations, statements, or a method of an interface.
func parseGo(body string) error {
	body = strings.ReplaceAll(body, "…", "/* */")
	var err error
	for _, text := range []string{body, "package p\n" + body, "package p\nfunc _() {\n" + body + "\n}", "package p\ntype _ interface {\n" + body + "\n}"} {
		if _, err = parser.ParseFile(token.NewFileSet(), "block.go", text, 0); err == nil {
			return nil
		}
	}
	return err
}

// checkDiagram looks for what makes a diagram not be drawn at all; no drawing program is here.
func checkDiagram(body string) error {
	kind, rest, _ := strings.Cut(body, "\n")
	if !regexp.MustCompile(`^(flowchart (LR|TD)|sequenceDiagram|stateDiagram-v2)$`).MatchString(kind) {
		return fmt.Errorf("a diagram begins with its kind, not with %q", kind)
	}
	for n, line := range strings.Split(rest, "\n") {
		for _, pair := range []string{"[]", "()", "{}"} {
			if kind != "sequenceDiagram" && strings.Count(line, pair[:1]) != strings.Count(line, pair[1:]) {
				return fmt.Errorf("line %d of the diagram opens or closes more %s than it closes or opens: %q", n+2, pair, line)
			}
		}
		if strings.Count(line, `"`)%2 != 0 {
			return fmt.Errorf("line %d of the diagram has a quote without its end: %q", n+2, line)
		}
	}
	return nil
}

var unitLine = regexp.MustCompile(`^(\[[A-Z][A-Za-z]*\]|[A-Z][A-Za-z]*=.+|#.*|)$`)

// checkUnit looks for lines that are none of a systemd unit.
func checkUnit(b block) error {
	for n, line := range strings.Split(b.body, "\n") {
		if b.lang == "ini" && !unitLine.MatchString(line) {
			return fmt.Errorf("line %d of the unit is neither a section nor a setting: %q", n+1, line)
		}
	}
	return nil
}

// machine is what of other languages can be run here.
type machine struct {
	pythonPath string          // of the interpreter itself
	packages   map[string]bool // of Python, by import name: whether they are there
	rscript    string          // empty: there is none
	t          *testing.T
}

// elsewhere lists what a machine that runs the tests need not have: blocks that need it are then checked for their syntax alone, and R's not at
// all. The test's log names each of them.
func elsewhere() map[string]string {
	return map[string]string{
		"pandas":   "of PyPI, which neither CI nor a plain machine reaches",
		"airflow":  "of PyPI, with some hundred packages below it",
		"pendulum": "of PyPI; Airflow brings it",
		"Rscript":  "R is half a gigabyte",
	}
}

var importLine = regexp.MustCompile(`(?m)^(?:import|from) ([a-z_0-9]+)`)

func findMachine(t *testing.T, all []page) machine {
	m := machine{t: t, packages: map[string]bool{}}
	if path, err := exec.LookPath("python3"); err == nil {
		out, err := exec.CommandContext(t.Context(), path, "-c", "import sys; print(sys.executable)").Output()
		if err != nil {
			t.Fatalf("ask python3 where it is: %v", err)
		}
		m.pythonPath = strings.TrimSpace(string(out))
	}
	if path, err := exec.LookPath("Rscript"); err == nil {
		m.rscript = path
	}
	for _, p := range all {
		for _, b := range p.blocks {
			for _, found := range importLine.FindAllStringSubmatch(b.body, -1) {
				if name := found[1]; b.lang == "python" && m.pythonPath != "" {
					m.packages[name] = exec.CommandContext(t.Context(), m.pythonPath, "-c", "import "+name).Run() == nil
				}
			}
		}
	}
	return m
}

// python runs a block where all that it imports is there, and else compiles it. What is the text of a file is run by others.
func (m machine) python(b block, file string, named bool) string {
	compile := "python3 -m py_compile " + file
	if m.pythonPath == "" {
		m.t.Errorf("%s: there is no python3 to check it with", b.at())
		return ""
	}
	for _, found := range importLine.FindAllStringSubmatch(b.body, -1) {
		name := found[1]
		if m.packages[name] {
			continue
		}
		if elsewhere()[name] == "" {
			m.t.Errorf("%s: there is no %s here, and elsewhere in test/docs/step_test.go does not list it", b.at(), name)
		}
		m.t.Logf("%s: compiled and not run: there is no %s here (%s)", b.at(), name, elsewhere()[name])
		return compile
	}
	if named {
		return compile
	}
	return "python3 " + file
}

func (m machine) r(b block, file string) string {
	if m.rscript == "" {
		m.t.Logf("%s: neither read nor run: there is no Rscript here (%s)", b.at(), elsewhere()["Rscript"])
		return ""
	}
	return fmt.Sprintf("Rscript -e 'invisible(parse(%q))'", file)
}

// duckdb is the database's own engine below Node, as a program that reads SQL as the command line's does: from -c, or from its input.
const duckdb = `
import {createRequire} from 'node:module'
import {readFileSync} from 'node:fs'
import {pathToFileURL} from 'node:url'
const require = createRequire(process.env.READERS + '/read.mjs')
const {DuckDBInstance} = await import(pathToFileURL(require.resolve('@duckdb/node-api')))
const connection = await (await DuckDBInstance.create(':memory:')).connect()
const i = process.argv.indexOf('-c')
const reader = await connection.runAndReadAll(i > 0 ? process.argv[i + 1] : readFileSync(0, 'utf8'))
console.log(reader.columnNames().join(' | '))
for (const row of reader.getRowsJson()) console.log(row.join(' | '))
`

func TestBlocksThatNobodyCanCheckAreFound(t *testing.T) {
	for name, c := range map[string]struct{ lang, body, want string }{
		"another language":       {"cobol", "MOVE", "nobody checks"},
		"a command as text":      {"text", "$ braid list\n", "write it as sh"},
		"no JSON":                {"json", "{a: 1}", "invalid character"},
		"no YAML":                {"yaml", "a: [", "yaml"},
		"no Go":                  {"go", "func {", "expected"},
		"units without a name":   {"ini", "[Unit]", "say which file"},
		"a diagram of no kind":   {"mermaid", "grpah LR\n", "begins with its kind"},
		"a diagram's open brace": {"mermaid", "flowchart LR\na[b --> c\n", "line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := block{lang: c.lang, body: c.body}.step(0, machine{t: t})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func readersFolder(t *testing.T) string {
	t.Helper()
	path, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return path + "/../readers"
}
