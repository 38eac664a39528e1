package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

const (
	demoSites   = 480
	demoChunks  = 120
	demoCap     = 8
	demoQuota   = 130
	demoWindow  = 16 * time.Second
	demoLatency = 100 * time.Millisecond
	demoPage    = 1000 // rows: two pages a chunk
)

func (a *app) demoCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "demo",
		Example: "  braid demo",
		Short:   "Show a quota pause, a resume and the same table, offline",
		Long: `Shows the whole in under a minute, without a network: a query that runs into its quota, pauses and resumes by itself, the same
query without a quota, and that both tables are the same, byte for byte.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.demo(cmd.Context(), dir)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "folder for the tables (default: a new temporary one)")
	settings.OnlyFlags(cmd.Flags(), "dir")
	return cmd
}

// demo runs one query against a simulated service with a quota, and again without, and compares. It fails when anything
// that Braid promises did not hold, by what the service saw.
func (a *app) demo(ctx context.Context, dir string) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "braid-demo-"); err != nil {
			return fmt.Errorf("folder for the demo: %w", err)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("folder for the demo: %w", err)
	}
	// The service outlives a stop of the demo, so that requests in flight are answered.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	upstream := simulator.New(simulator.Config{Latency: demoLatency, PageRows: demoPage})
	base, wait, err := upstream.Serve(serving, "127.0.0.1:0")
	if err != nil {
		stop()
		return err
	}
	defer func() {
		stop()
		err = errors.Join(err, wait())
		if ctx.Err() != nil && err != nil {
			a.line("stopped", "the demo was stopped; nothing of it goes on, and %s can be deleted", dir)
			err = &exitError{code: exitInterrupted, err: err, said: true}
		}
	}()
	a.say("A simulated USGS service: %d ms a request, %d requests per %s, then 429. Cap: %d in flight.",
		demoLatency.Milliseconds(), demoQuota, demoWindow, demoCap)
	limited, err := a.demoRun(ctx, upstream, base, dir, "limited", simulator.Quota{Limit: demoQuota, Window: demoWindow, RetryAfter: true})
	if err != nil {
		return err
	}
	a.say("The same query on the same service without a quota.")
	free, err := a.demoRun(ctx, upstream, base, dir, "free", simulator.Quota{})
	if err != nil {
		return err
	}
	return a.judge(limited, free)
}

// say tells how the demo goes: on stdout, or beside it where that is for JSON.
func (a *app) say(format string, args ...any) {
	out := a.stdout
	if a.json {
		out = a.stderr
	}
	fmt.Fprintf(out, format+"\n", args...)
}

// demoCheck is a promise, and whether the demo saw it held.
type demoCheck struct {
	Promise string `json:"promise"`
	Held    bool   `json:"held"`
}

// demoResult is what one run of the demo came to.
type demoResult struct {
	status   *messages.Status
	seen     simulator.Counters
	pauses   int
	took     time.Duration
	paused   time.Duration
	kept     int   // chunks that were complete at the last pause
	answered int64 // requests that the service had answered by then
	parquet  string
	csv      string
	sums     map[string]string
}

func demoSpec() *query.Spec {
	sites := make([]string, demoSites)
	for i := range sites {
		sites[i] = fmt.Sprintf("USGS-%08d", 1_000_000+i*37)
	}
	return &query.Spec{
		V: query.SpecVersion, Name: "demo", Service: "usgs-waterdata", Collection: "daily", MaxChunks: demoChunks,
		Values: service.Values{
			"monitoring_location_id": sites, "parameter_code": {"00060"}, "statistic_id": {"00003"},
			"time": {"2023-10-01", "2024-09-30"},
		},
		Run: query.Run{OnQuota: query.OnQuota{WaitUpTo: query.Duration(time.Hour)}, InFlight: demoCap},
	}
}

func (a *app) demoRun(ctx context.Context, upstream *simulator.Simulator, base, dir, name string, quota simulator.Quota) (*demoResult, error) {
	upstream.Reset()
	if err := upstream.Update(func(c *simulator.Config) { c.Quota = quota }); err != nil {
		return nil, err
	}
	data := filepath.Join(dir, name+"-data")
	if err := os.RemoveAll(data); err != nil {
		return nil, err
	}
	own := *a
	own.server, own.dataDir, own.serviceURL = "", data, map[string]string{"usgs-waterdata": base + "/ogcapi/v0"}
	own.progress = "quiet" // demoWatch tells what happens
	own.embedded = embeddedFlags{workers: 2, concurrency: demoCap}
	result := &demoResult{parquet: filepath.Join(dir, name+".parquet"), csv: filepath.Join(dir, name+".csv"), sums: map[string]string{}}
	err := own.within(ctx, own.embedded.workers, func(s *session) error { return own.demoQuery(ctx, upstream, s, result) })
	result.seen = upstream.Counters()
	return result, err
}

// demoQuery runs the query to its end and writes both tables.
func (a *app) demoQuery(ctx context.Context, upstream *simulator.Simulator, s *session, result *demoResult) error {
	started := time.Now()
	q, err := s.Submit(ctx, demoSpec())
	if err != nil {
		return err
	}
	a.say("  query %s: %d sites in %d chunks, two workers", q.ID, demoSites, q.Chunks)
	watched := &demoWatch{Coordinator: s.Coordinator, app: a, upstream: upstream, result: result}
	watching := *s
	watching.Coordinator = watched
	err = s.working(ctx, func(ctx context.Context) error {
		result.status, err = watching.follow(ctx, q.ID)
		return err
	})
	if err != nil {
		return err
	}
	result.took = time.Since(started)
	// There is nothing to go on with: the service of the demo ends with it.
	if q := result.status.Query; q.State != messages.Complete {
		err := fmt.Errorf("the demo's query is %s", q.State)
		if q.Stop != nil {
			err = fmt.Errorf("%w: %s", err, failureText(q.Stop))
		}
		return &exitError{code: exitIncomplete, err: err}
	}
	for _, path := range []string{result.parquet, result.csv} {
		t := target{path: path, replace: true}
		if err := t.check(); err != nil {
			return err
		}
		o, err := a.writeOne(ctx, s, q.ID, t, false)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		result.sums[filepath.Ext(path)] = hex.EncodeToString(sum[:])
		a.say("  complete: %s rows in %s (%s)", thousands(o.Report.Rows), path, fileSize(o.Bytes))
	}
	return nil
}

// demoWatch notices the pauses while follow follows.
type demoWatch struct {
	braid.Coordinator
	app      *app
	upstream *simulator.Simulator
	result   *demoResult
	since    time.Time
	told     int // quarters of the chunks that were told of
}

// Status is braid.Coordinator's.
func (w *demoWatch) Status(ctx context.Context, id string) (*messages.Status, error) {
	s, err := w.Coordinator.Status(ctx, id)
	if err != nil {
		return s, err
	}
	if quarter := 4 * s.Progress.Completed / s.Query.Chunks; quarter > w.told {
		w.told = quarter
		w.app.say("  %d of %d chunks", s.Progress.Completed, s.Query.Chunks)
	}
	paused := s.Query.State == messages.Interrupted
	switch {
	case paused && w.since.IsZero():
		w.since = time.Now()
		w.result.pauses++
		w.result.kept, w.result.answered = s.Progress.Completed, w.upstream.Counters().OK
		w.app.say("  interrupted by the quota: %d of %d chunks are kept; it resumes by itself %s",
			s.Progress.Completed, s.Query.Chunks, in(time.Until(s.Query.ResumeAt())))
	case !paused && !w.since.IsZero():
		w.result.paused += time.Since(w.since)
		w.since = time.Time{}
		w.app.say("  resumed: only the chunks without a result are asked for")
	}
	return s, nil
}

// judge compares both runs, and what the service saw with what was promised.
func (a *app) judge(limited, free *demoResult) error {
	chunks := limited.status.Query.Chunks
	pages := int(free.seen.OK) / chunks
	ideal := time.Duration((chunks+demoCap-1)/demoCap) * time.Duration(pages) * demoLatency
	a.say("")
	a.say("%-36s %16s %16s", "", "with quota", "without")
	row := func(label string, x, y any) { a.say("%-36s %16v %16v", label, x, y) }
	row("chunks", chunks, free.status.Query.Chunks)
	row("requests that the service saw", limited.seen.Requests, free.seen.Requests)
	row("  answered / refused for quota", fmt.Sprintf("%d / %d", limited.seen.OK, limited.seen.Refused), fmt.Sprintf("%d / %d", free.seen.OK, free.seen.Refused))
	row(fmt.Sprintf("most in flight it saw (cap %d)", demoCap), limited.seen.MostInFlight, free.seen.MostInFlight)
	row("requests it answered twice", limited.seen.Repeated, free.seen.Repeated)
	row("quota pauses", limited.pauses, free.pauses)
	row("wall time", span(limited.took), span(free.took))
	row("  of which paused", span(limited.paused), span(free.paused))
	row(fmt.Sprintf("ideal: ⌈%d/%d⌉ × %d × %d ms", chunks, demoCap, pages, demoLatency.Milliseconds()), "", span(ideal))
	a.say("")
	var failed bytes.Buffer
	var checks []demoCheck
	check := func(what string, held bool) {
		verdict := "held"
		if !held {
			verdict = "BROKEN"
			fmt.Fprintf(&failed, "broken: %s\n", what)
		}
		checks = append(checks, demoCheck{what, held})
		a.say("%-66s %s", what, verdict)
	}
	check("both parquet tables are the same, byte for byte", limited.sums[".parquet"] == free.sums[".parquet"])
	check("both csv tables are the same, byte for byte", limited.sums[".csv"] == free.sums[".csv"])
	check("the quota interrupted the query, and it resumed by itself", limited.pauses > 0 && limited.seen.Refused > 0)
	check("never more requests in flight than the cap", limited.seen.MostInFlight <= demoCap && free.seen.MostInFlight <= demoCap)
	check("no page was answered twice, with the pause or without", limited.seen.Repeated == 0 && free.seen.Repeated == 0)
	missing := int64(chunks*pages) - limited.answered
	check(fmt.Sprintf("after the pause only the %d pages that were missing were asked for", missing),
		limited.seen.OK-limited.answered == missing)
	if a.json {
		told := map[string]any{"message_type": "summary", "checks": checks, "tables": []string{limited.parquet, limited.csv}, "requests": limited.seen.Requests, "pauses": limited.pauses}
		if err := a.printJSON(told); err != nil {
			return err
		}
	}
	if failed.Len() > 0 {
		return &exitError{code: exitIncomplete, err: errors.New(failed.String())}
	}
	a.say("\nThe tables: %s and %s", limited.parquet, limited.csv)
	return nil
}
