package coordinator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// fanOut is a query that the recorded client drove, once and again: what each position meets in each drive, and what came of it.
type fanOut struct {
	ID, Kind string
	In       struct{ Rounds [][]string }
	Expect   struct{ Drives []recordedDrive }
}

type recordedDrive struct {
	Result         string
	StatusCode     *int     `json:"status_code"`
	RetryAfter     *float64 `json:"retry_after"`
	Rows           []string
	PartialRows    []string `json:"partial_rows"`
	Issued         []int
	CompletedAfter int `json:"completed_after"`
}

func fanOuts(t *testing.T) []fanOut {
	t.Helper()
	data, err := os.ReadFile("testdata/classify.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []json.RawMessage }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	var cases []fanOut
	for _, raw := range file.Cases {
		var head struct{ Kind string }
		if err := json.Unmarshal(raw, &head); err != nil {
			t.Fatal(err)
		}
		if head.Kind != "fan_out" {
			continue // statuses and exceptions are of internal/fetch
		}
		var c fanOut
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if len(cases) < 15 {
		t.Fatalf("only %d cases", len(cases))
	}
	return cases
}

// outcome is what a position meets, as a word of the vectors: ok, a status with an optional /hint, late:STATUS on the second page,
// timeout, dns, parse, bug, cancel.
type outcome string

func (o outcome) late() bool   { return strings.HasPrefix(string(o), "late:") }
func (o outcome) cancel() bool { return o == "cancel" }

// status is 0 for what is no answer of the service. The vectors' late failures all name 4 seconds, as far as a status may.
func (o outcome) status() (status int, hint time.Duration) {
	word, after, _ := strings.Cut(strings.TrimPrefix(string(o), "late:"), "/")
	status, _ = strconv.Atoi(word) // a word that is none is 0
	seconds, _ := strconv.ParseFloat(after, 64)
	if o.late() && (status == 429 || status >= 500) {
		seconds = 4
	}
	return status, time.Duration(seconds * float64(time.Second))
}

// answer is what the fetcher makes of the outcome; internal/fetch is tested with the same vectors to make it so. A table that
// the service's answer is not, which the client takes for a failure, is asked for again here; an error of the program is a failure.
func (o outcome) answer(c *service.Collection) error {
	status, hint := o.status()
	word := strings.TrimPrefix(string(o), "late:")
	refusal := &service.ResponseError{Status: status, RetryAfter: hint, Message: "as the vector says: " + string(o)}
	switch {
	case o == "ok" || o.cancel():
		return nil
	case status > 0:
		refusal.Class, refusal.GivesUpAs = c.Classify(status, nil, nil)
	case word == "timeout" || word == "parse":
		refusal.Class = service.ClassTransient
	case word == "dns":
		refusal.Class = service.ClassBadRequest
	default:
		refusal.Class = service.ClassBadPage
	}
	return refusal
}

// kind is what a run stops with because of the outcome: "" when it does not, StopFailure, or an interruption.
func (o outcome) kind(c *service.Collection) string {
	answer, refused := errors.AsType[*service.ResponseError](o.answer(c))
	switch {
	case !refused:
		return ""
	case answer.Class == service.ClassQuota:
		return string(messages.QuotaExhausted)
	case answer.Class == service.ClassTransient && answer.GivesUpAs == "":
		return string(messages.ServiceInterrupted)
	}
	return messages.StopFailure
}

// otherwise tells whether the client judges the outcome differently: 408 it does not try again, 504 it never takes for too large,
// and an answer that is no table ends its query (see docs/compatibility.md).
func (o outcome) otherwise() bool {
	status, _ := o.status()
	return status == 408 || status == 504 || strings.HasSuffix(string(o), "parse")
}

// stage lets the requests of a drive be answered when all of its positions have asked, so that none is held back because another
// one was refused. It gives the positions that asked, and the cursors that they began with.
type stage struct {
	t     *testing.T
	round []outcome
	of    *service.Collection
	open  chan struct{}
	due   int // positions that are to ask

	mu    sync.Mutex
	began map[int]string // position → cursor of its first request; guarded by mu
	ready map[int]bool   // guarded by mu
}

func (s *stage) FetchPage(ctx context.Context, call testkit.Call) (service.Page, error) {
	position, err := strconv.Atoi(siteOf(call)[1:])
	if err != nil {
		return service.Page{}, err
	}
	o, rows := s.round[position], testkit.Rows(siteOf(call), 0, 1, "")
	s.mu.Lock()
	if _, asked := s.began[position]; !asked {
		s.began[position] = call.Cursor
	}
	firstOfTwo := o.late() && call.Cursor == ""
	if !firstOfTwo && !s.ready[position] {
		s.ready[position] = true
		if len(s.ready) == s.due {
			close(s.open)
		}
	}
	s.mu.Unlock()
	if firstOfTwo {
		rows.Next = "p2"
		return rows, nil
	}
	select {
	case <-s.open:
	case <-ctx.Done():
		return service.Page{}, ctx.Err()
	}
	if err := o.answer(s.of); err != nil {
		return service.Page{}, err
	}
	if call.Cursor != "" { // its row came with the first page
		return service.Page{Status: 200}, nil
	}
	return rows, nil
}

func (s *stage) issued() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.began))
}

func (s *stage) cursorOf(position int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.began[position]
}

func TestQueriesAreDrivenAsTheRecordedClientDrivesThem(t *testing.T) {
	t.Parallel()
	for _, c := range fanOuts(t) {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			drives := newFanOutRig(t)
			for i, round := range c.In.Rounds {
				if drives.drive(i+1, round, &c.Expect.Drives[i]) {
					return
				}
			}
		})
	}
}

// What the recorded rounds leave open is decided by the same rules.
func TestTheLowestPositionSpeaksWhateverHappensBesideIt(t *testing.T) {
	t.Parallel()
	for _, rounds := range [][][]string{
		{{"ok", "404", "bug", "ok"}, {"", "ok", "dns", ""}, {"", "", "ok", ""}},
		{{"bug", "400", "503"}},
		{{"429/30", "429/600", "ok"}},
		{{"503/90", "503", "503/600"}},
		{{"timeout", "late:503", "ok"}, {"ok", "503/5", ""}, {"", "ok", ""}},
		{{"late:404", "late:429", "late:504"}, {"late:503", "ok", "ok"}, {"ok", "", ""}},
		{{"408", "504", "413"}},
		{{"ok", "cancel", "404", "429/30"}},
	} {
		t.Run(fmt.Sprint(rounds), func(t *testing.T) {
			t.Parallel()
			drives := newFanOutRig(t)
			for i, round := range rounds {
				if drives.drive(i+1, round, nil) {
					return
				}
			}
		})
	}
}

func newFanOutRig(t *testing.T) *fanOutRig {
	t.Helper()
	r := newRig(t)
	r.definitions.change(strings.Replace(rivers, "in_flight: 4", "in_flight: 32", 1))
	d, err := service.Parse("rivers", []byte(r.definitions.text))
	if err != nil {
		t.Fatal(err)
	}
	return &fanOutRig{rig: r, coordinator: r.lead(), of: d.Collections[0], done: map[int]bool{}, walks: map[int]bool{}}
}

// fanOutRig is a query over its drives.
type fanOutRig struct {
	*rig
	coordinator *coordinator.Coordinator
	of          *service.Collection
	query       *messages.Query
	done        map[int]bool // positions with rows
	walks       map[int]bool // positions whose first page is kept
}

// drive runs the query once and compares what came of it, with what is recorded too unless that is nil. Time passes between two drives: each has a gate of its own. over tells
// that the query was cancelled, behind which there is nothing to compare.
func (f *fanOutRig) drive(run int, words []string, recorded *recordedDrive) (over bool) {
	f.t.Helper()
	s := &stage{t: f.t, of: f.of, open: make(chan struct{}), began: map[int]string{}, ready: map[int]bool{}}
	var pending []int
	for position, word := range words {
		s.round = append(s.round, outcome(word))
		if !f.done[position] {
			pending = append(pending, position)
		}
	}
	cancelled := slices.ContainsFunc(pending, func(p int) bool { return s.round[p].cancel() })
	if !cancelled { // else the stage opens when the query is cancelled
		s.due = len(pending)
	}
	w := testkit.Worker(f.t, f.bus, worker.Config{ID: fmt.Sprintf("w%d", run), Grace: time.Second, ShortWait: time.Nanosecond},
		&testkit.Upstreams{Adapter: testkit.NewScript(s.FetchPage), Retry: testkit.QuickRetry(0), QuotaWait: time.Hour, Gate: fmt.Sprintf("rivers-%d", run)}, nil)
	began := time.Now()
	running := testkit.Run(f.t, w.Run)
	if run == 1 {
		f.query = f.submit(f.coordinator, sites(len(words)))
	} else {
		f.query = f.resume(f.coordinator, f.query.ID)
	}
	if cancelled {
		f.cancel(s, pending)
	}
	testkit.Until(f.t, fmt.Sprintf("drive %d is over", run), func() bool {
		f.query = f.rig.query(f.query.ID)
		return f.query.Run == run && !f.query.State.Active()
	})
	if err := running.Stop(f.t); err != nil {
		f.t.Error(err)
	}
	if issued := s.issued(); !slices.Equal(issued, pending) || recorded != nil && !slices.Equal(issued, recorded.Issued) {
		f.t.Errorf("drive %d asked for %v, pending were %v, recorded %+v", run, issued, pending, recorded)
	}
	if cancelled {
		if f.query.State != messages.Cancelled || recorded != nil && recorded.Result != "CancelledError" {
			f.t.Errorf("drive %d is %s, recorded %+v", run, f.query.State, recorded)
		}
		return true
	}
	f.checkWalks(s, pending)
	f.checkStop(s, pending, recorded, began)
	f.checkRows(recorded)
	return false
}

// cancel cancels the query once all positions have asked: before any failure is known.
func (f *fanOutRig) cancel(s *stage, pending []int) {
	f.t.Helper()
	testkit.Until(f.t, "all positions have asked", func() bool { return len(s.issued()) == len(pending) })
	if _, err := f.coordinator.Cancel(f.t.Context(), f.query.ID); err != nil {
		f.t.Fatal(err)
	}
	close(s.open)
}

// checkWalks says that a walk which was interrupted goes on behind its first page, which the client asks for again (U-3.10). One
// that ended in a failure begins again.
func (f *fanOutRig) checkWalks(s *stage, pending []int) {
	f.t.Helper()
	for _, p := range pending {
		if goesOn := s.cursorOf(p) == "p2"; goesOn != f.walks[p] {
			f.t.Errorf("position %d begins at %q, its first page is kept: %t", p, s.cursorOf(p), f.walks[p])
		}
		kind := s.round[p].kind(f.of)
		f.done[p] = kind == ""
		f.walks[p] = (f.walks[p] || s.round[p].late()) && kind != "" && kind != messages.StopFailure
	}
}

// checkStop says what the run stopped with: a failure before an interruption, the lowest position of its kind, with its status,
// and the latest time that was named. For Braid a quota refusal comes before other interruptions, for it alone tells when to go on.
func (f *fanOutRig) checkStop(s *stage, pending []int, recorded *recordedDrive, began time.Time) {
	f.t.Helper()
	state := map[string]messages.QueryState{messages.StopFailure: messages.Failed, "": messages.Complete}
	want, at := "", 0
	var named time.Duration
	agrees := recorded != nil
	for _, kind := range []string{messages.StopFailure, string(messages.QuotaExhausted), string(messages.ServiceInterrupted)} {
		for _, p := range pending {
			agrees = agrees && !s.round[p].otherwise()
			if s.round[p].kind(f.of) == kind && want == "" {
				want, at = kind, p
			}
			if _, hint := s.round[p].status(); s.round[p].kind(f.of) != messages.StopFailure {
				named = max(named, hint)
			}
		}
	}
	if want != "" && want != messages.StopFailure {
		state[want] = messages.Interrupted
	}
	q := f.query
	if q.State != state[want] {
		f.t.Fatalf("the query is %s because of %+v, want %s", q.State, q.Stop, state[want])
	}
	if want == "" {
		if agrees && recorded.Result != "ok" {
			f.t.Errorf("complete, recorded %s", recorded.Result)
		}
		return
	}
	status, _ := s.round[at].status()
	if q.Stop.Kind != want || q.Stop.Position != messages.PositionAt(at) || q.Stop.Status != status {
		f.t.Errorf("stopped because of %+v, want %s of position %d", q.Stop, want, at)
	}
	f.checkUntil(want, named, began)
	if agrees {
		f.checkResult(s, pending, want, status, recorded)
	}
}

// checkUntil says that the time which the service named is kept, counted from when it said so.
func (f *fanOutRig) checkUntil(kind string, named time.Duration, began time.Time) {
	f.t.Helper()
	until := f.query.Stop.Until
	if named == 0 && kind == string(messages.QuotaExhausted) {
		named = time.Hour // the quota's window
	}
	switch {
	case kind == messages.StopFailure || named == 0:
		if !until.IsZero() {
			f.t.Errorf("goes on at %s, and nobody said so", until)
		}
	case until.Before(began.Add(named)) || until.After(time.Now().Add(named)):
		f.t.Errorf("goes on after %s, want %s", until.Sub(began), named)
	}
}

// checkResult compares with the class of the client's error.
func (f *fanOutRig) checkResult(s *stage, pending []int, kind string, status int, recorded *recordedDrive) {
	f.t.Helper()
	lowest := slices.IndexFunc(pending, func(p int) bool { return s.round[p].kind(f.of) != "" })
	speaks := s.round[pending[lowest]]
	switch {
	case kind == messages.StopFailure:
		if slices.Contains([]string{"ok", "QuotaExhausted", "ServiceInterrupted", "CancelledError"}, recorded.Result) {
			f.t.Errorf("failed, recorded %s", recorded.Result)
		}
		return
	case speaks.kind(f.of) != kind: // a quota refusal of a higher position
		if recorded.Result != "ServiceInterrupted" {
			f.t.Errorf("%s, recorded %s", kind, recorded.Result)
		}
		return
	}
	if want := map[string]string{string(messages.QuotaExhausted): "QuotaExhausted", string(messages.ServiceInterrupted): "ServiceInterrupted"}[kind]; recorded.Result != want {
		f.t.Errorf("%s, recorded %s", kind, recorded.Result)
	}
	if said := recorded.StatusCode; said == nil && status != 0 || said != nil && *said != status {
		f.t.Errorf("status %d, recorded %v", status, said)
	}
	if _, hint := speaks.status(); recorded.RetryAfter == nil && hint != 0 || recorded.RetryAfter != nil && time.Duration(*recorded.RetryAfter*float64(time.Second)) != hint {
		f.t.Errorf("named %s, recorded %v", hint, recorded.RetryAfter)
	}
}

// checkRows says that whatever came is kept, whichever way the run ended: the client gives nothing back after a failure.
func (f *fanOutRig) checkRows(recorded *recordedDrive) {
	f.t.Helper()
	e, err := f.coordinator.Export(f.t.Context(), f.query.ID, f.query.State != messages.Complete)
	if err != nil {
		f.t.Fatal(err)
	}
	want, got := []string{}, []string{}
	for _, p := range slices.Sorted(maps.Keys(f.done)) {
		if f.done[p] {
			want = append(want, fmt.Sprintf("r%d", p))
		}
	}
	for row, err := range e.Table.Rows(f.t.Context()) {
		if err != nil {
			f.t.Fatal(err)
		}
		position, err := strconv.Atoi(row[0].Text[1:])
		if err != nil {
			f.t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("r%d", position))
	}
	if !slices.Equal(got, want) {
		f.t.Errorf("rows %v, want %v", got, want)
	}
	if recorded == nil {
		return
	}
	said := recorded.PartialRows
	if recorded.Result == "ok" {
		said = recorded.Rows
	}
	if said != nil && !slices.Equal(got, said) || len(got) != recorded.CompletedAfter {
		f.t.Errorf("rows %v, recorded %v of %d positions", got, said, recorded.CompletedAfter)
	}
}
