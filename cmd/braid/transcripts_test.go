package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/internal/simulator/superset"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"braid": main})
}

// TestTranscripts runs what test/transcripts holds: what a person types, and what Braid answers. See its README for the commands.
func TestTranscripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "../../test/transcripts",
		Setup: func(env *testscript.Env) error {
			for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "NO_COLOR", "TERM"} {
				env.Setenv(name, "")
			}
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("TZ", "UTC")
			env.Values[upKey{}] = new(upProcess)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": codeCommand, "json": jsonCommand, "events": eventsCommand, "capture": captureCommand,
			"simulator": simulatorScript, "superset": supersetScript, "up": upScript, "down": downScript, "interrupt": interruptScript, "lines": linesCommand, "mode": modeCommand,
		},
	})
}

const scriptWait = 2 * time.Minute

// codeCommand runs a command that must end with an exit code: code 2 braid plan broken.yaml.
func codeCommand(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	mustEnd(ts, want, ts.Exec(args[1], args[2:]...))
}

func mustEnd(ts *testscript.TestScript, want int, err error) {
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// jsonCommand looks into JSON: json stdout query.state complete. A dash for a value asks only that there is one.
func jsonCommand(ts *testscript.TestScript, neg bool, args []string) {
	var value any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &value))
	if len(args) == 1 {
		return
	}
	checkValue(ts, neg, value, args[1], args[2])
}

func checkValue(ts *testscript.TestScript, neg bool, value any, path, want string) {
	got, there := at(value, path)
	if there == neg && (want == "-" || !there) {
		ts.Fatalf("%s: there: %t", path, there)
	}
	if want == "-" || !there {
		return
	}
	if text := fmt.Sprint(got); (text == want) == neg {
		ts.Fatalf("%s is %s", path, text)
	}
}

// at follows a path of keys and indexes.
func at(value any, path string) (any, bool) {
	for key := range strings.SplitSeq(path, ".") {
		switch in := value.(type) {
		case map[string]any:
			next, ok := in[key]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(in) {
				return nil, false
			}
			value = in[i]
		default:
			return nil, false
		}
	}
	if number, ok := value.(float64); ok && number == float64(int64(number)) {
		return int64(number), true
	}
	return value, true
}

// eventsCommand checks that each line is an event, and what the last one says: events stderr message_type summary.
func eventsCommand(ts *testscript.TestScript, neg bool, args []string) {
	var last any
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var event struct {
			MessageType string `json:"message_type"`
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil || !regexp.MustCompile(`^(progress|load_progress|note|summary|exit_error)$`).MatchString(event.MessageType) {
			ts.Fatalf("no event: %s", line)
		}
		ts.Check(json.Unmarshal([]byte(line), &last))
	}
	checkValue(ts, neg, last, args[1], args[2])
}

// captureCommand keeps what the group of an expression matches: capture ID stdout '^(\w+)$'.
func captureCommand(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile("(?m)" + args[2]).FindStringSubmatch(ts.ReadFile(args[1]))
	if len(found) < 2 {
		ts.Fatalf("%s does not match %s", args[1], args[2])
	}
	ts.Setenv(args[0], found[1])
}

// linesCommand checks that no line is longer than so many characters, without the path of the script's folder: lines stdout 80.
func linesCommand(ts *testscript.TestScript, _ bool, args []string) {
	most, err := strconv.Atoi(args[1])
	ts.Check(err)
	for line := range strings.Lines(strings.ReplaceAll(ts.ReadFile(args[0]), ts.MkAbs("."), "")) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > most {
			ts.Fatalf("%d characters: %s", n, line)
		}
	}
}

// modeCommand checks a file's mode: mode .config/braid/contexts/lab.yaml 0600.
func modeCommand(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[1] {
		ts.Fatalf("%s has mode %s", args[0], got)
	}
}

// simulatorScript starts fakes of the services, which queries of the script ask from then on: simulator quota=4 window=1h latency=50ms.
func simulatorScript(ts *testscript.TestScript, _ bool, args []string) {
	cfg := simulator.Config{}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		var err error
		switch name {
		case "quota":
			cfg.Quota.Limit, err = strconv.Atoi(value)
		case "window":
			cfg.Quota.Window, err = time.ParseDuration(value)
		case "refuse": // once, the requests whose URL has this text: the chunk fails, and a retry of it ends well
			cfg.Faults = append(cfg.Faults, simulator.Fault{Kind: simulator.FaultKeyEcho, Contains: value, Times: 1})
		case "latency":
			cfg.Latency, err = time.ParseDuration(value)
		default:
			ts.Fatalf("simulator: %s", name)
		}
		ts.Check(err)
	}
	cfg.Quota.RetryAfter = true
	if cfg.Quota.Window == 0 {
		cfg.Quota.Window = time.Hour
	}
	ctx, stop := context.WithCancel(context.Background())
	base, wait, err := simulator.New(cfg).Serve(ctx, "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() {
		stop()
		_ = wait()
	})
	ts.Setenv("SIMULATOR", base)
	ts.Setenv("BRAID_SERVICE_URL", "usgs-waterdata="+base+simulator.WaterDataBase)
}

// supersetScript starts a fake Superset, and defines the environments boards and, in PROD, live on it, as a person would:
// superset latency=50ms.
func supersetScript(ts *testscript.TestScript, _ bool, args []string) {
	cfg := superset.Config{Seed: 7}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		if name != "latency" {
			ts.Fatalf("superset: %s", name)
		}
		latency, err := time.ParseDuration(value)
		ts.Check(err)
		cfg.Latency.Base.Low = latency
	}
	fake := superset.New(cfg)
	ctx, stop := context.WithCancel(context.Background())
	base, wait, err := fake.Serve(ctx, "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() {
		stop()
		_ = wait()
		fake.Close()
	})
	ts.Setenv("SUPERSET", base)
	for name, stage := range map[string]string{"boards": "PREPROD", "live": "PROD"} {
		text := strings.NewReplacer("NAME", name, "STAGE", stage, "URL", base, "HOST", strings.TrimPrefix(base, "http://")).Replace(boardsText)
		ts.Check(os.MkdirAll(ts.MkAbs(".config/braid/services"), 0o750))
		ts.Check(os.WriteFile(ts.MkAbs(".config/braid/services/"+name+".yaml"), []byte(text), 0o600))
	}
	ts.Setenv("BOARDS_ADMIN", "admin:admin-secret")
	ts.Setenv("BOARDS_GAMMA", "gamma:gamma-secret")
}

const boardsText = `schema: service/v1
name: NAME
adapter: superset
base_url: URL
hosts: [{host: "HOST", insecure: true, credentials: [admin, gamma]}]
credentials:
  admin: {send: {basic: true}, from: [env:BOARDS_ADMIN]}
  gamma: {send: {basic: true}, from: [env:BOARDS_GAMMA]}
environment:
  stage: STAGE
  roles: {Admin: {credential: admin}, Gamma: {credential: gamma}}
collections:
  chart_data:
    params: {chart: {type: int64, many: comma, required: true}}
    axes: [{each: chart}]
    fields: {chart_id: {type: int64}}
`

// running is a command in the background.
type running struct {
	cmd            *exec.Cmd
	stdout, stderr *watched
}

// watched is what a command writes, for others to wait for.
type watched struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{} // has one when something was written
}

// Write is io.Writer's.
func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
	return w.text.Write(p)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// until waits for a text.
func (w *watched) until(ts *testscript.TestScript, what *regexp.Regexp, ended <-chan error) []string {
	limit := time.NewTimer(scriptWait)
	defer limit.Stop()
	for {
		if found := what.FindStringSubmatch(w.String()); found != nil {
			return found
		}
		select {
		case <-w.more:
		case err := <-ended:
			ts.Fatalf("it ended before %s: %v: %s", what, err, w)
		case <-limit.C:
			ts.Fatalf("nothing like %s: %s", what, w)
		}
	}
}

func start(ts *testscript.TestScript, args []string) (*running, chan error) {
	r := &running{exec.Command(args[0], args[1:]...), &watched{more: make(chan struct{}, 1)}, &watched{more: make(chan struct{}, 1)}} //nolint:gosec // what the script says; it is ended by a signal
	r.cmd.Dir = ts.MkAbs(".")
	r.cmd.Env = environment(ts)
	r.cmd.Stdout, r.cmd.Stderr = r.stdout, r.stderr
	ts.Check(r.cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- r.cmd.Wait() }()
	return r, ended
}

func environment(ts *testscript.TestScript) []string {
	env := []string{}
	for _, name := range []string{
		"PATH", "HOME", "TZ", "BRAID_SERVICE_URL", "BRAID_SERVER", "BRAID_CONTEXT", "TMPDIR", "GOCOVERDIR", "TESTSCRIPT_COMMAND_DIR", "TESTSCRIPT_COVER_DIR", "HOSTNAME", "BOARDS_ADMIN", "BOARDS_GAMMA",
	} {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// interruptScript runs a command, sends it the signals of Ctrl-C when its stderr has a text, and says how it must end:
// interrupt 130 'requests=[1-9]' braid run q.yaml. With two texts there are two signals, each after its text.
func interruptScript(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	texts, command := []string{}, args[1:]
	for command[0] != "braid" {
		texts, command = append(texts, command[0]), command[1:]
	}
	program, err := exec.LookPath("braid")
	if err != nil {
		program = lookIn(ts.Getenv("PATH"), "braid")
	}
	r, ended := start(ts, append([]string{program}, command[1:]...))
	defer func() { _ = r.cmd.Process.Kill() }()
	for _, text := range texts {
		r.stderr.until(ts, regexp.MustCompile("(?m)"+text), ended)
		ts.Check(r.cmd.Process.Signal(syscall.SIGINT))
	}
	select {
	case err = <-ended:
	case <-time.After(scriptWait):
		ts.Fatalf("it does not end: %s", r.stderr)
	}
	ts.Logf("[stdout]\n%s[stderr]\n%s", r.stdout, r.stderr)
	ts.Check(os.WriteFile(ts.MkAbs("stdout.txt"), []byte(r.stdout.String()), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("stderr.txt"), []byte(r.stderr.String()), 0o600))
	mustEnd(ts, want, err)
}

func lookIn(path, name string) string {
	for _, dir := range filepath.SplitList(path) {
		if file := filepath.Join(dir, name); isFile(file) {
			return file
		}
	}
	return name
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// upScript starts braid up on a free port and waits until it serves; $UP is its URL. Arguments go to braid up.
func upScript(ts *testscript.TestScript, _ bool, args []string) {
	r, ended := start(ts, append([]string{lookIn(ts.Getenv("PATH"), "braid"), "up", "--listen", "127.0.0.1:0"}, args...))
	ts.Defer(func() { _ = r.cmd.Process.Kill() })
	found := r.stdout.until(ts, regexp.MustCompile(`(?m)^(http://\S+)$`), ended)
	r.stderr.until(ts, regexp.MustCompile(`(?m)^stop `), ended)
	ts.Setenv("UP", found[1])
	response, err := http.Get(found[1] + "/readyz") //nolint:gosec // a server of ours on loopback
	ts.Check(err)
	_, _ = io.Copy(io.Discard, bufio.NewReader(response.Body))
	ts.Check(response.Body.Close())
	ts.Check(os.WriteFile(ts.MkAbs("up.txt"), []byte(r.stderr.String()), 0o600))
	ts.Value(upKey{}).(*upProcess).stop = func() string {
		ts.Check(r.cmd.Process.Signal(syscall.SIGINT))
		select {
		case err := <-ended:
			mustEnd(ts, 0, err)
		case <-time.After(scriptWait):
			ts.Fatalf("it does not end: %s", r.stderr)
		}
		return r.stderr.String()
	}
}

// upProcess is the braid up of a script.
type upProcess struct {
	stop func() string // stops it as Ctrl-C does, and gives what it has said
}

type upKey struct{}

// downScript stops braid up as Ctrl-C does; what it said is in up.txt.
func downScript(ts *testscript.TestScript, _ bool, _ []string) {
	up := ts.Value(upKey{}).(*upProcess)
	ts.Check(os.WriteFile(ts.MkAbs("up.txt"), []byte(up.stop()), 0o600))
}
