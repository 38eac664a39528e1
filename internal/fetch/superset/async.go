package superset

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/tidwall/gjson"

	"github.com/braidhq/braid/pkg/load"
)

const (
	eventsPath    = "/api/v1/async_event/"
	statusPath    = "/api/v1/task/status_changes"
	pollEvery     = 500 * time.Millisecond // as a browser does
	eventsPerCall = 100
	callsAtOnce   = 50 // for events, before the next wait
	pollsForAll   = 4
)

// asyncRun is a request that the server runs in the background (A9).
type asyncRun struct {
	job   string   // of servers up to 6; empty: tasks
	tasks []string // of later ones, one for each query that is not in the cache
	last  string   // event or cursor that polling goes on behind
	polls int
}

// settle says what the answer that is read back tells of the cache: nothing, so the states are those of the submission (LR-4.5).
func (a *asyncRun) settle(queries []load.QueryOutcome, force bool) {
	var tasks *int
	if a.job == "" {
		n := len(a.tasks)
		tasks = &n
	}
	states, reason := load.AsyncCacheStates(&force, len(queries), tasks)
	for i := range queries {
		if i < len(states) {
			queries[i].State, queries[i].Reason = states[i], ""
			if states[i] == load.Unknown {
				queries[i].Reason = reason
			}
		}
	}
}

// identifier is what may stand in a path or a list of a server's own names.
var identifier = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,200}$`)

// accepted follows an asynchronous answer to its end.
func (x *execution) accepted(ctx context.Context, response *http.Response, t token) error {
	x.answer.Status, x.answer.Async = response.StatusCode, true
	body, err := decoded(response, response.Body)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(body, maxRefusalBytes))
	if err != nil {
		return err
	}
	if !x.request.Async {
		x.finish()
		x.failAs(load.BadBody, "HTTP 202: the environment answers asynchronously; set `async: true` in the block `environment` of its definition to have that followed and measured")
		return nil
	}
	run, ok := asyncOf(text)
	if !ok {
		x.finish()
		x.failAs(load.BadBody, "HTTP 202: the answer names neither a job nor tasks")
		return nil
	}
	done, err := x.follow(ctx, run)
	if err != nil {
		if f, refused := errors.AsType[*failure](err); refused {
			x.finish()
			x.fail(f)
			return nil
		}
		return err
	}
	x.answer.Polls++
	done.jar, done.header = &x.who.jar, x.who.headers(x.latest(t))
	final, err := x.client.send(ctx, done)
	if err != nil {
		return err
	}
	defer final.Body.Close() //nolint:errcheck // what was needed of it was read
	if final.StatusCode == http.StatusAccepted {
		x.finish()
		x.failAs(load.BadBody, "HTTP 202: what had run is asked to run again")
		return nil
	}
	return x.read(ctx, final, run)
}

// latest is the identity's token now, which polling may have renewed.
func (x *execution) latest(t token) token {
	if now := x.who.pass.current(); now.Generation > t.Generation {
		return now
	}
	return t
}

func asyncOf(text []byte) (*asyncRun, bool) {
	run := &asyncRun{job: gjson.GetBytes(text, "job_id").String(), last: gjson.GetBytes(text, "cursor").String()}
	if run.job != "" {
		run.last = ""
		return run, identifier.MatchString(run.job)
	}
	ok := true
	gjson.GetBytes(text, "task_ids").ForEach(func(_, id gjson.Result) bool {
		run.tasks = append(run.tasks, id.String())
		ok = identifier.MatchString(id.String()) && len(run.tasks) <= maxQueries
		return ok
	})
	return run, ok && len(run.tasks) > 0
}

// follow polls until the run has ended, and gives the request that reads its answer.
func (x *execution) follow(ctx context.Context, run *asyncRun) (call, error) {
	open := map[string]bool{}
	for _, id := range run.tasks {
		open[id] = true
	}
	for {
		if err := wait(ctx, pollEvery-x.client.jitter(pollEvery/5)); err != nil {
			return call{}, err
		}
		var (
			done  call
			ended bool
			err   error
		)
		if run.job != "" {
			done, ended, err = x.pollEvents(ctx, run)
		} else {
			done, ended, err = x.pollTasks(ctx, run, open)
		}
		if err != nil || ended {
			return done, err
		}
	}
}

// pollEvents reads the session's events, of which other requests have theirs too, up to the present one, or as many as are read at
// once.
func (x *execution) pollEvents(ctx context.Context, run *asyncRun) (done call, ended bool, err error) {
	for range callsAtOnce {
		what := call{method: http.MethodGet, path: eventsPath}
		if run.last != "" {
			what.query = url.Values{"last_id": {run.last}}
		}
		x.answer.Polls++
		answer, err := x.who.ask(ctx, what)
		if err != nil {
			return call{}, false, err
		}
		events := gjson.GetBytes(answer, "result").Array()
		for _, event := range events {
			if id := event.Get("id").String(); identifier.MatchString(id) {
				run.last = id
			}
			if event.Get("job_id").String() != run.job {
				continue
			}
			switch event.Get("status").String() {
			case "done":
				done, err := resultCall(event.Get("result_url").String())
				return done, true, err
			case "error":
				return call{}, false, taskFailure(event.Get("errors"))
			}
		}
		if len(events) < eventsPerCall {
			break
		}
	}
	return call{}, false, nil
}

var resultPath = regexp.MustCompile(`/api/v1/chart/data/([A-Za-z0-9_.-]{1,200})$`)

// resultCall reads the address that the server names an answer by. Of it only the name of the answer is used.
func resultCall(address string) (call, error) {
	u, err := url.Parse(address)
	if err == nil {
		if match := resultPath.FindStringSubmatch(u.Path); match != nil {
			return call{method: http.MethodGet, path: dataPath + "/" + match[1]}, nil
		}
	}
	return call{}, &failure{Kind: load.BadBody, Message: fmt.Sprintf("the server names the answer by %.100q, which is not its address", address)}
}

func taskFailure(errs gjson.Result) *failure {
	text := errs.Get("0.message").String()
	if text == "" {
		text = errs.String()
	}
	if text == "" {
		text = "the server does not say why"
	}
	return &failure{Kind: load.QueryFailed, Message: "the query failed in the background: " + clip(text)}
}

// pollTasks reads how the tasks stand. When all have succeeded, the answer is read with the same request again.
func (x *execution) pollTasks(ctx context.Context, run *asyncRun, open map[string]bool) (done call, ended bool, err error) {
	cursor := run.last
	if run.polls++; run.polls%pollsForAll == 0 {
		cursor = "" // a task that had ended before the cursor was made is in no later news
	}
	what := call{method: http.MethodGet, path: statusPath, query: url.Values{"cursor": {cursor}}}
	x.answer.Polls++
	answer, err := x.who.ask(ctx, what)
	if err != nil {
		return call{}, false, err
	}
	if cursor := gjson.GetBytes(answer, "cursor").String(); cursor != "" && len(cursor) <= 200 {
		run.last = cursor
	}
	statuses := gjson.GetBytes(answer, "statuses").Map()
	for id := range open {
		switch status := statuses[id].Get("status").String(); status {
		case "success":
			delete(open, id)
		case "failure", "failed", "error", "aborted", "timed_out", "cancelled":
			return call{}, false, &failure{Kind: load.QueryFailed, Message: "the query ended in the background as " + status}
		}
	}
	if len(open) > 0 {
		return call{}, false, nil
	}
	return call{method: http.MethodPost, path: dataPath, body: x.body}, true, nil
}

// asTasks asks for the request to be run as tasks, each query of a forced one with a mark, so that the same request, sent again to read the answer, is
// known not to force another run.
func asTasks(body []byte, force bool) ([]byte, error) {
	var request map[string]json.RawMessage
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	request["async_mode"] = json.RawMessage("true")
	if force {
		var queries []map[string]json.RawMessage
		if err := json.Unmarshal(request["queries"], &queries); err != nil {
			return nil, err
		}
		for _, query := range queries {
			query["force_nonce"] = json.RawMessage(`"` + rand.Text() + `"`)
		}
		var err error
		if request["queries"], err = json.Marshal(queries); err != nil {
			return nil, err
		}
	}
	return json.Marshal(request)
}

// hasTasks tells whether the server has tasks that this identity may read. Servers up to 6 have none and refuse a request that speaks of them, so
// they are asked, once for each identity.
func (who *identity) hasTasks(ctx context.Context) (bool, error) {
	who.mu.Lock()
	asked, has := who.tasksAsked, who.tasks
	who.mu.Unlock()
	if asked {
		return has, nil
	}
	answer, err := who.ask(ctx, call{method: http.MethodGet, path: statusPath, query: url.Values{"cursor": {""}}})
	if f, refused := errors.AsType[*failure](err); err != nil && (!refused || f.Status == 0 || f.Status >= 500) {
		return false, err
	}
	who.mu.Lock()
	defer who.mu.Unlock()
	who.tasksAsked, who.tasks = true, err == nil && gjson.GetBytes(answer, "statuses").IsObject()
	return who.tasks, nil
}
