package docs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidhq/braid/test/rig"
)

// pageTime bounds what one page may take, waiting for quotas included.
const pageTime = 240 * time.Second

func TestEveryCommandOfThePagesDoesWhatTheySay(t *testing.T) {
	for _, program := range []string{"bash", "curl", "openssl", "node", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("readers of the pages have %s: install it (%v)", program, err)
		}
	}
	alone := isolates()
	if alone != nil {
		t.Logf("pages are run one after another in this machine's own network, whose ports 4222, 8080 and 8089 have to be free: %v", alone)
	}
	all := pages(t)
	machine := findMachine(t, all)
	used := filepath.Join(t.TempDir(), "used")
	var began atomic.Int32
	var expected int32
	t.Run("page", func(t *testing.T) {
		for _, p := range all {
			if strings.HasPrefix(p.name, "examples/") {
				continue // they have tests of their own
			}
			steps, err := p.steps(machine)
			if err != nil {
				t.Error(err)
			}
			if !slices.ContainsFunc(steps, func(s step) bool { return s.shell != "" }) {
				continue
			}
			expected++
			t.Run(p.name, func(t *testing.T) {
				began.Add(1)
				if alone == nil {
					t.Parallel()
				}
				newDesk(t, used, machine).run(t, steps, alone == nil)
			})
		}
	})
	if !t.Failed() && began.Load() == expected {
		checkStandIns(t, used)
	}
}

func checkStandIns(t *testing.T, used string) {
	text, err := os.ReadFile(used)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(text))
	for i, s := range standIns() {
		if !slices.Contains(lines, strconv.Itoa(i)) {
			t.Errorf("no page says %q any more; remove its line in standIns", s.command)
		}
	}
}

// desk is where a page's reader sits: a home of their own, and what of the repository the pages speak of.
type desk struct {
	home, work, steps string
	env               []string
}

func newDesk(t *testing.T, used string, machine machine) desk {
	t.Helper()
	dir, err := os.MkdirTemp("", "docs-") //nolint:usetesting // a short path, as those of sockets are bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	d := desk{home: filepath.Join(dir, "home"), work: filepath.Join(dir, "braid"), steps: filepath.Join(dir, "steps")}
	programs := filepath.Join(dir, "programs")
	for _, folder := range []string{d.home, d.steps, programs, filepath.Join(d.work, ".blocks")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range []string{"docs", "examples", "deploy"} {
		if err := os.CopyFS(filepath.Join(d.work, part), os.DirFS(filepath.Join(root, part))); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(programs, "duckdb.mjs"), duckdb, 0o644)
	write(t, filepath.Join(programs, "duckdb"), "#!/bin/sh\nexec node "+programs+"/duckdb.mjs \"$@\"\n", 0o755)
	for _, s := range standIns() {
		word, _, _ := strings.Cut(s.command, " ")
		write(t, filepath.Join(programs, word), script(word, standIns(), used), 0o755)
	}
	if machine.pythonPath != "" {
		if err := os.Symlink(machine.pythonPath, filepath.Join(programs, "python3")); err != nil {
			t.Fatal(err)
		}
	}
	d.env = []string{
		"HOME=" + d.home, "BIN=" + rig.BinDir(), "READERS=" + readersFolder(t), "LANG=C.UTF-8", "TMPDIR=" + dir, "USER=reader",
		"USED=" + used, "PATH=" + programs + ":" + rig.BinDir() + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
	}
	return d
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// run carries a page's steps out in one shell, and judges each of them.
func (d desk) run(t *testing.T, steps []step, isolated bool) {
	ctx, cancel := context.WithTimeout(t.Context(), pageTime)
	defer cancel()
	write(t, filepath.Join(d.steps, "driver"), d.driver(t, steps, isolated), 0o644)
	cmd := exec.CommandContext(ctx, "bash", filepath.Join(d.steps, "driver"))
	cmd.Dir, cmd.Env = d.work, d.env
	if isolated {
		isolate(cmd)
	}
	began := time.Now()
	said, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Errorf("the page took longer than %s", pageTime)
	} else if err != nil && cmd.ProcessState == nil {
		t.Fatalf("start a shell: %v", err)
	}
	for i, s := range steps {
		if !d.judge(t, i, s) {
			t.Logf("the shell: %v\n%s", err, said)
			return // the others have not been begun
		}
	}
	t.Logf("%d blocks in %s", len(steps), time.Since(began).Round(time.Second/10))
}

// judge tells whether a step did what the page says.
func (d desk) judge(t *testing.T, i int, s step) bool {
	printed, _ := os.ReadFile(d.of(i, "out"))
	code, err := os.ReadFile(d.of(i, "code"))
	got := strings.TrimSpace(string(code))
	switch {
	case err != nil:
		t.Errorf("%s: did not end, or was not begun\n%s%s", s.block.at(), s.block.body, rig.Tail(string(printed)))
	case got == notReady:
		t.Errorf("%s: is not there, or ended: %s\n%s%s", s.block.at(), s.ready, s.block.body, rig.Tail(string(printed)))
	case got != s.code:
		t.Errorf("%s: exit code %s, want %s\n%s%s", s.block.at(), got, s.code, s.block.body, rig.Tail(string(printed)))
	default:
		if difference := differsFrom(s.output, s.outputLang, string(printed)); difference != "" {
			t.Errorf("%s: %s", s.block.at(), difference)
		}
		return true
	}
	return false
}

func (d desk) of(step int, ending string) string {
	return filepath.Join(d.steps, fmt.Sprintf("%d.%s", step, ending))
}

// notReady is the code of a step that was to stay running, and does not, or never answered.
const notReady = "98"

// driver is the shell's program. Steps are sourced, so that variables and folders of one are those of the next; the first that ends with
// another code than it should ends the page. What stays running has a process group of its own, which is told to end when the page does.
func (d desk) driver(t *testing.T, steps []step, isolated bool) string {
	var b strings.Builder
	if isolated {
		b.WriteString("ip link set lo up || exit 97\n")
	}
	b.WriteString(prelude)
	for i, s := range steps {
		if s.file != "" {
			text := d.of(i, "file")
			write(t, text, s.block.body, 0o644)
			fmt.Fprintf(&b, "mkdir -p \"$(dirname '%s')\" && cp '%s' '%s' || exit 97\n", s.file, text, s.file)
		}
		write(t, d.of(i, "sh"), s.shell, 0o644)
		source := fmt.Sprintf("source '%s' >'%s' 2>&1 </dev/null", d.of(i, "sh"), d.of(i, "out"))
		fmt.Fprintf(&b, "__code='%s'\n", d.of(i, "code"))
		if _, ends := s.block.mark("ends what runs"); ends {
			b.WriteString("__stop\n")
		}
		switch {
		case s.ready != "":
			said, _ := strings.CutPrefix(s.ready, "says ")
			fmt.Fprintf(&b, "set -m; ( %s ) & __pid=$!; set +m; __running=\"$__pid $__running\"\n", source)
			if said != s.ready {
				fmt.Fprintf(&b, "__until grep -qF -- '%s' '%s'\n", strings.Trim(said, `"`), d.of(i, "out"))
			} else {
				host, port, _ := strings.Cut(s.ready, ":")
				fmt.Fprintf(&b, "__until __answers %s %s\n", host, port)
			}
		case s.code == "0":
			fmt.Fprintf(&b, "set -eo pipefail; %s; set +eo pipefail\n", source)
		default:
			fmt.Fprintf(&b, "%s; __ended=$?; [ $__ended = %s ] || exit $__ended\n", source, s.code)
			fmt.Fprintf(&b, "echo %s >\"$__code\"; __code=/dev/null\n", s.code)
		}
		b.WriteString("[ -e \"$__code\" ] || echo 0 >\"$__code\"\n")
	}
	b.WriteString("__code=/dev/null\n")
	return b.String()
}

const prelude = `
__running=
__end() {
	__ended=$?
	[ -e "$__code" ] || echo $__ended >"$__code"
	__stop
}
__stop() {
	for __pid in $__running; do kill -TERM -- -$__pid 2>/dev/null; done
	for __pid in $__running; do
		wait $__pid 2>/dev/null
		for ((__i = 0; __i < 300; __i++)); do kill -0 -- -$__pid 2>/dev/null || break; sleep 0.1; done
	done
	__running=
}
trap __end EXIT
__answers() { (exec 3<>/dev/tcp/$1/$2) 2>/dev/null; }
__until() {
	for ((__i = 0; __i < 1200; __i++)); do
		kill -0 $__pid 2>/dev/null || break
		"$@" && return 0
		sleep 0.1
	done
	echo 98 >"$__code"
	exit 98
}
`
