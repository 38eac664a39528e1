// Command export measures how a large table is written: rows a second and the most memory that the process held, with the arrow
// library alone, writing the same rows from memory, as the reference.
//
// Each part runs in a process of its own, so that memory is that part's alone.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

//go:embed gauges.yaml
var definition embed.FS

type config struct {
	part    string
	dir     string
	rows    int
	chunks  int
	formats string
	profile string
	stdout  io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		log.Fatalln("error:", err)
	}
}

func run(ctx context.Context, stdout io.Writer) error {
	c := config{stdout: stdout}
	flag.StringVar(&c.part, "part", "", "one part only: fill, FORMAT or arrow")
	flag.StringVar(&c.dir, "dir", "", "folder to work in (default: a temporary one)")
	flag.IntVar(&c.rows, "rows", 10_000_000, "rows of the table")
	flag.IntVar(&c.chunks, "chunks", 2_000, "chunks that the rows come in")
	flag.StringVar(&c.formats, "formats", "parquet", "formats to write, with commas")
	flag.StringVar(&c.profile, "cpuprofile", "", "with -part FORMAT: file for a CPU profile")
	flag.Parse()
	switch c.part {
	case "":
		return c.all(ctx)
	case "fill":
		return c.fill(ctx)
	case "arrow":
		return c.arrow(ctx)
	}
	return c.export(ctx, c.part)
}

// all runs the parts one after the other and prints what they measured.
func (c config) all(ctx context.Context) error {
	if c.dir == "" {
		dir, err := os.MkdirTemp("", "braid-bench-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		c.dir = dir
	}
	if _, err := c.child(ctx, "fill"); err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "%d rows in %d chunks, deduplicated by key and sorted\n\n%-10s %12s %10s %12s\n", c.rows, c.chunks, "", "rows/s", "seconds", "most memory")
	rates := map[string]float64{}
	for _, part := range append(strings.Split(c.formats, ","), "arrow") {
		m, err := c.child(ctx, part)
		if err != nil {
			return err
		}
		rates[part] = float64(c.rows) / m.seconds
		fmt.Fprintf(c.stdout, "%-10s %12.0f %10.1f %9.0f MB\n", part, rates[part], m.seconds, float64(m.memory)/1e6)
	}
	fmt.Fprintf(c.stdout, "\nparquet: %.2f of the rate of the arrow library alone\n", rates["parquet"]/rates["arrow"])
	return nil
}

type measured struct {
	seconds float64
	memory  int64 // most bytes resident
}

// child runs a part in a process of its own, which prints its seconds.
func (c config) child(ctx context.Context, part string) (measured, error) {
	self, err := os.Executable()
	if err != nil {
		return measured{}, err
	}
	cmd := exec.CommandContext(ctx, self, "-part", part, "-dir", c.dir, "-rows", strconv.Itoa(c.rows), "-chunks", strconv.Itoa(c.chunks))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return measured{}, fmt.Errorf("part %s: %w", part, err)
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		return measured{}, fmt.Errorf("part %s: %w", part, err)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return measured{}, errors.New("this system does not tell the memory of a process")
	}
	return measured{seconds, usage.Maxrss << 10}, nil
}

func (c config) open(ctx context.Context, workers int) (*braid.Embedded, error) {
	services := filepath.Join(c.dir, "services")
	text, err := definition.ReadFile("gauges.yaml")
	if err == nil {
		err = os.MkdirAll(services, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(services, "gauges.yaml"), text, 0o600)
	}
	if err != nil {
		return nil, err
	}
	return braid.OpenEmbedded(ctx, braid.EmbeddedConfig{
		Dir: filepath.Join(c.dir, "data"), FastSync: true, Workers: workers, Definitions: braid.Definitions{Dir: services},
		NamedAdapters: map[string]braid.Adapter{"gauges": {Fetch: gauges{rows: c.rows / c.chunks}}},
		Getenv:        func(string) string { return "" }, Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
}

// fill makes the query and all of its results.
func (c config) fill(ctx context.Context) error {
	started := time.Now()
	e, err := c.open(ctx, 1)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running errgroup.Group
	running.Go(func() error { return e.Run(ctx) })
	sites := make([]string, c.chunks)
	for i := range sites {
		sites[i] = fmt.Sprintf("USGS-%08d", 1_000_000+i)
	}
	q, err := e.Submit(ctx, &query.Spec{V: query.SpecVersion, Name: "bench", Service: "gauges", Collection: "daily", Values: service.Values{"site": sites}})
	for err == nil {
		var status *messages.Status
		if status, err = e.Status(ctx, q.ID); err == nil && !status.Query.State.Active() {
			if status.Query.State != messages.Complete {
				err = fmt.Errorf("the query is %s", status.Query.State)
			}
			break
		}
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
	if err == nil {
		err = os.WriteFile(c.idFile(), []byte(q.ID), 0o600)
	}
	stop()
	fmt.Fprintln(c.stdout, time.Since(started).Seconds())
	return errors.Join(err, running.Wait(), e.Close())
}

func (c config) idFile() string { return filepath.Join(c.dir, "id") }

func (c config) file(format string) string { return filepath.Join(c.dir, "table."+format) }

// export writes the table through the whole product, as `braid results` does.
func (c config) export(ctx context.Context, format string) (err error) {
	id, err := os.ReadFile(c.idFile())
	if err != nil {
		return err
	}
	e, err := c.open(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	file, err := os.Create(c.file(format))
	if err != nil {
		return err
	}
	if c.profile != "" {
		profile, err := os.Create(c.profile)
		if err == nil {
			err = pprof.StartCPUProfile(profile)
		}
		if err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	started := time.Now()
	report, err := e.Table(ctx, string(id), format, false, struct{ io.Writer }{file})
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if report.Read != int64(c.rows/c.chunks*c.chunks) || report.Duplicates == 0 {
		return fmt.Errorf("report %+v", report)
	}
	fmt.Fprintln(c.stdout, time.Since(started).Seconds())
	return nil
}
