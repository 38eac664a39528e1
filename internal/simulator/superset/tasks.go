package superset

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// maxTasks bounds what is kept of tasks.
const maxTasks = 100_000

// cursorLayout is how a cursor of status changes looks.
const cursorLayout = "2006-01-02T15:04:05.000000"

// task executes one query object for dev.
type task struct {
	uuid     string
	caller   string
	key      string
	nonce    string
	status   string // pending, in_progress, success, failure or aborted
	problem  string
	changed  int64 // number of the last change
	progress *float64
	cancel   context.CancelFunc
}

// tasks is the task framework of dev. Safe for concurrent use.
type tasks struct {
	mu     sync.Mutex // guards all below and what the tasks hold
	change int64
	byUUID map[string]*task
	active map[string]*task // of tasks that have not ended: by key, forced ones with their nonce
	spent  map[string]bool  // key and nonce of forced tasks that succeeded
	order  []string
}

func newTasks() *tasks {
	return &tasks{byUUID: map[string]*task{}, active: map[string]*task{}, spent: map[string]bool{}}
}

// cursor shows the number of a change as a time after the server's start.
func (s *state) cursor(change int64) string {
	return s.origin.UTC().Truncate(time.Microsecond).Add(time.Duration(change) * time.Microsecond).Format(cursorLayout)
}

func (s *state) readCursor(text string) int64 {
	at, err := time.Parse(cursorLayout, text)
	if err != nil {
		return 0 // the beginning
	}
	return at.Sub(s.origin.UTC().Truncate(time.Microsecond)).Microseconds()
}

// submitTasks answers 202 with a task for each query that the cache cannot answer; false: it can answer all, or tasks are not for this request.
func (x *exchange) submitTasks(q *inquiry) bool {
	if !x.caller.can(x.st.world, CanReadTask) || q.st.timeout(q.request, q.set) == -1 || x.st.config.Cache == CacheNull {
		return false
	}
	ids := []string{}
	for i, object := range q.request.queries {
		key := cacheKey(q.set, object, q.clauses, object.limit(x.st.config.Data.MaxRows))
		if q.request.Force {
			if object.nonce != "" && x.s.tasks.used(key, object.nonce) && q.cached(i) {
				continue
			}
		} else if q.cached(i) {
			continue
		}
		truth := truthMiss
		if q.request.Force {
			truth = truthBypassed
		}
		x.truths = append(x.truths, Truth{key, truth})
		ids = append(ids, x.s.startTask(q, i, key, x.caller.name))
	}
	if len(ids) == 0 {
		x.answerNow(q, unforced)
		return true
	}
	x.s.tasks.mu.Lock()
	cursor := x.st.cursor(x.s.tasks.change)
	x.s.tasks.mu.Unlock()
	out := map[string]any{"task_ids": ids, "cursor": cursor}
	if q.request.TabID != "" {
		out["tab_id"] = q.request.TabID
	}
	x.reply(http.StatusAccepted, out)
	return true
}

func (t *tasks) used(key, nonce string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.spent[key+" "+nonce]
}

// startTask begins a task, or joins one that executes the same query.
func (s *Server) startTask(q *inquiry, i int, key, caller string) string {
	t := s.tasks
	t.mu.Lock()
	defer t.mu.Unlock()
	nonce := q.request.queries[i].nonce
	name := key
	if q.request.Force {
		name += " " + nonce
	}
	if other := t.active[name]; other != nil && other.caller == caller && (!q.request.Force || nonce != "") {
		return other.uuid
	}
	t.change++
	h := mix(uint64(t.change) ^ q.st.config.Seed)
	begun := &task{
		uuid: fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", uint32(h), uint16(h>>32), h>>48&0xfff, h>>52&0xfff, uint64(t.change)), caller: caller, key: key, nonce: nonce,
		status: "pending", changed: t.change,
	}
	ctx, cancel := context.WithCancel(s.background)
	begun.cancel = cancel
	t.byUUID[begun.uuid], t.active[name] = begun, begun
	if t.order = append(t.order, begun.uuid); len(t.order) > maxTasks {
		delete(t.byUUID, t.order[0])
		t.order = t.order[1:]
	}
	s.work(func(context.Context) {
		defer cancel()
		s.runTask(ctx, begun, name, q, i)
	})
	return begun.uuid
}

func (s *Server) runTask(ctx context.Context, task *task, name string, q *inquiry, i int) {
	t := s.tasks
	if !t.set(task, "in_progress", "") {
		return
	}
	_, err := q.ask(ctx, i, byRequest)
	t.mu.Lock()
	delete(t.active, name)
	if err == nil && q.request.Force && task.nonce != "" && len(t.spent) < maxTasks {
		t.spent[task.key+" "+task.nonce] = true
	}
	t.mu.Unlock()
	if err != nil {
		t.set(task, "failure", err.Error())
		return
	}
	t.set(task, "success", "")
}

// set changes the status unless the task has ended.
func (t *tasks) set(task *task, status, problem string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if task.status != "pending" && task.status != "in_progress" {
		return false
	}
	t.change++
	task.status, task.problem, task.changed = status, problem, t.change
	return true
}

// taskStatus is GET /api/v1/task/status_changes.
func (x *exchange) taskStatus() {
	if !x.need(CanReadTask) {
		return
	}
	if x.st.config.Profile != Dev || !x.st.config.Async {
		x.fail(http.StatusNotFound, message("Not found"))
		return
	}
	since := x.st.readCursor(x.r.URL.Query().Get("cursor"))
	t := x.s.tasks
	t.mu.Lock()
	statuses := map[string]any{}
	for _, task := range t.byUUID {
		if task.caller == x.caller.name && task.changed > since {
			status := map[string]any{"status": task.status, "progress": task.progress}
			if task.problem != "" {
				status["error_message"] = task.problem
			}
			statuses[task.uuid] = status
		}
	}
	cursor := x.st.cursor(t.change)
	t.mu.Unlock()
	x.reply(http.StatusOK, map[string]any{"statuses": statuses, "cursor": cursor})
}

// cancelTask is POST /api/v1/task/<uuid>/cancel.
func (x *exchange) cancelTask() {
	if !x.need(CanReadTask) || !x.csrfHolds(x.r.Header.Get("X-CSRFToken")) {
		return
	}
	x.s.tasks.mu.Lock()
	task := x.s.tasks.byUUID[x.r.PathValue("uuid")]
	x.s.tasks.mu.Unlock()
	if task == nil || task.caller != x.caller.name {
		x.fail(http.StatusNotFound, message("Not found"))
		return
	}
	if !x.s.tasks.set(task, "aborted", "") {
		x.fail(http.StatusUnprocessableEntity, message("Task has ended"))
		return
	}
	task.cancel()
	x.reply(http.StatusOK, map[string]string{"message": "Task cancelled", "action": "aborted"})
}
