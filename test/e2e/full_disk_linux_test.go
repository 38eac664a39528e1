package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
)

// mountSmall gives a folder on a file system of its own with so many megabytes, so that it can really be full.
func mountSmall(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Fatalf("mount a small file system, which this test fills: %v; run it as root, such as in a container with CAP_SYS_ADMIN", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill leaves no byte free, and gives the file that has taken them all.
func fill(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "filler")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for size := 1 << 20; size > 0; {
		if _, err := file.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestADiskThatIsFullPausesTheQueryAndAResumeWithSpaceFinishesTheSameTable(t *testing.T) {
	t.Parallel()
	const sites, chunks = 200, 100
	up := newUpstream(t, simulator.Config{Latency: 40 * time.Millisecond})
	want := calmTable(t, up, sites, chunks)
	disk := mountSmall(t, "size=64m")
	d := newDesk(t, up)
	d.data = filepath.Join(disk, "data")
	d.args[1] = d.data
	d.queryFile("q.yaml", sites, chunks)
	p := d.braid("run", "q.yaml", "-o", "t.parquet", "--in-flight", "2")
	up.saw(t, 10)
	filler := fill(t, disk)
	o := p.wait(limit).mustExit(t, 75).mustSay(t, "free some space", "braid resume")
	t.Logf("it said:\n%s", o.stderr)
	// With a disk that is still full it does not even begin, and says why.
	d.run("resume").mustExit(t, 75).mustSay(t, "free", d.data)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	complete, before := d.complete(idIn(o)), len(up.Requests())
	if len(complete) == 0 {
		t.Error("nothing was kept, although requests had been answered before the disk was full")
	}
	d.run("resume").mustExit(t, 0)
	mustNotAskFor(t, up.Requests()[before:], complete)
	d.mustEqual("t.parquet", want)
}

func TestATableForAFullDiskIsNotHalfWritten(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	disk := mountSmall(t, "size=1m")
	d := newDesk(t, up)
	table := filepath.Join(disk, "t.csv")
	o := d.run("run", d.queryFile("q.yaml", 60, 30), "-o", table).mustExit(t, 3)
	o.mustSay(t, table, "no room", "complete and kept", "braid results "+idIn(o))
	if files, err := os.ReadDir(disk); err != nil || len(files) != 0 {
		t.Errorf("the full disk holds %v (%v), want nothing", files, err)
	}
	d.run("results", idIn(o), "-o", "t.csv").mustExit(t, 0)
}

func TestAReadOnlyDataDirectoryIsNamed(t *testing.T) {
	t.Parallel()
	disk := mountSmall(t, "size=1m,ro")
	d := newDesk(t, nil)
	d.data = filepath.Join(disk, "data")
	d.args[1] = d.data
	d.run("list").mustExit(t, 1).mustSay(t, d.data, "--data-dir")
	d.run("run", d.queryFile("q.yaml", 2, 2), "-o", filepath.Join(disk, "t.csv")).mustExit(t, 2).mustSay(t, "read-only", "write elsewhere")
}
