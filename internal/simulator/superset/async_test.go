package superset_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/simulator/superset"
)

type submitted struct {
	Job     string   `json:"job_id"`
	Channel string   `json:"channel_id"`
	User    int64    `json:"user_id"`
	Status  string   `json:"status"`
	Tasks   []string `json:"task_ids"`
	Cursor  string   `json:"cursor"`
	Tab     string   `json:"tab_id"`
}

func (a answer) submitted(t *testing.T) submitted {
	t.Helper()
	var out submitted
	if err := json.Unmarshal(a.body, &out); err != nil || a.status != http.StatusAccepted {
		t.Fatalf("status %d, %v: %.300s", a.status, err, a.body)
	}
	return out
}

// finish polls until a job has ended. Each poll is an exchange with the server, so that a job gets on meanwhile.
func (r *rig) finish(header http.Header, job string) (status, url string, problems []string, seen []string) {
	r.t.Helper()
	last := ""
	for r.t.Context().Err() == nil {
		a := r.send("GET", "/api/v1/async_event/?last_id="+last, header, "")
		var out struct {
			Result []struct {
				ID, Status string
				Job        string                     `json:"job_id"`
				URL        string                     `json:"result_url"`
				Errors     []struct{ Message string } `json:"errors"`
			} `json:"result"`
		}
		if err := json.Unmarshal(a.body, &out); err != nil || a.status != http.StatusOK {
			r.t.Fatalf("status %d, %v: %s", a.status, err, a.body)
		}
		for _, e := range out.Result {
			last = e.ID
			if e.Job != job {
				continue
			}
			seen = append(seen, e.Status)
			for _, problem := range e.Errors {
				problems = append(problems, problem.Message)
			}
			if e.Status != "running" {
				return e.Status, e.URL, problems, seen
			}
		}
	}
	r.t.Fatal("the job did not end")
	return
}

func TestEveryRequestIsAJobWhereTheFeatureIsOn(t *testing.T) {
	t.Parallel()
	for _, profile := range []superset.Profile{superset.V4, superset.V6} {
		t.Run(string(profile), func(t *testing.T) {
			t.Parallel()
			r := start(t, superset.Config{Profile: profile, Async: true})
			who := r.login("alpha")

			// Without the cookie the token is not enough, and the refusal itself sets it.
			if a := r.ask(who, 101, ""); a.status != http.StatusUnauthorized || a.message() != "Not authorized" {
				t.Errorf("without async-token: %d %s", a.status, a.body)
			}
			job := r.ask(who, 101, "").submitted(t)
			if job.Status != "pending" || job.User != 2 || job.Channel == "" {
				t.Errorf("submitted: %+v", job)
			}
			status, url, _, seen := r.finish(who, job.Job)
			if status != "done" || !slices.Equal(seen, []string{"running", "done"}) || !strings.HasPrefix(url, "/api/v1/chart/data/qc-") {
				t.Fatalf("ended as %s, %s, by %v", status, url, seen)
			}
			object := r.send("GET", url, who, "").fields(t)[0]
			if got := cacheFields(object); got != seenFields(`"2026-09-01T10:00:00"`) {
				t.Errorf("read back: %+v", got)
			}
			// What is cached is answered at once.
			if got := cacheFields(r.ask(who, 101, "").fields(t)[0]); got.isCached != "true" {
				t.Errorf("cached: %+v", got)
			}
			// Force is executed inline.
			if got := cacheFields(r.ask(who, 101, `{"force": true}`).fields(t)[0]); got.isCached != "null" {
				t.Errorf("forced: %+v", got)
			}
			if got := cacheFields(r.ask(who, 102, `{"force": true}`).fields(t)[0]); got.isCached != "null" {
				t.Errorf("forced, never asked before: %+v", got)
			}
			// So is what is not full JSON.
			if a := r.ask(who, 104, `{"result_type": "results"}`); a.status != http.StatusOK {
				t.Errorf("results: %d", a.status)
			}
			// An entry that has gone is 422, a request that has gone 404.
			var key string
			if err := json.Unmarshal(object["cache_key"], &key); err != nil || !r.Forget(key) {
				t.Fatalf("no entry %q: %v", key, err)
			}
			if a := r.send("GET", url, who, ""); a.status != http.StatusUnprocessableEntity {
				t.Errorf("entry gone: %d", a.status)
			}
			if a := r.send("GET", "/api/v1/chart/data/qc-nothing", who, ""); a.status != http.StatusNotFound {
				t.Errorf("request gone: %d", a.status)
			}
			// With caching off the way ends in 404.
			job = r.ask(who, 105, "").submitted(t)
			if _, url, _, _ = r.finish(who, job.Job); r.send("GET", url, who, "").status != http.StatusNotFound {
				t.Error("caching off: was read back")
			}
		})
	}
}

func seenFields(cached string) seen { return seen{"true", cached, "86400", ""} }

func TestAJobThatFails(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{Profile: superset.V6, Async: true, Faults: []superset.Fault{{Action: superset.QueryFailed, Query: 1}}})
	who := r.login("alpha")
	r.csrf(who)
	job := r.ask(who, 103, "").submitted(t)
	if status, _, problems, _ := r.finish(who, job.Job); status != "error" || len(problems) != 1 {
		t.Errorf("ended as %s, %v", status, problems)
	}
	if len(r.Cache()) != 1 {
		t.Errorf("the query before it is stored: %+v", r.Cache())
	}
}

func TestEventsOfASessionComeAHundredAtATime(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{Profile: superset.V4, Async: true})
	who := r.login("alpha")
	r.csrf(who)
	var last submitted
	for i := range 70 { // 140 events
		last = r.ask(who, 101, fmt.Sprintf(`{"queries": [{"columns": ["region"], "metrics": ["orders"], "row_limit": %d}]}`, i+1)).submitted(t)
	}
	if status, _, _, _ := r.finish(who, last.Job); status != "done" {
		t.Errorf("ended as %s", status)
	}
	r.Close() // and with it all jobs
	var out struct{ Result []any }
	a := r.send("GET", "/api/v1/async_event/", who, "")
	if err := json.Unmarshal(a.body, &out); err != nil || len(out.Result) != 100 {
		t.Errorf("%d events, %v", len(out.Result), err)
	}
	jar := r.jar
	r.jar = nil
	if a := r.send("GET", "/api/v1/async_event/", who, ""); a.status != http.StatusUnauthorized {
		t.Errorf("without the cookie: %d", a.status)
	}
	r.jar = jar
}

// settle polls until all tasks have ended and gives their statuses.
func (r *rig) settle(header http.Header, ids []string, cursor string) map[string]string {
	r.t.Helper()
	ended := map[string]string{}
	for r.t.Context().Err() == nil && len(ended) < len(ids) {
		a := r.send("GET", "/api/v1/task/status_changes?cursor="+cursor, header, "")
		var out struct {
			Statuses map[string]struct{ Status string }
			Cursor   string
		}
		if err := json.Unmarshal(a.body, &out); err != nil || a.status != http.StatusOK {
			r.t.Fatalf("status %d, %v: %s", a.status, err, a.body)
		}
		cursor = out.Cursor
		for id, s := range out.Statuses {
			if slices.Contains(ids, id) && s.Status != "pending" && s.Status != "in_progress" {
				ended[id] = s.Status
			}
		}
	}
	return ended
}

func TestTasksOfTheDevelopmentLine(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{Async: true})
	who := r.login("alpha")
	if a := r.ask(who, 104, ""); a.status != http.StatusOK {
		t.Errorf("without async_mode: %d", a.status)
	}
	first := r.ask(who, 103, `{"async_mode": true, "tab_id": "t-1"}`).submitted(t)
	if len(first.Tasks) != 2 || first.Cursor == "" || first.Tab != "t-1" {
		t.Fatalf("submitted: %+v", first)
	}
	for id, status := range r.settle(who, first.Tasks, "") {
		if status != "success" {
			t.Errorf("task %s: %s", id, status)
		}
	}
	objects := r.ask(who, 103, `{"async_mode": true}`).fields(t)
	if string(objects[0]["is_cached"]) != "true" || string(objects[1]["is_cached"]) != "true" {
		t.Errorf("the same request again: %s, %s", objects[0]["is_cached"], objects[1]["is_cached"])
	}
	var key string
	if err := json.Unmarshal(objects[1]["cache_key"], &key); err != nil || !r.Forget(key) {
		t.Fatal(err)
	}
	if again := r.ask(who, 103, `{"async_mode": true}`).submitted(t); len(again.Tasks) != 1 {
		t.Errorf("one of two missed: %+v", again)
	}

	// By force: a task for each query, whose results are read with the same nonces.
	force := `{"async_mode": true, "force": true, "force_nonce": ["n-1", "n-2"]}`
	forced := r.ask(who, 103, force).submitted(t)
	if got := r.settle(who, forced.Tasks, first.Cursor); len(got) != 2 {
		t.Errorf("forced: %v", got)
	}
	objects = r.ask(who, 103, force).fields(t)
	if string(objects[0]["is_cached"]) != "true" || string(objects[0]["cached_dttm"]) == "null" {
		t.Errorf("forced, read back: %s", objects[0]["is_cached"])
	}
	if again := r.ask(who, 103, `{"async_mode": true, "force": true, "force_nonce": ["n-3", "n-4"]}`).submitted(t); len(again.Tasks) != 2 {
		t.Errorf("other nonces: %+v", again)
	}
	for name, members := range map[string]string{
		"caching off": `{"async_mode": true, "custom_cache_timeout": -1}`, "results": `{"async_mode": true, "result_type": "results"}`,
	} {
		if a := r.ask(who, 101, members); a.status != http.StatusOK {
			t.Errorf("%s: %d", name, a.status)
		}
	}
}

func TestATaskIsCancelled(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{Async: true, Latency: superset.Latency{Base: superset.Distribution{Low: superset.MaxWait}}})
	who := r.login("alpha")
	task := r.ask(who, 101, `{"async_mode": true}`).submitted(t)
	path := "/api/v1/task/" + task.Tasks[0] + "/cancel"
	if a := r.send("POST", path, who, "{}"); a.status != http.StatusBadRequest {
		t.Errorf("it is not exempt from CSRF: %d", a.status)
	}
	who.Set("X-Csrftoken", r.csrf(who))
	if a := r.send("POST", path, who, "{}"); a.status != http.StatusOK {
		t.Errorf("cancel: %d %s", a.status, a.body)
	}
	if got := r.settle(who, task.Tasks, ""); got[task.Tasks[0]] != "aborted" {
		t.Errorf("ended as %v", got)
	}
	if a := r.send("POST", "/api/v1/task/none/cancel", who, "{}"); a.status != http.StatusNotFound {
		t.Errorf("none: %d", a.status)
	}
}
