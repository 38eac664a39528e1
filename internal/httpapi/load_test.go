package httpapi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/httpapi"
	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/access"
	"github.com/braidhq/braid/pkg/load"
)

const startBody = `{"profile":"p1","fingerprint":"sha256:1"}`

// The reader may see reports, and not the rows that were kept: they are data of the role that the request was sent as.
func TestRowsOfExecutionsAreToldToThoseAloneWhoMayRunLoad(t *testing.T) {
	g := guard(t)
	for seed, told := range map[byte]bool{readerSeed: false, submitterSeed: false, operatorSeed: true, adminSeed: true} {
		for _, path := range []string{"/v1/load/runs/r1/executions/3", "/v1/load/runs/r1/executions"} {
			response, body := ask(t, g.Server, "GET", path, "", bearer(tokenOf(t, seed)))
			want := told && strings.HasSuffix(path, "/3")
			if response.StatusCode != 200 || strings.Contains(body, secretRow) != want {
				t.Errorf("%d: %s: %s, the rows are told: %v, want %v", seed, path, response.Status, !want, want)
			}
		}
		if response, body := ask(t, g.Server, "GET", "/v1/load/runs/r1/report", "", bearer(tokenOf(t, seed))); response.StatusCode != 200 {
			t.Errorf("%d: report: %s %s", seed, response.Status, body)
		}
	}
}

// Who may start is judged by the door and, with what the door knows of the caller, by the desk again (LR-10.6).
func TestLR_10_2_TheDeskIsToldWhoAsksAndWhatTheyMay(t *testing.T) {
	g := guard(t, entryOf(t, 1, "olga", "bi", access.Operator), entryOf(t, 2, "ada", "", access.Admin), entryOf(t, 3, "sam", "bi", access.Submitter, access.LoadRun), entryOf(t, 4, "rita", "", access.Reader, access.LoadProd))
	for seed, want := range map[byte]load.Actor{1: {Name: "olga", Team: "bi", Run: true}, 2: {Name: "ada", Run: true, Prod: true}, 3: {Name: "sam", Team: "bi", Run: true}} {
		if response, body := ask(t, g.Server, "POST", "/v1/load/runs", startBody, bearer(tokenOf(t, seed))); response.StatusCode != 201 || g.desk.loads.by != want {
			t.Errorf("%s: %s %s: by %+v, want %+v", want.Name, response.Status, body, g.desk.loads.by, want)
		}
	}
	response, body := ask(t, g.Server, "POST", "/v1/load/runs", startBody, bearer(tokenOf(t, 4)))
	wantProblem(t, response, body, contract.Forbidden) // load:prod alone starts nothing
	approve := `{"gate_hash":"ab","reason":"release","valid_for":"30m"}`
	if response, body := ask(t, g.Server, "POST", "/v1/load/profiles/p1/approvals", approve, bearer(tokenOf(t, 4))); response.StatusCode != 201 {
		t.Errorf("%s %s", response.Status, body)
	}
	if want := (load.ApprovalRequest{Hash: "ab", Reason: "release", ValidFor: 30 * time.Minute}); g.desk.loads.approval != want || g.desk.loads.by != (load.Actor{Name: "rita", Prod: true}) {
		t.Errorf("%+v by %+v", g.desk.loads.approval, g.desk.loads.by)
	}
	response, body = ask(t, g.Server, "POST", "/v1/load/profiles/p1/approvals", approve, bearer(tokenOf(t, 1)))
	wantProblem(t, response, body, contract.Forbidden)
}

// Without tokens everybody may do everything, as on a person's own machine.
func TestWithoutTokensTheDeskIsAskedByAnybody(t *testing.T) {
	d := &desk{}
	if response, body := ask(t, serve(t, d, httpapi.Config{}), "POST", "/v1/load/runs", startBody); response.StatusCode != 201 || d.loads.by != (load.Actor{Run: true, Prod: true}) {
		t.Errorf("%s %s by %+v", response.Status, body, d.loads.by)
	}
}

func TestLR_9_3_AGateThatStaysShutTellsWhyWhatStandsNowAndTheDifference(t *testing.T) {
	many := make([]load.Dependent, 1000)
	for i := range many {
		many[i] = load.Dependent{Kind: "chart", ID: int64(i), Name: "c", Dataset: 1}
	}
	for reason, status := range map[string]int{
		load.GateNoPermission: 403, load.GateProfileChanged: 412, load.GateNotLookedUp: 409, load.GateDependentsUnknown: 409, load.GateFingerprintChanged: 412,
		load.GateNoApproval: 403, load.GateStale: 412, load.GateApprovalExpired: 403, load.GateApprovalUsed: 409,
	} {
		d := &desk{}
		server := serve(t, d, httpapi.Config{})
		gate := &load.GateError{Kind: reason, Message: "it is shut", Hint: "look again", Revision: 3, GateHash: "cd", Fingerprint: "sha256:2", Added: many, Removed: many[:1]}
		d.loads.err = fmt.Errorf("start: %w", gate)
		response, body := ask(t, server, "POST", "/v1/load/runs", startBody)
		p := wantProblem(t, response, body, "load-gate-"+strings.ReplaceAll(reason, "_", "-"))
		if response.StatusCode != status || p.Gate == nil || p.Gate.Kind != reason || p.Gate.Fingerprint != "sha256:2" || p.Gate.Revision != 3 || p.Gate.GateHash != "cd" {
			t.Fatalf("%s: %s %.300s", reason, response.Status, body)
		}
		if len(p.Gate.Added) != 200 || p.Gate.AddedCount != 1000 || len(p.Gate.Removed) != 1 || p.Gate.RemovedCount != 1 {
			t.Errorf("%s: %d added of %d, %d removed of %d", reason, len(p.Gate.Added), p.Gate.AddedCount, len(p.Gate.Removed), p.Gate.RemovedCount)
		}
		if back, is := p.Err().(*load.GateError); !is || back.Kind != reason || back.Error() != gate.Error() { //nolint:errorlint // it is made so
			t.Errorf("%s: it is read back as %v", reason, p.Err())
		}
	}
}

func TestALookUpThatFailedSaysWhatTheServiceSaid(t *testing.T) {
	d := &desk{}
	server := serve(t, d, httpapi.Config{})
	d.loads.err = fmt.Errorf("look up: %w", &load.LookUpError{Kind: "auth", Status: 401, Message: "not authorized", Hint: "look at the credentials"})
	response, body := ask(t, server, "POST", "/v1/load/profiles/p1/look-up", "")
	if p := wantProblem(t, response, body, "load-look-up-failed"); response.StatusCode != 502 || p.LookUp == nil || p.LookUp.Kind != "auth" || p.LookUp.Status != 401 {
		t.Errorf("%s %s", response.Status, body)
	}
}

func TestWhatIsStartedAgainUnderItsKeyIsTheRunThatThereIs(t *testing.T) {
	d := &desk{}
	server := serve(t, d, httpapi.Config{})
	keyed := func(r *http.Request) { r.Header.Set("Idempotency-Key", `"nightly 1"`) }
	d.loads.err = fmt.Errorf("start: %w: it is the run r1", load.ErrRepeated)
	response, body := ask(t, server, "POST", "/v1/load/runs", startBody, func(r *http.Request) { r.Header.Set("Idempotency-Key", "nightly-1") })
	if response.StatusCode != 200 || response.Header.Get("Location") != "/v1/load/runs/r1" || d.loads.start.Key != "nightly-1" {
		t.Errorf("%s %s, key %q", response.Status, body, d.loads.start.Key)
	}
	response, body = ask(t, server, "POST", "/v1/load/runs", startBody, keyed)
	wantProblem(t, response, body, contract.RequestInvalid)
	d.loads.err = fmt.Errorf("start: %w", load.ErrKeyReused)
	response, body = ask(t, server, "POST", "/v1/load/runs", startBody, func(r *http.Request) { r.Header.Set("Idempotency-Key", "nightly-1") })
	wantProblem(t, response, body, "load-key-reused")
}

// The audit says who approved, started and stopped what.
func TestApprovalsStartsAndStopsAreWrittenDown(t *testing.T) {
	g := guard(t)
	for _, step := range [][2]string{{"/v1/load/profiles/p1/approvals", `{"gate_hash":"ab","reason":"r"}`}, {"/v1/load/runs", startBody}, {"/v1/load/runs/r1/stop", ""}} {
		if response, body := ask(t, g.Server, "POST", step[0], step[1], bearer(tokenOf(t, adminSeed))); response.StatusCode >= 400 {
			t.Fatalf("%s: %s %s", step[0], response.Status, body)
		}
	}
	text, err := os.ReadFile(g.audit)
	if err != nil {
		t.Fatal(err)
	}
	var done []string
	for line := range strings.Lines(string(text)) {
		var e struct{ Event, Operation, Load, Query, Name string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Event == "done" {
			done = append(done, e.Operation+" "+e.Load+" "+e.Name+e.Query)
		}
	}
	if want := []string{"approve-load-profile p1 ada", "start-load-run r1 ada", "stop-load-run r1 ada"}; !slices.Equal(done, want) {
		t.Errorf("%q, want %q", done, want)
	}
}

func TestAProfileIsStoredAsTheRevisionThatWasSeen(t *testing.T) {
	d := &desk{}
	server := serve(t, d, httpapi.Config{})
	for _, c := range []struct {
		method, path, body string
		revision, status   int
	}{
		{"POST", "/v1/load/profiles", `{"id":"p1"}`, 0, 201},
		{"PUT", "/v1/load/profiles/p1", `{}`, -1, 200},
		{"PUT", "/v1/load/profiles/p1?revision=4", `{"id":"p1"}`, 4, 200},
		{"PUT", "/v1/load/profiles/p1?revision=-2", `{}`, 0, 422},
		{"PUT", "/v1/load/profiles/p1", `{"id":"p2"}`, 0, 422},
		{"PUT", "/v1/load/profiles/p1", `{"id":"p1","id":"p1"}`, 0, 422},
		{"PUT", "/v1/load/profiles/p1", `{"concurency":4}`, 0, 422},
		{"PUT", "/v1/load/profiles/p1", ``, 0, 422},
	} {
		d.asked = nil
		response, body := ask(t, server, c.method, c.path, c.body)
		if response.StatusCode != c.status || c.status < 300 && (d.loads.revision != c.revision || !slices.Equal(d.asked, []string{"save p1"})) || c.status > 300 && len(d.asked) > 0 {
			t.Errorf("%s %s %s: %s, revision %d, asked %q: %s", c.method, c.path, c.body, response.Status, d.loads.revision, d.asked, body)
		}
	}
}

func TestRunsAreListedPageByPage(t *testing.T) {
	d := &desk{}
	server := serve(t, d, httpapi.Config{})
	for i := range 5 {
		r := sampleRun(load.Ended)
		r.ID, r.Environment = fmt.Sprintf("r%d", i), []string{"dev", "prod"}[i%2]
		d.loads.runs = append(d.loads.runs, &load.RunStatus{Run: r})
	}
	var seen []string
	for path := "?limit=2&environment=dev"; path != ""; {
		response, body := ask(t, server, "GET", "/v1/load/runs"+path, "")
		var page contract.LoadRunList
		if err := json.Unmarshal([]byte(body), &page); err != nil || response.StatusCode != 200 {
			t.Fatalf("%s: %s %s", path, response.Status, body)
		}
		for _, s := range page.Runs {
			seen = append(seen, s.Run.ID)
		}
		link := response.Header.Get("Link")
		if (link == "") != (page.Next == "") {
			t.Fatalf("link %q, next %q", link, page.Next)
		}
		path, _, _ = strings.Cut(strings.TrimPrefix(link, "<"), ">")
	}
	if !slices.Equal(seen, []string{"r0", "r2", "r4"}) {
		t.Errorf("%q", seen)
	}
	response, body := ask(t, server, "GET", "/v1/load/runs?after=gone", "")
	wantProblem(t, response, body, contract.RequestInvalid)
}

// event is one event of a stream.
type runEvent struct{ id, kind, data string }

func runEvents(t *testing.T, server string, last string) (int, []runEvent) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+"/v1/load/runs/r1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var all []runEvent
	var e runEvent
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.kind = value
		case "data":
			e.data = value
		case "":
			if e.kind != "" {
				all = append(all, e)
			}
			e = runEvent{}
		}
	}
	return response.StatusCode, all
}

func statusAt(state load.State, run, progress int) *load.RunStatus {
	s := &load.RunStatus{Run: sampleRun(state)}
	s.Run.Updated = time.Unix(int64(run), 0).UTC()
	if progress > 0 {
		s.Progress = &load.Progress{V: 1, Run: "r1", Recorded: progress, Updated: time.Unix(int64(progress), 0).UTC()}
	}
	return s
}

func TestLR_6_4_AStreamTellsARunToItsEndAndTheLastStateAlways(t *testing.T) {
	d := &desk{}
	server := serve(t, d, httpapi.Config{})
	same := statusAt(load.Running, 1, 2)
	d.loads.statuses = []*load.RunStatus{statusAt(load.Running, 1, 0), same, same, same, statusAt(load.Running, 1, 5), statusAt(load.Ended, 2, 8)}
	begun := time.Now()
	code, events := runEvents(t, server.URL, "")
	took := time.Since(begun)
	var told []string
	for _, e := range events {
		var s load.RunStatus
		if e.kind == "status" {
			if err := json.Unmarshal([]byte(e.data), &s); err != nil {
				t.Fatal(err)
			}
			recorded := 0
			if s.Progress != nil {
				recorded = s.Progress.Recorded
			}
			told = append(told, fmt.Sprintf("%s %d", s.Run.State, recorded))
		} else {
			told = append(told, e.kind)
		}
	}
	if want := []string{"running 0", "running 2", "running 5", "ended 8", "end"}; code != 200 || !slices.Equal(told, want) {
		t.Fatalf("%d: %q, want %q", code, told, want)
	}
	if most := 4*took.Seconds() + 2; float64(len(events)) > most { // the first and the end beside four a second
		t.Errorf("%d events in %s", len(events), took)
	}
	end := events[len(events)-1]
	if code, again := runEvents(t, server.URL, end.id); code != http.StatusNoContent || len(again) > 0 {
		t.Errorf("behind the end: %d %v", code, again)
	}
	if code, again := runEvents(t, server.URL, events[len(events)-2].id); code != 200 || len(again) != 1 || again[0].kind != "end" {
		t.Errorf("behind the last status: %d %v", code, again)
	}
	if _, again := runEvents(t, server.URL, events[0].id); len(again) != 2 || again[0].id != events[len(events)-2].id {
		t.Errorf("behind the first status: %v", again)
	}
}

func TestAStreamTellsThatItsRunWasRemoved(t *testing.T) {
	d := &desk{}
	server := serve(t, d, httpapi.Config{})
	d.loads.statuses = []*load.RunStatus{statusAt(load.Running, 1, 2), nil}
	if _, events := runEvents(t, server.URL, ""); len(events) != 2 || events[1].kind != "removed" || events[1].data != `{"id":"r1"}` {
		t.Errorf("%v", events)
	}
}

// A server that stops does not wait for who watches runs.
func TestAStreamEndsWhenTheServerStops(t *testing.T) {
	d := &desk{stopping: make(chan struct{})}
	server := serve(t, d, httpapi.Config{})
	d.loads.statuses = []*load.RunStatus{statusAt(load.Running, 1, 2)}
	close(d.stopping)
	if code, events := runEvents(t, server.URL, ""); code != 200 || len(events) != 1 {
		t.Errorf("%d %v", code, events)
	}
}

func TestAReportIsGivenInEachFormat(t *testing.T) {
	d := &desk{}
	server := serve(t, d, httpapi.Config{})
	for query, want := range map[string][2]string{"": {"application/json", `"run":"r1"`}, "?format=junit": {"application/xml", "<testsuites"}, "?format=html": {"text/html; charset=utf-8", "r1"}} {
		response, body := ask(t, server, "GET", "/v1/load/runs/r1/report"+query, "")
		if response.StatusCode != 200 || response.Header.Get("Content-Type") != want[0] || !strings.Contains(body, want[1]) ||
			(response.Header.Get("Content-Disposition") == "") != (query == "") || (response.Header.Get("Content-Security-Policy") == "") == (query == "?format=html") {
			t.Errorf("%q: %s %s %.200s", query, response.Status, response.Header.Get("Content-Type"), body)
		}
	}
	response, body := ask(t, server, "GET", "/v1/load/runs/r1/report?format=pdf", "")
	wantProblem(t, response, body, contract.RequestInvalid)
}
