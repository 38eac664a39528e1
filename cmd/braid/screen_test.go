package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/query"
)

var update = flag.Bool("update", false, "write the golden screens anew")

// screen is what one command shows: the exit code, and what is on stdout and stderr.
type screen struct {
	code           int
	stdout, stderr string
}

// folder is where commands are run, beside a copy of the services in testdata.
type folder struct {
	t   *testing.T
	env map[string]string
}

func newFolder(t *testing.T) *folder {
	t.Helper()
	services, err := filepath.Abs("testdata/services")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	t.Chdir(home)
	return &folder{t, map[string]string{"HOME": home, "BRAID_SERVICES_DIR": services}}
}

func (d *folder) write(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// simulate lets commands ask a simulator of the example's service, which ends with the test, and show no progress.
func (d *folder) simulate() {
	d.t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(d.t.Context()))
	base, wait, err := simulator.New(simulator.Config{}).Serve(ctx, "127.0.0.1:0")
	if err != nil {
		stop()
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		stop()
		_ = wait()
	})
	d.env["BRAID_SERVICE_URL"] = "usgs-waterdata=" + base + simulator.WaterDataBase
	d.env["BRAID_PROGRESS"] = "quiet"
}

func (d *folder) run(args ...string) screen {
	d.t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(d.t.Context(), args, func(name string) string { return d.env[name] }, &stdout, &stderr)
	return screen{code, stdout.String(), stderr.String()}
}

func (s screen) mustExit(t *testing.T, code int) screen {
	t.Helper()
	if s.code != code {
		t.Fatalf("exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", s.code, code, s.stdout, s.stderr)
	}
	return s
}

// golden compares a text with the one that is kept.
func golden(t *testing.T, dir, name, got string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func testdata(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAPlanReportsEveryMistakeOfAFileAtOnceWithItsLine(t *testing.T) {
	kept := testdata(t)
	d := newFolder(t)
	if err := os.CopyFS(".", os.DirFS(filepath.Join(kept, "broken"))); err != nil {
		t.Fatal(err)
	}
	plan := d.run("plan", "broken.yaml").mustExit(t, exitUsage)
	golden(t, kept, "broken.txt", plan.stderr)
	if plan.stdout != "" {
		t.Errorf("on stdout: %s", plan.stdout)
	}
	var event struct {
		MessageType string `json:"message_type"`
		Problems    []problem
	}
	asJSON := d.run("plan", "broken.yaml", "--json").mustExit(t, exitUsage)
	if err := json.Unmarshal([]byte(asJSON.stdout), &event); err != nil || event.MessageType != "exit_error" || len(event.Problems) != 13 || asJSON.stderr != plan.stderr {
		t.Errorf("%v: %s%s", err, asJSON.stdout, asJSON.stderr)
	} else if want := (problem{"broken.yaml", 8, 0, "where.quantity", `the value "depth" is not allowed; known are level, flow`}); event.Problems[2] != want {
		t.Errorf("got %+v, want %+v", event.Problems[2], want)
	}
	// A run refuses the same, before it makes a data directory.
	if r := d.run("run", "broken.yaml").mustExit(t, exitUsage); r.stderr != plan.stderr {
		t.Error(cmp.Diff(plan.stderr, r.stderr))
	}
	if _, err := os.Stat(".local"); err == nil {
		t.Error("a refused run left a data directory")
	}
}

const levels = `schema: query/v1
service: rivers
collection: levels
where:
  gauge: {file: gauges.txt}
  time: {from: 2020-01-01, to: 2023-12-31}
output: levels.csv
`

func gauges(n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString(string([]byte{'A' + byte(i/1000%26), 'A' + byte(i/100%26), '0' + byte(i/10%10), '0' + byte(i%10), '\n'}))
	}
	return text.String()
}

func TestAPlanShowsWhatAPersonAsksBeforeSpendingQuota(t *testing.T) {
	kept := testdata(t)
	d := newFolder(t)
	d.write("gauges.txt", gauges(200))
	d.write("levels.yaml", levels)
	plain := d.run("plan", "levels.yaml").mustExit(t, 0)
	golden(t, kept, "plan-without-key.txt", plain.stdout)
	for line := range strings.Lines(plain.stdout) {
		if n := utf8.RuneCountInString(line); n > 81 && !strings.HasPrefix(line, "first") && !strings.HasPrefix(line, "last") {
			t.Errorf("%d characters: %s", n, line)
		}
	}
	d.env["RIVERS_KEY"] = "s3cr3t-key"
	withKey := d.run("plan", "levels.yaml").mustExit(t, 0)
	golden(t, kept, "plan-with-key.txt", withKey.stdout)
	asJSON := d.run("plan", "levels.yaml", "--json").mustExit(t, 0)
	// What is pinned names the definition's file, which is elsewhere on another machine.
	golden(t, kept, "plan.json", definitionDigest.ReplaceAllString(asJSON.stdout, `"definition": "…"`))
	if all := plain.stdout + withKey.stdout + asJSON.stdout + withKey.stderr + asJSON.stderr; strings.Contains(all, "s3cr3t") {
		t.Error("the key is shown")
	}
}

var definitionDigest = regexp.MustCompile(`"definition": "[0-9a-f]{64}"`)

func TestThePlansExitCodeForetellsTheRuns(t *testing.T) {
	d := newFolder(t)
	d.write("gauges.txt", gauges(200))
	d.write("levels.yaml", levels)
	d.run("plan", "levels.yaml", "--exit-code").mustExit(t, exitPaused)
	d.write("levels.yaml", levels+"run: {on_quota: {wait_up_to: 2d}}\n")
	d.run("plan", "levels.yaml", "--exit-code").mustExit(t, 0)
	d.write("gauges.txt", gauges(5))
	d.write("levels.yaml", levels)
	d.run("plan", "levels.yaml", "--exit-code").mustExit(t, 0)
	d.write("levels.yaml", strings.Replace(levels, "gauge:", "guage:", 1))
	d.run("plan", "levels.yaml", "--exit-code").mustExit(t, exitUsage)
}

// Wide is a collection of which neither rows nor quota are always known; and its requests have bodies.
const wide = `schema: service/v1
name: wide
base_url: https://wide.example/v1
hosts: [{host: wide.example}]
quotas:
  wide: {limit: 100, window: 1h}
limits: {url_bytes: 400, body_bytes: 300, page_rows: 10, in_flight: 64}
collections:
  levels:
    request: {path: /levels, method: POST_IF_MANY}
    params:
      state: {type: text}
      gauge: {type: text, many: cql2_in}
      time: {type: interval, of: date, send: {from: '{from}', to: '{to}'}}
    axes: [{pack: gauge}]
    paging: {style: link, next: 'header:Link[rel=next]'}
    rows: {format: json, at: '$[*]'}
    fields: {gauge: {type: text}, time: {type: date}}
    estimate: {rows: {per: [gauge], every: 1d}}
`

func wideFolder(t *testing.T, oldnew ...string) *folder {
	t.Helper()
	d := newFolder(t)
	d.env["BRAID_SERVICES_DIR"] = d.env["HOME"]
	d.write("wide.yaml", strings.NewReplacer(oldnew...).Replace(wide))
	return d
}

func TestAPlanSaysWhatIsNotKnownAndWhy(t *testing.T) {
	whole := []string{"plan", "--exit-code", "--service", "wide", "--collection", "levels", "--set", "state=WI", "--set", "time=2024-01-01/2024-01-31"}
	one := append(slices.Clone(whole), "--set", "gauge=a")
	for name, test := range map[string]struct {
		oldnew []string
		args   []string
		code   int
		stdout []string
		stderr string
	}{
		"a whole state": {nil, whole, exitUntold, []string{
			"requests   1 at least; how many are expected is not known\n           the rows are not known: gauge is not given\n",
			"rows       not known (gauge is not given)\n", "whether it fits into one window is not known:\n",
		}, "cannot be told: wide: how many requests it takes is not known; requests: the rows are not known: gauge is not given\n"},
		"a gauge":             {nil, one, exitOK, []string{"rows       about 31,", "fits into one window"}, ""},
		"it is waited anyway": {nil, append(slices.Clone(whole), "--wait"), exitOK, nil, ""},
		"limit and requests": {
			[]string{"limit: 100", "limit: 100, anonymous_limit: observe", "[{host: wide.example}]", "[{host: wide.example, credentials: [key]}]\ncredentials: {key: {send: {header: X-Key}, from: 'env:WIDE_KEY'}}"},
			whole, exitUntold,
			[]string{"its limit is not known before the first answer\n"},
			"cannot be told: wide: its limit is not known before the first answer; requests: the rows are not known: gauge is not given\n",
		},
		"a quota of bytes": {[]string{"limit: 100", "limit: 100, counts: bytes"}, one, exitUntold, []string{"whether it fits"}, "wide: how many bytes come is not known\n"},
		"no quota":         {[]string{"quotas:\n  wide: {limit: 100, window: 1h}\n", ""}, whole, exitOK, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := wideFolder(t, test.oldnew...).run(test.args...).mustExit(t, test.code)
			for _, want := range test.stdout {
				if !strings.Contains(got.stdout, want) {
					t.Errorf("%q is not in\n%s", want, got.stdout)
				}
			}
			if !strings.HasSuffix(got.stderr, test.stderr) || test.stderr == "" && got.stderr != "" {
				t.Errorf("stderr is %q, want %q", got.stderr, test.stderr)
			}
		})
	}
}

func TestAPlanShowsItsWindowsAndBothBodies(t *testing.T) {
	d := wideFolder(t, "limit: 100", "limit: 1")
	d.write("gauges.txt", gauges(61))
	got := d.run("plan", "--service", "wide", "--collection", "levels", "--set", "gauge=@gauges.txt", "--set", "time=2024-01-01/2024-01-01").mustExit(t, 0).stdout
	for _, want := range []string{
		"needs about 7 windows of 1\n           the first begins at the start, others after 1 h, 2 h, 3 h, … 6 h\n",
		"first      POST https://wide.example/v1/levels", "\n           {\"op\":\"and\",\"args\":[{\"op\":\"in\",\"args\":[{\"property\":\"gauge\"},[\"AA00\",",
		"\"AA60\"]]}]}\noutput",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

// A plan and a run read the same settings: what a plan tells is what a run does.
func TestAPlanReadsTheSettingsThatARunReads(t *testing.T) {
	for name, test := range map[string]struct {
		env   map[string]string
		file  string
		query string
		args  []string
		want  int
	}{
		"flag":               {map[string]string{"BRAID_IN_FLIGHT": "8"}, "in_flight: 6", "7", []string{"--in-flight", "9"}, 9},
		"environment":        {map[string]string{"BRAID_IN_FLIGHT": "8"}, "in_flight: 6", "7", nil, 8},
		"query file":         {nil, "in_flight: 6", "7", nil, 7},
		"settings file":      {nil, "in_flight: 6", "", nil, 6},
		"definition":         {nil, "", "", nil, 64},
		"unbounded":          {map[string]string{"BRAID_IN_FLIGHT": "Unbounded"}, "in_flight: 6", "7", nil, 1}, // as many as the plan has chunks
		"unbounded query":    {nil, "in_flight: 6", "UNBOUNDED", nil, 1},
		"unbounded settings": {nil, "in_flight: unbounded", "", nil, 1},
		"workers at a time":  {map[string]string{"BRAID_CONCURRENCY": "5"}, "workers: 3", "", nil, 15},
		"workers from a far": {map[string]string{"BRAID_CONCURRENCY": "5"}, "listen: 127.0.0.1:0", "", nil, 64},
	} {
		t.Run(name, func(t *testing.T) {
			d := wideFolder(t)
			maps.Copy(d.env, test.env)
			d.write("settings.yaml", test.file+"\n")
			text := "schema: query/v1\nservice: wide\ncollection: levels\nwhere: {gauge: a}\noutput: t.csv\n"
			if test.query != "" {
				text += "run: {in_flight: " + test.query + "}\n"
			}
			d.write("q.yaml", text)
			args := append([]string{"plan", "q.yaml", "--json", "--config", "settings.yaml"}, test.args...)
			var plan messages.PlanSummary
			if err := json.Unmarshal([]byte(d.run(args...).mustExit(t, 0).stdout), &plan); err != nil || plan.InFlight != test.want {
				t.Errorf("%d at a time, %v, want %d", plan.InFlight, err, test.want)
			}
		})
	}
	d := wideFolder(t)
	d.env["BRAID_IN_FLIGHT"] = "0"
	d.run("plan", "--service", "wide", "--collection", "levels", "--set", "gauge=a").mustExit(t, exitUsage)
}

func TestARequestThatCannotBeMadeSmallEnoughIsToldWithItsValue(t *testing.T) {
	d := newFolder(t)
	long := strings.Repeat("x", 350)
	d.write("notes.txt", "a\n"+long+"\n")
	d.write("gauges.txt", "AB12\n")
	d.write("q.yaml", strings.Replace(levels, "output: levels.csv", "  note: {file: notes.txt}\noutput: nowhere/t.csv", 1))
	got := d.run("plan", "q.yaml").mustExit(t, exitUsage).stderr
	for _, want := range []string{"q.yaml:8: output: ", "nowhere", "a request cannot be made small enough", "400", "2 problems; nothing was sent"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestFlagsAreAQueryAndCanBeSavedAsOne(t *testing.T) {
	d := newFolder(t)
	d.write("gauges.csv", "id\n12\n34\n")
	if err := os.Mkdir("sub", 0o700); err != nil {
		t.Fatal(err)
	}
	flags := []string{
		"--service", "rivers", "--collection", "levels", "--sites", "gauges.csv:id", "--prefix", "AB", "--set", "quantity=flow",
		"--set", "time=2020-01-01/2023-12-31", "--set", "note=@@x", "--set", "note=b c", "--select", "gauge,time", "--max-chunks", "2",
	}
	given := d.run(append([]string{"plan", "--json", "--save-query", "sub/levels.yaml", "-o", "levels.csv"}, flags...)...).mustExit(t, 0)
	saved, err := os.ReadFile("sub/levels.yaml")
	want := `schema: query/v1
service: rivers
collection: levels
where:
  gauge: {file: '../gauges.csv', column: id, prefix: AB}
  quantity: flow
  time: {from: 2020-01-01, to: 2023-12-31}
  note:
    - '@x'
    - 'b c'
select: [gauge, time]
output:
  - {to: '../levels.csv', format: csv, if_exists: replace}
max_chunks: 2
`
	if diff := cmp.Diff(want, string(saved)); err != nil || diff != "" {
		t.Error(err, diff)
	}
	read := d.run("plan", "--json", "sub/levels.yaml").mustExit(t, 0)
	if diff := cmp.Diff(given.stdout, read.stdout); diff != "" {
		t.Errorf("the saved query is planned otherwise: %s", diff)
	}
	again := d.run(append([]string{"plan", "--save-query", "sub/levels.yaml"}, flags...)...).mustExit(t, exitUsage)
	if !strings.Contains(again.stderr, "sub/levels.yaml exists and is not replaced") {
		t.Error(again.stderr)
	}
	if now, err := os.ReadFile("sub/levels.yaml"); err != nil || !bytes.Equal(now, saved) {
		t.Errorf("it was replaced all the same: %v\n%s", err, now)
	}
	shown := d.run(append([]string{"plan"}, flags...)...).mustExit(t, 0)
	if want := "run it     braid run --service rivers --collection levels --sites gauges.csv:id --prefix AB --set quantity=flow --set time=2020-01-01/2023-12-31 --set note=@@x --set 'note=b c' --select gauge,time --max-chunks 2\n"; !strings.HasSuffix(shown.stdout, want) {
		t.Errorf("got %s\nwant at its end %s", shown.stdout, want)
	}
}

func TestWrongFlagsOfAQueryAreToldByTheirNames(t *testing.T) {
	d := newFolder(t)
	d.write("g.txt", "AB12\nab\n")
	d.write("s.csv", "site_no\n05427718\n")
	base := []string{"plan", "--service", "rivers", "--collection", "levels"}
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"no service":     {[]string{"plan", "--collection", "levels"}, []string{"give a query file, or --service and --collection"}},
		"file and flags": {[]string{"plan", "q.yaml", "--set", "a=b"}, []string{"--set belongs to a query without a file"}},
		"service":        {[]string{"plan", "--service", "river", "--collection", "levels"}, []string{`--service: there is no service "river"; did you mean "rivers"?`}},
		"collection":     {[]string{"plan", "--service", "rivers", "--collection", "level"}, []string{`--collection: the service rivers has no "level"; did you mean "levels"?`}},
		"all together": {append(base, "--set", "gauge=@g.txt", "--set", "quantity", "--set", "tme=2020-01-01/..", "--set", "note=", "--select", "levl", "--max-chunks", "0", "-o", "x.xls"), []string{
			"--set quantity: has no name and value", "--set note: has no value", "--max-chunks: 0 is out of bounds", "g.txt:2: ", `--set tme: the collection levels has no such parameter; did you mean "time"?`,
			"command line: time: the collection levels needs a value", "--select: the table has no column", "-o x.xls: ", "8 problems; nothing was sent",
		}},
		"columns twice":  {append(base, "--set", "gauge=AB12", "--set", "time=2020-01-01/..", "--select", "gauge,gauge"), []string{`--select: the column "gauge" stands twice`}},
		"too many":       {append(base, "--set", "gauge=AB12", "--set", "time=2020-01-01/..", "--max-chunks", "20000000", "--max-rows", "5000000000000"), []string{"--max-chunks: 20000000 is out of bounds, want 1 to 10000000", "--max-rows: 5000000000000 is out of bounds"}},
		"in flight":      {append([]string{"run"}, append(base[1:], "--set", "gauge=AB12", "--set", "time=2020-01-01/..", "--in-flight", "0")...), []string{`--in-flight: "0" is not usable; want NUMBER or unbounded`}},
		"file's advice":  {[]string{"plan", "--service", "usgs-waterdata", "--collection", "continuous", "--sites", "s.csv:site_no", "--set", "time=2024-01-01/2024-01-02"}, []string{"s.csv:2: monitoring_location_id: the value \"05427718\"", "for a file with bare ids give --prefix USGS- with --sites", "or give --zone America/Chicago"}},
		"prefix alone":   {append(base, "--set", "gauge=AB12", "--set", "time=2020-01-01/..", "--prefix", "AB"), []string{"--prefix: belongs to --sites"}},
		"file and value": {append(base, "--set", "gauge=@g.txt", "--set", "gauge=AB12", "--set", "time=../2020-01-01"), []string{"--set gauge: is given twice"}},
		"zone":           {append(base, "--set", "gauge=AB12", "--set", "time=2020-01-01T08:00/2020-01-02T08:00", "--zone", "Nowhere"), []string{`--zone: there is no time zone "Nowhere"`}},
		"no file":        {append(base, "--sites", "nowhere.csv:id", "--set", "time=2020-01-01/.."), []string{"--sites: read the values in nowhere.csv: open nowhere.csv: no such file"}},
		"no sites":       {[]string{"plan", "--service", "rivers", "--collection", "gauges", "--sites", "g.txt"}, []string{"--sites: no parameter of gauges is one for sites; write --set NAME=@FILE, NAME being one of gauge"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := d.run(test.args...).mustExit(t, exitUsage).stderr
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in\n%s", want, got)
				}
			}
		})
	}
}

func TestServicesAreListedShownAndChecked(t *testing.T) {
	kept := testdata(t)
	d := newFolder(t)
	golden(t, kept, "show-levels.txt", strings.ReplaceAll(d.run("services", "show", "rivers", "--collection", "levels").mustExit(t, 0).stdout, kept, "testdata"))
	text := d.run("services", "show", "rivers").mustExit(t, 0)
	file, err := os.ReadFile(filepath.Join(kept, "services", "rivers.yaml"))
	if err != nil || text.stdout != string(file) || !strings.Contains(text.stderr, "rivers.yaml") {
		t.Errorf("%v: the definition is shown as\n%s%s", err, text.stderr, text.stdout)
	}
	list := d.run("services", "list").mustExit(t, 0).stdout
	for _, want := range []string{"rivers  Rivers of an example\n", "levels, gauges\n", "usgs-waterdata  ", "built in"} {
		if !strings.Contains(list, want) {
			t.Errorf("%q is not in\n%s", want, list)
		}
	}
	ok := d.run("services", "check", filepath.Join(kept, "services", "rivers.yaml")).mustExit(t, 0)
	if !strings.HasPrefix(ok.stdout, "ok  ") || !strings.Contains(ok.stdout, "rivers, 2 collections") {
		t.Error(ok.stdout)
	}
}

func TestADefinitionsMistakesAreToldAllWithTheirLines(t *testing.T) {
	kept := testdata(t)
	d := newFolder(t)
	file, err := os.ReadFile(filepath.Join(kept, "services", "rivers.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	d.write("wrong.yaml", strings.NewReplacer("limit: 100", "limt: 100", "pack: gauge", "pack: guage", "url_bytes: 400", "url_bytes: 4").Replace(string(file)))
	got := d.run("services", "check", "wrong.yaml", "nowhere.yaml").mustExit(t, exitUsage).stderr
	for _, want := range []string{
		"nowhere.yaml: open nowhere.yaml: no such file",
		`wrong.yaml:9: quotas.rivers.limt: unknown key; did you mean "limit"?`, "wrong.yaml:10: limits.url_bytes: 4 is out of bounds, want 64 to",
		`the parameter "guage" is not declared; did you mean "gauge"?`, "problems\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestNamesOfServicesAndCollectionsAreCompleted(t *testing.T) {
	d := newFolder(t)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"services", "show", "r"}, "rivers\n"},
		{[]string{"run", "--service", ""}, "rivers\nusgs-ngwmn\nusgs-nwdc\nusgs-waterdata\n"},
		{[]string{"plan", "--service", "rivers", "--collection", ""}, "levels\ngauges\n"},
		{[]string{"services", "test", "rivers", "--collection", ""}, "levels\ngauges\n"},
		{[]string{"services", "show", "nowhere", "--collection", ""}, ":4"},
	} {
		got := d.run(append([]string{"__completeNoDesc"}, test.args...)...).mustExit(t, 0).stdout
		if !strings.Contains(got, test.want) {
			t.Errorf("%v gives %q, want %q", test.args, got, test.want)
		}
	}
}

func TestAQueryMayAskForAsManyChunksAsAPlanMayHave(t *testing.T) {
	if query.MaxChunks != planner.MaxChunks {
		t.Errorf("%d and %d", query.MaxChunks, planner.MaxChunks)
	}
}
