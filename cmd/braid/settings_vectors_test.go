package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// settingCase is a setting of the recorded client: how a value is read, or which of several counts.
type settingCase struct {
	ID, Kind string
	In       struct {
		Name, Source   string
		Value          json.RawMessage
		AdapterDefault int `json:"adapter_default"`
		Environment    *string
		BlockAdapter   json.RawMessage `json:"block_adapter"`
		BlockPackage   json.RawMessage `json:"block_package"`
		InnerPackage   json.RawMessage `json:"inner_block_package"`
	}
	Expect struct {
		Value json.RawMessage
		Error string
	}
}

// vectorCases reads the cases of a kind.
func vectorCases[C any](t *testing.T, kind string, least int) []C {
	t.Helper()
	data, err := os.ReadFile("testdata/adapters.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []json.RawMessage }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	var cases []C
	for _, raw := range file.Cases {
		var head struct{ Kind string }
		if err := json.Unmarshal(raw, &head); err != nil {
			t.Fatal(err)
		}
		if head.Kind != kind {
			continue
		}
		var c C
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if len(cases) < least {
		t.Fatalf("only %d cases of kind %s", len(cases), kind)
	}
	return cases
}

// inFlight is the number that a run would ask for: the query's own is what its file says, 0 for nothing.
func inFlight(t *testing.T, args []string, env map[string]string, file string, queryFile messages.InFlight) (messages.InFlight, error) {
	t.Helper()
	a, err := withSettings(t, "run", args, env, file)
	if err != nil {
		return 0, err
	}
	spec := &query.Spec{Run: query.Run{InFlight: queryFile}}
	a.askStanding(spec)
	if own := a.operatorsInFlight(); own != 0 && own != spec.Run.InFlight {
		t.Errorf("the process allows %s, and the query asks for %s", own, spec.Run.InFlight)
	}
	if spec.Run.InFlight == 0 {
		return a.defaultInFlight(), nil
	}
	return spec.Run.InFlight, nil
}

func TestTheNumberOfRequestsAtATimeIsThatOfTheStrongestSource(t *testing.T) {
	env, file := map[string]string{"BRAID_IN_FLIGHT": "8"}, "in_flight: 6\n"
	for _, c := range []struct {
		args  []string
		env   map[string]string
		file  string
		query messages.InFlight
		want  messages.InFlight
	}{
		{[]string{"--in-flight=9"}, env, file, 7, 9},
		{nil, env, file, 7, 8},
		{nil, nil, file, 7, 7},
		{nil, nil, file, 0, 6},
		{nil, nil, "", 7, 7},
		{nil, nil, "", 0, 0}, // the definition's
		{[]string{"--in-flight=unbounded"}, env, file, 7, messages.Unbounded},
		{[]string{"--in-flight=1"}, map[string]string{"BRAID_IN_FLIGHT": "unbounded"}, "in_flight: unbounded\n", messages.Unbounded, 1},
		{nil, map[string]string{"BRAID_IN_FLIGHT": " Unbounded\n"}, file, 7, messages.Unbounded},
		{nil, map[string]string{"BRAID_IN_FLIGHT": " \t"}, file, messages.Unbounded, messages.Unbounded},
		{nil, nil, "in_flight: UNBOUNDED\n", 7, 7},
		{nil, nil, "in_flight: UNBOUNDED\n", 0, messages.Unbounded},
	} {
		if got, err := inFlight(t, c.args, c.env, c.file, c.query); err != nil || got != c.want {
			t.Errorf("flags %v, environment %v, settings %q, query %s: %s, %v, want %s", c.args, c.env, c.file, c.query, got, err, c.want)
		}
	}
	for _, wrong := range []string{"0", "-1", "unlimited", "none", "1.5", "8.0", "1e3", "true", "10001", "0x10", "1__0", "un bounded"} {
		if got, err := inFlight(t, nil, map[string]string{"BRAID_IN_FLIGHT": wrong}, "", 0); err == nil {
			t.Errorf("BRAID_IN_FLIGHT=%s gives %s", wrong, got)
		}
		if got, err := inFlight(t, nil, nil, "in_flight: "+wrong+"\n", 0); err == nil {
			t.Errorf("in_flight: %s gives %s", wrong, got)
		}
	}
}

// What is set in the client's code, by blocks of which the innermost counts, has its counterpart in the flag: it is typed for the
// one run. A scope of one adapter is the definition's own number here.
func TestTheStrongestSourceIsThatOfTheRecordedClient(t *testing.T) {
	for _, c := range vectorCases[settingCase](t, "precedence", 18) {
		t.Run(c.ID, func(t *testing.T) {
			env, args := map[string]string{}, []string{}
			if c.In.Environment != nil {
				env["BRAID_IN_FLIGHT"] = *c.In.Environment
			}
			for _, typed := range []json.RawMessage{c.In.InnerPackage, c.In.BlockAdapter, c.In.BlockPackage} {
				if len(args) == 0 && len(typed) > 0 && string(typed) != "null" {
					args = append(args, "--in-flight="+strings.Trim(string(typed), `"`))
				}
			}
			got, err := inFlight(t, args, env, "", 0)
			if c.Expect.Error != "" {
				if err == nil {
					t.Errorf("%s at a time, want an error", got)
				}
				return
			}
			if got == 0 {
				got = messages.InFlight(c.In.AdapterDefault) // as the definition says
			}
			if err != nil || got.String() != strings.Trim(string(c.Expect.Value), `"`) {
				t.Errorf("%s at a time, %v, recorded %s", got, err, c.Expect.Value)
			}
		})
	}
}

// URLs that only go to this machine without TLS.
var (
	inTheClear = regexp.MustCompile(`(?i)^http:`)
	loopback   = regexp.MustCompile(`(?i)^http://(127\.|localhost\b|\[::1\])`)
)

// wholeText is a whole number that is written as a text. Values of YAML are texts as they stand here, so that it is one; the client
// wants a number of its language.
var wholeText = regexp.MustCompile(`^"[1-9][0-9]*"$`)

const defaultInFlight = 32 // of the client

func TestSettingsAreReadAsTheRecordedClientReadsThem(t *testing.T) {
	for _, c := range vectorCases[settingCase](t, "setting", 30) {
		t.Run(c.ID, func(t *testing.T) {
			if c.In.Name != "concurrency" && strings.TrimSpace(c.text(t)) == "" {
				t.Log("not given: each has a default of its own")
				return
			}
			got, err := "", error(nil)
			switch name := c.In.Name + "/" + c.In.Source; name {
			case "concurrency/env":
				got, err = c.fromEnvironment(t)
			case "concurrency/typed":
				got, err = numberIn(t, "run: {in_flight: %s}", c.In.Value, func(q *query.Query) string { return q.Run.InFlight.String() })
			case "parallel_chunks/typed":
				got, err = numberIn(t, "max_chunks: %s", c.In.Value, func(q *query.Query) string { return strconv.Itoa(q.MaxChunks) })
			case "retries/env", "retries/typed":
				got, err = c.attempts()
			case "base_url/env", "base_url/typed":
				got, err = c.base(t)
			case "stall_timeout/env", "stall_timeout/typed":
				t.Log("durations have a unit here, and belong to the service: a definition's timeouts.stall")
				return
			default:
				t.Fatalf("no such setting: %s", name)
			}
			c.check(t, got, err)
		})
	}
}

func (c settingCase) check(t *testing.T, got string, err error) {
	t.Helper()
	want := strings.Trim(string(c.Expect.Value), `"`)
	switch {
	case strings.ContainsFunc(c.text(t), func(r rune) bool { return r > unicode.MaxASCII }):
		if err == nil { // digits of other scripts, which the client reads
			t.Errorf("%s is read as %s", c.In.Value, got)
		}
	case c.Expect.Error != "" && wholeText.Match(c.In.Value) && c.In.Source == "typed":
		if `"`+got+`"` != string(c.In.Value) || err != nil {
			t.Errorf("%s is read as %s, %v", c.In.Value, got, err)
		}
	case c.In.Name == "base_url" && (inTheClear.MatchString(c.text(t)) && !loopback.MatchString(c.text(t)) || strings.TrimSpace(c.text(t)) != c.text(t)),
		c.In.Name == "retries" && strings.Contains(c.text(t), "_"):
		if err == nil { // no underscores in YAML's numbers, nothing in the clear to another machine, no white space around a URL
			t.Errorf("%s is read as %s", c.In.Value, got)
		}
	case (c.Expect.Error != "") != (err != nil):
		t.Errorf("%s is read as %s, %v, recorded %q", c.In.Value, got, err, c.Expect.Error)
	case err == nil && got != want:
		t.Errorf("%s is read as %s, recorded %s", c.In.Value, got, want)
	}
}

// text is the value as it stands in the environment.
func (c settingCase) text(t *testing.T) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(c.In.Value, &value); err != nil {
		t.Fatal(err)
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

func (c settingCase) fromEnvironment(t *testing.T) (string, error) {
	t.Helper()
	n, err := inFlight(t, nil, map[string]string{"BRAID_IN_FLIGHT": c.text(t)}, "", 0)
	if n == 0 {
		n = defaultInFlight
	}
	return n.String(), err
}

// numberIn reads a key of a query file.
func numberIn(t *testing.T, line string, value json.RawMessage, number func(*query.Query) string) (string, error) {
	t.Helper()
	text := "schema: query/v1\nservice: rivers\ncollection: gauges\nwhere: {gauge: a}\n" + fmt.Sprintf(line, value) + "\n"
	q, err := query.Parse("q.yaml", []byte(text))
	if err != nil {
		return "", err
	}
	return number(q), nil
}

// attempts reads the number of retries as the definition does, which counts the first try too.
func (c settingCase) attempts() (string, error) {
	text, retries := strings.Trim(string(c.In.Value), `"`), 0
	if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
		text, retries = strconv.Itoa(n+1), n
	}
	_, err := service.Parse("d.yaml", []byte(`schema: service/v1
name: rivers
base_url: https://rivers.example
retry: {attempts: `+text+`}
collections:
  gauges: {request: {path: /gauges}, rows: {format: json}, fields: {id: {type: text}}}
`))
	return strconv.Itoa(retries), err
}

// base gives another base URL for a service.
func (c settingCase) base(t *testing.T) (string, error) {
	t.Helper()
	value := c.text(t)
	d := newFolder(t)
	d.write("q.yaml", "schema: query/v1\nservice: rivers\ncollection: gauges\nwhere: {gauge: a}\n")
	if value != "" {
		d.env["BRAID_SERVICE_URL"] = "rivers=" + value
	}
	shown := d.run("plan", "q.yaml", "--json")
	if shown.code != 0 {
		return "", fmt.Errorf("exit code %d: %s", shown.code, shown.stderr)
	}
	if !strings.Contains(shown.stdout, value) {
		return "", nil
	}
	return value, nil
}

// lineCase is the client's progress line after some events.
type lineCase struct {
	ID, Kind string
	In       struct {
		Chunks int
		Events [][]json.RawMessage
	}
	Expect struct{ Line string }
}

// status is what there is to tell after the events. A retry is told in the log, and what is left of a quota is not counted.
func (c lineCase) status(t *testing.T) *messages.Status {
	t.Helper()
	s := &messages.Status{Query: &messages.Query{ID: "q", Collection: "daily", Chunks: c.In.Chunks, State: messages.Running}, Progress: &messages.Progress{}}
	for _, event := range c.In.Events {
		var n int
		if err := json.Unmarshal(event[1], &n); err != nil {
			t.Fatal(err)
		}
		switch string(event[0]) {
		case `"page"`:
			s.Progress.Requests++
			s.Progress.Rows += int64(n)
		case `"chunk"`:
			s.Progress.Completed = n
		}
	}
	return s
}

// The line is another one, in other words, and goes on counting over a resume. Both tell the chunks, the requests (a page is one)
// and the rows.
func TestProgressCountsWhatTheRecordedClientCounts(t *testing.T) {
	parts := regexp.MustCompile(`^Retrieving: [^·]+(?: · chunk (\d+)/(\d+))? · ([\d,]+) pages?(?: · ([\d,]+) rows?)?`)
	for _, c := range vectorCases[lineCase](t, "progress_line", 7) {
		told := parts.FindStringSubmatch(c.Expect.Line)
		if told == nil {
			t.Fatalf("%s: the line %q has another form", c.ID, c.Expect.Line)
		}
		rows := told[4]
		if rows == "" {
			rows = "0"
		}
		s := c.status(t)
		words := gap + fitted((&barProgress{started: time.Now()}).words(s, time.Now()), 200) + gap
		for _, want := range []string{gap + told[3] + "(/[0-9,]+)? requests?" + gap, gap + rows + " rows?" + gap} {
			if !regexp.MustCompile(want).MatchString(words) {
				t.Errorf("%s: %q does not tell %q", c.ID, words, want)
			}
		}
		line := plainLine(s, new(pace), time.Now())
		if told[1] != "" && (!strings.Contains(line, " chunks="+told[1]+"/"+told[2]+" ") || !strings.Contains(words, gap+told[1]+"/"+told[2]+" chunk")) {
			t.Errorf("%s: %q and %q do not tell chunk %s/%s", c.ID, words, line, told[1], told[2])
		}
		if want := " rows=" + strings.ReplaceAll(rows, ",", ""); !strings.HasSuffix(line, want) {
			t.Errorf("%s: %q does not tell %q", c.ID, line, want)
		}
	}
}
