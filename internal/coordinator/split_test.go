package coordinator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// lakes is a service that is asked for many sites in one request.
const lakes = `
schema: service/v1
name: lakes
base_url: https://lakes.example
hosts: [{host: lakes.example}]
limits: {in_flight: 4, url_bytes: 8000}
collections:
  daily:
    request: {path: /daily}
    params: {site: {type: text, many: comma}}
    axes: [{pack: site}]
    rows: {format: json, at: '$.data[*]'}
    fields: {site: {type: text}, n: {type: int64}}
    key: [site, n]
`

// depths asks for sites of lakes, in at most chunks requests unless the service says otherwise.
func depths(n, chunks int) *query.Spec {
	spec := sites(n)
	spec.Service, spec.MaxChunks = "lakes", chunks
	return spec
}

var sitesOfTask = regexp.MustCompile(`site=([^"&]*)`)

func sitesOf(c testkit.Call) []string {
	return strings.Split(sitesOfTask.FindStringSubmatch(c.Task)[1], ",")
}

// rowsOf answers a request with two rows a site.
func rowsOf(names []string) service.Page {
	var page service.Page
	for _, name := range names {
		one := testkit.Rows(name, 0, 2, "")
		page.Rows, page.Count, page.Columns, page.Status = append(page.Rows, one.Rows...), page.Count+one.Count, one.Columns, 200
	}
	return page
}

// narrow takes at most most sites in one request.
func narrow(most int) func(context.Context, testkit.Call) (service.Page, error) {
	return func(_ context.Context, c testkit.Call) (service.Page, error) {
		if names := sitesOf(c); len(names) <= most {
			return rowsOf(names), nil
		}
		return service.Page{}, refuse(service.ClassTooLarge, 413, 0)
	}
}

func lakeRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.definitions.change(lakes)
	return r
}

func (r *rig) csv(c *coordinator.Coordinator, id string) string {
	r.t.Helper()
	e, err := c.Export(r.t.Context(), id, false)
	if err != nil {
		r.t.Fatal(err)
	}
	var table bytes.Buffer
	if err := output.Encode(r.t.Context(), &table, output.CSV, e.Table, e.Meta); err != nil {
		r.t.Fatal(err)
	}
	return table.String()
}

// depthTable is the table of n sites, in as many chunks.
func depthTable(n int) string {
	var table strings.Builder
	table.WriteString("site,n\n")
	for i := range n {
		fmt.Fprintf(&table, "s%02d,0\ns%02d,1\n", i, i)
	}
	return table.String()
}

func TestAChunkThatIsTooLargeIsSplitUntilItFits(t *testing.T) {
	t.Parallel()
	r := lakeRig(t)
	c := r.lead()
	script := testkit.NewScript(narrow(3))
	r.work(script)
	q := r.submit(c, depths(20, 2))
	r.settles(q.ID, 1, messages.Complete)
	if got, want := r.csv(c, q.ID), depthTable(20); got != want {
		t.Errorf("the table differs (-want +got):\n%s", cmp.Diff(want, got))
	}
	if n := len(script.Calls()); n != 2*(1+2+4) {
		t.Errorf("%d requests for two chunks of ten that are split twice", n)
	}
	if n := testkit.Stored(t, r.js, "ITEMS"); n != 0 {
		t.Errorf("%d items are left", n)
	}
	status, err := c.Status(t.Context(), q.ID)
	if p := status.Progress; err != nil || p.Completed != 2 || p.Split != 6 || p.Rows != 40 || p.Waiting != 0 {
		t.Errorf("progress %+v, %v", status.Progress, err)
	}
	survey, err := c.Survey(t.Context(), q)
	if err != nil || !survey.Enough || survey.Progress.Rows != 40 || survey.Progress.Requests != 14 {
		t.Errorf("survey %+v, %v", survey, err)
	}
	plain := lakeRig(t)
	c2 := plain.lead()
	plain.work(testkit.NewScript(narrow(3)))
	whole := plain.submit(c2, depths(20, 20))
	plain.settles(whole.ID, 1, messages.Complete)
	if diff := cmp.Diff(plain.csv(c2, whole.ID), r.csv(c, q.ID)); diff != "" {
		t.Errorf("the table differs from that of small chunks: %s", diff)
	}
}

func TestItemsSayWhatTheyAskForAndWhetherItCanBeDivided(t *testing.T) {
	t.Parallel()
	r := lakeRig(t)
	c := r.lead()
	r.submit(c, depths(3, 2))
	testkit.Until(t, "the items are queued", func() bool { return testkit.Stored(t, r.js, "ITEMS") == 2 })
	stream, err := r.js.Stream(t.Context(), "ITEMS")
	if err != nil {
		t.Fatal(err)
	}
	for seq := range uint64(2) {
		msg, err := stream.GetMsg(t.Context(), seq+1)
		if err != nil {
			t.Fatal(err)
		}
		item, err := messages.DecodeItem(msg.Data)
		if divisible := bytes.Contains(msg.Data, []byte(",s")); err != nil || item.Divisible != divisible || !strings.Contains(item.Asks, "site") || item.MaxRows != 0 {
			t.Errorf("item %d: %+v, %v", seq, item, err)
		}
	}
}

// After each single request that is refused, another coordinator takes the query over.
func TestATreeOfSplitsThatIsInterruptedAtAnyRequestGivesTheSameTable(t *testing.T) {
	t.Parallel()
	undisturbed := undisturbedTree(12, 2)
	for k := range undisturbed {
		t.Run(fmt.Sprintf("at request %d", k), func(t *testing.T) {
			t.Parallel()
			r := lakeRig(t)
			first := r.coordinator("c1", r.bus, nil)
			running := testkit.Run(t, first.Run)
			var asked atomic.Int32
			script := testkit.NewScript(func(ctx context.Context, c testkit.Call) (service.Page, error) {
				if int(asked.Add(1)) == k+1 {
					return service.Page{}, refuse(service.ClassQuota, 429, time.Millisecond)
				}
				return narrow(2)(ctx, c)
			})
			r.work(script)
			q := r.submit(first, depths(12, 1))
			testkit.Until(t, "the first run is over", func() bool { return !r.query(q.ID).State.Active() })
			if err := running.Stop(t); err != nil {
				t.Fatal(err)
			}
			second := r.coordinator("c2", r.bus, nil)
			testkit.Run(t, second.Run)
			for run := 1; r.query(q.ID).State == messages.Interrupted; run++ {
				r.resume(second, q.ID)
				testkit.Until(t, "the next run is over", func() bool { return !r.query(q.ID).State.Active() })
			}
			if end := r.query(q.ID); end.State != messages.Complete {
				t.Fatalf("it is %s because of %+v", end.State, end.Stop)
			}
			if diff := cmp.Diff(depthTable(12), r.csv(second, q.ID)); diff != "" {
				t.Errorf("the table differs (-want +got):\n%s", diff)
			}
			if n := len(script.Calls()); n != undisturbed+1 {
				t.Errorf("%d requests, want one more than %d", n, undisturbed)
			}
		})
	}
}

// undisturbedTree is how many requests n sites take when most are taken at a time.
func undisturbedTree(n, most int) int {
	if n <= most {
		return 1
	}
	return 1 + undisturbedTree((n+1)/2, most) + undisturbedTree(n/2, most)
}

// putSplit stores that a position was split, as a worker does.
func (r *rig) putSplit(q *messages.Query, p messages.Position) {
	r.t.Helper()
	h := testkit.Header(q.ID, 0, 0)
	h.Position, h.Outcome, h.Pages = p, messages.OutcomeSplit, 0
	if err := r.bus.NewResult(q.ID, "split-"+strings.ReplaceAll(string(p), ".", "-")).Commit(r.t.Context(), h); err != nil {
		r.t.Fatal(err)
	}
}

func TestASplitWhoseChildrenWereNeverDispatchedIsCarriedOut(t *testing.T) {
	t.Parallel()
	r := lakeRig(t)
	c := r.coordinator("c1", r.bus, nil)
	q := r.submit(c, depths(8, 2))
	r.putSplit(q, "1")
	r.putSplit(q, "1.0") // its parent's own children were dispatched before everything stopped
	script := testkit.NewScript(narrow(4))
	r.work(script)
	testkit.Run(t, c.Run)
	r.settles(q.ID, 1, messages.Complete)
	var asked []string
	for _, call := range script.Calls() {
		asked = append(asked, strings.Join(sitesOf(call), " "))
	}
	slices.Sort(asked)
	if diff := cmp.Diff([]string{"s00 s01 s02 s03", "s04", "s05", "s06 s07"}, asked); diff != "" {
		t.Errorf("the requests differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(depthTable(8), r.csv(c, q.ID)); diff != "" {
		t.Errorf("the table differs (-want +got):\n%s", diff)
	}
}

func TestAStandbyTakesOverATreeOfSplits(t *testing.T) {
	t.Parallel()
	r := lakeRig(t)
	lone := testkit.Join(t, r.server)
	testkit.Run(t, r.coordinator("c1", lone, nil).Run)
	testkit.Until(t, "the first one leads", func() bool { return r.leads("c1") })
	second := r.coordinator("c2", r.bus, nil)
	testkit.Run(t, second.Run)
	came, letGo := make(chan struct{}, 1), make(chan struct{})
	script := testkit.NewScript(func(ctx context.Context, c testkit.Call) (service.Page, error) {
		if names := sitesOf(c); len(names) == 2 && names[0] == "s02" {
			came <- struct{}{}
			<-letGo
		}
		return narrow(2)(ctx, c)
	})
	r.work(script)
	q := r.submit(second, depths(8, 1))
	testkit.Receive(t, "held request", came)
	lone.Close() // from now on nothing that the first one does arrives
	close(letGo)
	r.settles(q.ID, 1, messages.Complete)
	if n := len(script.Calls()); n != undisturbedTree(8, 2) {
		t.Errorf("%d requests, want %d", n, undisturbedTree(8, 2))
	}
	if diff := cmp.Diff(depthTable(8), r.csv(second, q.ID)); diff != "" {
		t.Errorf("the table differs (-want +got):\n%s", diff)
	}
}

func TestASplitThatCannotBeCarriedOutFailsTheQuery(t *testing.T) {
	t.Parallel()
	r := lakeRig(t)
	c := r.coordinator("c1", r.bus, nil)
	q := r.submit(c, depths(3, 3))
	r.putSplit(q, "1") // one site: some other build has divided what this one cannot
	script := testkit.NewScript(narrow(3))
	r.work(script)
	testkit.Run(t, c.Run)
	for run := 1; run < 3; run++ {
		stop := r.settles(q.ID, run, messages.Failed).Stop
		if stop.Position != "1" || stop.Class != "split" || !strings.Contains(stop.Reason, "s01") || stop.Hint == "" {
			t.Errorf("run %d failed because of %+v", run, stop)
		}
		list, err := c.Failures(t.Context(), q.ID)
		if err != nil || len(list.Failures) != 1 {
			t.Fatalf("run %d: failures %+v, %v", run, list, err)
		}
		if f := list.Failures[0]; f.Position != "1" || f.Class != messages.ClassSplit || !strings.Contains(f.Asks, "s01") || f.Message != stop.Reason || f.Hint == "" || f.At.IsZero() {
			t.Errorf("run %d: listed as %+v", run, f)
		}
		_, err = c.Retry(t.Context(), q.ID, coordinator.ResumeOptions{})
		if !errors.Is(err, query.ErrState) || !strings.Contains(err.Error(), "changes nothing") || !strings.Contains(err.Error(), stop.Hint) {
			t.Errorf("run %d: its retry says %v", run, err)
		}
		if run == 1 {
			r.resume(c, q.ID)
		}
	}
	if n := script.CallsWith("s00"); n != 1 {
		t.Errorf("what stands below the failure was asked for %d times", n)
	}
}

func TestOfATreeOnlyWhatIsLostIsFetchedAgain(t *testing.T) {
	t.Parallel()
	for name, position := range map[string]messages.Position{"a leaf": "0.0.1", "a split": "0.0", "the split of a chunk of the plan": "0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := lakeRig(t)
			c := r.lead()
			script := testkit.NewScript(narrow(2))
			r.work(script)
			q := r.submit(c, depths(6, 1)) // six, three and three, and each of these two and one
			r.settles(q.ID, 1, messages.Complete)
			want := r.tables(c, q.ID)
			before := len(script.Calls())
			r.purge("RESULTS", "braid.result."+q.ID+"."+string(position))
			if _, err := c.Export(t.Context(), q.ID, false); !errors.Is(err, messages.ErrDamaged) {
				t.Fatalf("export gave %v, want ErrDamaged", err)
			}
			if stop := r.query(q.ID).Stop; stop.Kind != messages.StopDamaged || stop.Position != position {
				t.Errorf("reopened because of %+v", stop)
			}
			r.resume(c, q.ID)
			r.settles(q.ID, 2, messages.Complete)
			if n := len(script.Calls()) - before; n != 1 {
				t.Errorf("%d requests, want one", n)
			}
			if diff := cmp.Diff(want, r.tables(c, q.ID)); diff != "" {
				t.Errorf("the table differs from the one before the loss: %s", diff)
			}
		})
	}
}

func TestResultsThatNoSplitMakesAreLeftAlone(t *testing.T) {
	t.Parallel()
	r := lakeRig(t)
	c := r.coordinator("c1", r.bus, nil)
	q := r.submit(c, depths(4, 2))
	for _, p := range []messages.Position{"0.0", "0.7", "1.0.1", "9", "9.1"} {
		w := r.bus.NewResult(q.ID, "stray-"+strings.ReplaceAll(string(p), ".", "-"))
		if err := w.Write(t.Context(), testkit.Rows("stray", 0, 1, "").Rows); err != nil {
			t.Fatal(err)
		}
		h := testkit.Header(q.ID, 0, 1)
		h.Position, h.Columns = p, []string{"site", "n", "stray"}
		if err := w.Commit(t.Context(), h); err != nil {
			t.Fatal(err)
		}
	}
	r.work(testkit.NewScript(narrow(2)))
	testkit.Run(t, c.Run)
	r.settles(q.ID, 1, messages.Complete)
	if diff := cmp.Diff(depthTable(4), r.csv(c, q.ID)); diff != "" {
		t.Errorf("the table differs (-want +got):\n%s", diff)
	}
	if n := testkit.Stored(t, r.js, "RESULTS"); n != 7 {
		t.Errorf("%d results are stored, want the two and the five that are left alone", n)
	}
}

func TestAFailureInATreeNamesItsPosition(t *testing.T) {
	t.Parallel()
	r := lakeRig(t)
	c := r.lead()
	r.work(testkit.NewScript(func(ctx context.Context, c testkit.Call) (service.Page, error) {
		if names := sitesOf(c); len(names) <= 2 && slices.Contains(names, "s05") {
			return service.Page{}, refuse(service.ClassBadRequest, 400, 0)
		}
		return narrow(2)(ctx, c)
	}))
	q := r.submit(c, depths(8, 1))
	if stop := r.settles(q.ID, 1, messages.Failed).Stop; stop.Position != "0.1.0" || stop.Status != 400 {
		t.Errorf("stopped because of %+v", stop)
	}
	survey, err := c.Survey(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if missing := survey.Completed.Missing(1, 1); !slices.Equal(missing, []messages.Position{"0.1.0"}) || survey.Progress.Failed != 1 {
		t.Errorf("%v is missing, %d failed", missing, survey.Progress.Failed)
	}
	e, err := c.Export(t.Context(), q.ID, true)
	if err != nil || e.Meta["braid.partial"] != "true" || e.Table.Report.Rows < 8 {
		t.Errorf("the partial table: %+v, %v", e, err)
	}
	if _, err := c.Export(t.Context(), q.ID, false); !errors.Is(err, query.ErrIncomplete) || !strings.Contains(err.Error(), "0 of 1 chunks") {
		t.Errorf("export gave %v, want ErrIncomplete", err)
	}
}

// taskOf reads a declarative task.
func taskOf(t *testing.T, c testkit.Call) service.Request {
	t.Helper()
	var request service.Request
	if err := json.Unmarshal([]byte(c.Task), &request); err != nil {
		t.Fatal(err)
	}
	return request
}

// Waiting by itself counts from the last step forward, and inside of a split chunk there are many.
func TestAPauseInsideOfASplitChunkIsAStepForward(t *testing.T) {
	t.Parallel()
	r := lakeRig(t)
	c := r.lead()
	var asked atomic.Int32
	r.work(testkit.NewScript(func(ctx context.Context, c testkit.Call) (service.Page, error) {
		if asked.Add(1)%4 == 0 {
			return service.Page{}, refuse(service.ClassQuota, 429, 600*time.Millisecond)
		}
		return narrow(1)(ctx, c)
	}))
	spec := depths(4, 1)
	spec.Run.OnQuota.WaitUpTo = query.Duration(time.Second)
	q := r.submit(c, spec)
	testkit.Until(t, "the query has resumed by itself, again and again, and is complete", func() bool {
		now := r.query(q.ID)
		if now.State == messages.Interrupted && !now.ResumesByItself() {
			t.Fatalf("it waits no longer, in run %d", now.Run)
		}
		return now.State == messages.Complete && now.Run > 2
	})
}
