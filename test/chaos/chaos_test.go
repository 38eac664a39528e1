//go:build unix

package chaos

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/test/rig"
)

const (
	patience    = 4 * time.Minute // with one schedule
	mostResumes = 300
)

func TestSchedules(t *testing.T) {
	first, count := number("CHAOS_FIRST", 1), number("CHAOS_COUNT", 6)
	t.Cleanup(func() { t.Logf("\n%s", told) })
	for seed := first; seed < first+count; seed++ {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			run(t, draw(uint64(seed))) //nolint:gosec // number gives none below 0
		})
	}
}

func TestReplay(t *testing.T) {
	text := os.Getenv("CHAOS_SEED")
	if text == "" {
		t.Skip("CHAOS_SEED names the seed of the schedule to run again")
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { t.Logf("\n%s", told) })
	run(t, draw(seed))
}

const loopback = "127.0.0.1"

// run does what a schedule says to a query on a system of its own, drives the query to its end, and judges.
func run(t *testing.T, s schedule) {
	t.Helper()
	want := calmTable(t, s)
	told.started(s)
	x := &trial{t: t, schedule: s}
	var between *network
	at := loopback
	if s.Network {
		if between, x.noNetwork = newNetwork(t); x.noNetwork == nil {
			at = between.upstream()
		}
	}
	x.up = newUpstream(t, s.Upstream, at)
	var heart pulse
	defer heart.start()()

	x.c = newCluster(t, s, x.up, between)
	x.o = newObserver(t, x.c.urls)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%slogs: %s\nagain: CHAOS_SEED=%d go test ./test/chaos -run Replay", s, x.c.keepLogs(s.Seed), s.Seed)
			for _, line := range x.done {
				t.Log(line)
			}
		}
	})
	x.query = x.submit()
	var acting sync.WaitGroup
	begun := time.Now()
	acting.Go(func() { x.act(begun) })
	table := x.drive(begun, acting.Wait)
	x.up.idle(t)
	told.worst("this machine stood still (s)", heart.read().Seconds(), 0)
	x.judge(table, want, heart.read())
	told.ended(s, !t.Failed())
	t.Logf("%.1fs; %d in flight, %d requests, machine stood still %v\n%s", time.Since(begun).Seconds(),
		x.up.Counters().MostInFlight, x.up.Counters().Requests, heart.read(), s)
}

// spec is the query of a schedule.
func spec(t *testing.T, s schedule) *query.Spec {
	t.Helper()
	q, err := query.Parse("q.yaml", []byte(rig.DailyQuery(s.sites(), s.Chunks)))
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := q.Resolve(query.Sources{Today: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return q.Spec(resolved.Values)
}

func (x *trial) submit() string {
	x.t.Helper()
	q, err := x.c.desks[0].Submit(x.t.Context(), spec(x.t, x.schedule))
	if err != nil {
		x.t.Fatal(err)
	}
	return q.ID
}

// drive resumes the query as often as it is interrupted, until it is complete and all actions are over, and gives its table.
func (x *trial) drive(begun time.Time, acted func()) []byte {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), patience)
	defer cancel()
	over := make(chan struct{})
	go func() {
		defer close(over)
		acted()
	}()
	resumes := 0
	last := "nothing"
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for turn := 0; ; turn++ {
		select {
		case <-ctx.Done():
			<-over
			x.t.Fatalf("the query is not complete %v after it was submitted; the last that was heard: %s", time.Since(begun), last)
		case <-tick.C:
		}
		table, resumed, said := x.look(ctx, pick(x.c.desks, turn), over)
		if table != nil {
			told.worst("seconds until the query was complete", time.Since(begun).Seconds(), patience.Seconds())
			told.worst("resumes of a query", float64(resumes), mostResumes)
			return table
		}
		if said != "" {
			last = said
		}
		if resumed {
			if resumes++; resumes > mostResumes {
				x.t.Fatalf("the query was resumed %d times; the last that was heard: %s", resumes, last)
			}
		}
	}
}

// look asks a coordinator how the query is, and takes the next step.
func (x *trial) look(ctx context.Context, desk *braid.Client, over <-chan struct{}) (table []byte, resumed bool, said string) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	status, err := desk.Status(ctx, x.query)
	if err != nil {
		return nil, false, "status: " + err.Error()
	}
	switch state := status.Query.State; state {
	case messages.Interrupted, messages.Failed:
		if state == messages.Failed {
			x.t.Errorf("the query failed: %+v", status.Query.Stop)
		}
		x.judgeWait(status.Query.Stop)
		_, err := desk.Resume(ctx, x.query, nil)
		return nil, true, fmt.Sprintf("%s because of %+v; resume: %v", state, status.Query.Stop, err)
	case messages.Complete:
		select {
		case <-over:
		default:
			return nil, false, "complete, while actions go on"
		}
		var out bytes.Buffer
		if _, err := desk.Table(ctx, x.query, "csv", false, &out); err != nil {
			return nil, false, "table: " + err.Error()
		}
		return out.Bytes(), false, ""
	default:
		return nil, false, fmt.Sprintf("%s %+v", state, status.Progress)
	}
}

// calm keeps the tables of undisturbed runs, by the number of chunks.
var calm struct {
	mu     sync.Mutex
	tables map[int][]byte
}

// calmTable is the table of an undisturbed run in one process.
func calmTable(t *testing.T, s schedule) []byte {
	t.Helper()
	calm.mu.Lock()
	defer calm.mu.Unlock()
	if table := calm.tables[s.Chunks]; table != nil {
		return table
	}
	up := newUpstream(t, simulator.Config{}, loopback)
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/q.yaml", []byte(rig.DailyQuery(s.sites(), s.Chunks)), 0o600); err != nil {
		t.Fatal(err)
	}
	p := rig.Launch(t, dir, []string{"HOME=" + dir}, "braid", "run", "q.yaml", "-o", "t.csv", "--data-dir", dir+"/data",
		"--service-url", service+"="+up.base())
	<-p.Ended
	table, err := os.ReadFile(dir + "/t.csv")
	if err != nil {
		t.Fatalf("the undisturbed run: %v\n%s", err, p.Stderr.String())
	}
	if calm.tables == nil {
		calm.tables = map[int][]byte{}
	}
	calm.tables[s.Chunks] = table
	return table
}
