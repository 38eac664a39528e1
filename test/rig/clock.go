package rig

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clockVariable names, to a process of ClockDir, the file that says by how many seconds its wall clock is off.
const clockVariable = "BRAID_RIG_CLOCK"

// ClockDir is where BuildClocks puts the binaries.
func ClockDir() string { return filepath.Join(BinDir(), "clocks") }

// BuildClocks builds the coordinator, the worker and the NATS server once more, with a standard library whose wall clock a Clock
// sets: time.Now adds what the clock's file says. The monotonic clock runs on, as it does where NTP or an operator steps the time. This compiles the
// standard library anew, which the build cache then keeps.
func BuildClocks() (err error) {
	work, err := os.MkdirTemp("", "braid-rig-clock-")
	if err != nil {
		return fmt.Errorf("folder for the changed package time: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	overlay, err := overlayTime(work)
	if err != nil {
		return err
	}
	return build(ClockDir(), []string{"-overlay", overlay}, "./cmd/coordinator", "./cmd/worker", natsServer)
}

// The change of package time: the first line of now, and the one that is put behind it.
const (
	nowBegins = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	nowAdds   = "\tsec += wallShift()\n"
)

// wallShift reads the clock's file through memory that is shared with whoever writes it: a read costs nothing.
const wallShift = `package time

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

var wallShiftAt = openWallShift()

func openWallShift() *atomic.Int64 {
	path, set := syscall.Getenv("` + clockVariable + `")
	if !set {
		return new(atomic.Int64)
	}
	file, err := syscall.Open(path, syscall.O_RDONLY, 0)
	if err != nil {
		panic("open the clock's file: " + err.Error())
	}
	page, err := syscall.Mmap(file, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic("map the clock's file: " + err.Error())
	}
	_ = syscall.Close(file)
	return (*atomic.Int64)(unsafe.Pointer(&page[0]))
}

func wallShift() int64 { return wallShiftAt.Load() }
`

// overlayTime writes the changed files of package time of the toolchain in use, and the overlay for go build that names them.
func overlayTime(dir string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("ask where the standard library is: %w", err)
	}
	library := filepath.Join(strings.TrimSpace(string(out)), "src", "time")
	original := filepath.Join(library, "time.go")
	text, err := os.ReadFile(original)
	if err != nil {
		return "", fmt.Errorf("read package time: %w", err)
	}
	changed, err := shiftNow(string(text))
	if err != nil {
		return "", fmt.Errorf("%s: %w", original, err)
	}
	replace := map[string]string{}
	for name, text := range map[string]string{"time.go": changed, "wall_shift.go": wallShift} {
		path := filepath.Join(dir, name)
		replace[filepath.Join(library, name)] = path
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, overlay, 0o600)
}

// errNow tells that this suite has to be adapted to the toolchain.
var errNow = errors.New("time.Now does not begin, exactly once, as the change of the wall clock needs it")

// shiftNow makes Now add what wallShift gives to the wall clock's seconds.
func shiftNow(text string) (string, error) {
	if strings.Count(text, nowBegins) != 1 {
		return "", errNow
	}
	return strings.Replace(text, nowBegins, nowBegins+nowAdds, 1), nil
}

// Clock is the wall clock of processes, as far as it is off.
type Clock struct{ path string }

// NewClock makes a clock that is right.
func NewClock(t testing.TB) *Clock {
	t.Helper()
	c := &Clock{filepath.Join(t.TempDir(), "clock")}
	if err := c.Set(0); err != nil {
		t.Fatal(err)
	}
	return c
}

// Env is what the environment of a process of ClockDir needs for its wall clock to follow this one.
func (c *Clock) Env() string { return clockVariable + "=" + c.path }

// Set steps the wall clock, so that it is off by so much from now on: whole seconds.
func (c *Clock) Set(off time.Duration) (err error) {
	file, err := os.OpenFile(c.path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(int64(off/time.Second))), 0) //nolint:gosec // the bits are read as int64
	return err
}
