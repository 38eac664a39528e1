package superset

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Bounds of the asynchronous path.
const (
	maxChannels  = 10_000
	maxEvents    = 1000 // kept of a channel
	eventsPerAsk = 100
	maxContexts  = 100_000
)

// jobEvent is a change of a job's status, as the events of a channel tell it.
type jobEvent struct {
	ID        string              `json:"id"`
	Channel   string              `json:"channel_id"`
	Job       string              `json:"job_id"`
	User      int64               `json:"user_id"`
	Status    string              `json:"status"`
	Errors    []map[string]string `json:"errors"`
	ResultURL *string             `json:"result_url"`

	at eventID
}

// eventID orders events: by the millisecond, then by number.
type eventID struct{ ms, n int64 }

func (a eventID) compare(b eventID) int {
	return cmp.Or(cmp.Compare(a.ms, b.ms), cmp.Compare(a.n, b.n))
}

func readEventID(text string) eventID {
	ms, n, _ := strings.Cut(text, "-")
	var id eventID
	id.ms, _ = strconv.ParseInt(ms, 10, 64) // what is no number is the beginning
	id.n, _ = strconv.ParseInt(n, 10, 64)   // likewise
	return id
}

// jobs are the asynchronous runs of v4 and v6. Safe for concurrent use.
type jobs struct {
	mu       sync.Mutex // guards all below
	last     int64
	channels map[string][]*jobEvent
	contexts map[string]*inquiry // stored requests, by the key in a result_url
}

func newJobs() *jobs {
	return &jobs{channels: map[string][]*jobEvent{}, contexts: map[string]*inquiry{}}
}

func (j *jobs) number() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last++
	return j.last
}

func (j *jobs) tell(e jobEvent, now time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last++
	e.at = eventID{now.UnixMilli(), j.last}
	e.ID = fmt.Sprintf("%d-%d", e.at.ms, e.at.n)
	events := j.channels[e.Channel]
	if events == nil && len(j.channels) >= maxChannels {
		return
	}
	if len(events) >= maxEvents {
		events = events[1:]
	}
	j.channels[e.Channel] = append(events, &e)
}

func (j *jobs) after(channel string, id eventID) []*jobEvent {
	j.mu.Lock()
	defer j.mu.Unlock()
	list := []*jobEvent{}
	for _, e := range j.channels[channel] {
		if e.at.compare(id) > 0 && len(list) < eventsPerAsk {
			list = append(list, e)
		}
	}
	return list
}

func (j *jobs) keep(key string, q *inquiry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.contexts) < maxContexts {
		j.contexts[key] = q
	}
}

func (j *jobs) context(key string) *inquiry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.contexts[key]
}

// globalAsync tells whether the feature is on.
func (s *state) globalAsync() bool {
	return s.config.Async && (s.config.Profile == V4 || s.config.Profile == V6)
}

// setChannel reads the async-token, and has the answer set one where it is missing: every answer to a known caller does.
func (x *exchange) setChannel() {
	if !x.st.globalAsync() || x.caller == nil {
		return
	}
	session := x.session()
	if cookie, err := x.r.Cookie("async-token"); err == nil {
		c, err := x.s.tokens.read(cookie.Value, x.s.Now(), x.st.callerName)
		if err == nil && c.Type == asyncToken && c.Subject == x.caller.id() && session != nil && session.Channel == c.Channel {
			x.channel = c.Channel
			return
		}
	}
	channel := fmt.Sprintf("channel-%08d", x.s.jobs.number())
	identity := int64(0)
	if session != nil {
		identity = session.Subject
	}
	x.startSession(identity, channel)
	text := x.s.tokens.sign(claims{Type: asyncToken, Subject: x.caller.id(), Channel: channel}, "", x.s.Now(), sessionTTL)
	http.SetCookie(x, &http.Cookie{Name: "async-token", Value: text, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

// asynchronous answers a request that takes an asynchronous path; false: it takes none.
func (x *exchange) asynchronous(q *inquiry) bool {
	if q.request.ResultType != "full" || q.request.ResultFormat != "json" || x.record.Route != ChartData {
		return false
	}
	switch {
	case x.st.config.Async && x.st.config.Profile == Dev:
		return q.request.AsyncMode && x.submitTasks(q)
	case x.st.globalAsync():
		return !q.request.Force && x.submitJob(q) // the attempt to read the cache alone is skipped by force
	}
	return false
}

// submitJob answers from the cache or hands the request to a job.
func (x *exchange) submitJob(q *inquiry) bool {
	if x.allCached(q) {
		return false
	}
	if x.channel == "" {
		x.fail(http.StatusUnauthorized, message("Not authorized"))
		return true
	}
	job := jobEvent{
		Channel: x.channel, Job: fmt.Sprintf("job-%08d", x.s.jobs.number()), User: x.caller.id(), Status: "pending", Errors: []map[string]string{},
	}
	x.note(q, truthMiss)
	x.s.work(func(ctx context.Context) { q.runJob(ctx, job) })
	x.reply(http.StatusAccepted, map[string]any{
		"channel_id": job.Channel, "job_id": job.Job, "user_id": job.User, "status": job.Status, "errors": job.Errors, "result_url": nil,
	})
	return true
}

// note records what becomes of a request whose queries are executed later.
func (x *exchange) note(q *inquiry, truth string) {
	for _, object := range q.request.queries {
		x.truths = append(x.truths, Truth{cacheKey(q.set, object, q.clauses, object.limit(x.st.config.Data.MaxRows)), truth})
	}
}

// allCached tells whether the cache alone can answer.
func (x *exchange) allCached(q *inquiry) bool {
	for i := range q.request.queries {
		if !q.cached(i) {
			return false
		}
	}
	return true
}

func (q *inquiry) cached(i int) bool {
	object := q.request.queries[i]
	if q.st.timeout(q.request, q.set) == -1 {
		return false
	}
	return q.s.cache.get(q.st.config.Cache, cacheKey(q.set, object, q.clauses, object.limit(q.st.config.Data.MaxRows)), q.s.Now()) != nil
}

// work does something in the background until the server closes.
func (s *Server) work(do func(ctx context.Context)) {
	if s.background.Err() != nil {
		return
	}
	s.working.Go(func() { do(s.background) })
}

func (q *inquiry) runJob(ctx context.Context, job jobEvent) {
	job.Status = "running"
	q.s.jobs.tell(job, q.s.Now())
	for i := range q.request.queries {
		if _, err := q.ask(ctx, i, byRequest); err != nil {
			job.Status, job.Errors = "error", []map[string]string{{"message": err.Error()}}
			q.s.jobs.tell(job, q.s.Now())
			return
		}
	}
	key := fmt.Sprintf("qc-%016x", mix(q.chance))
	q.s.jobs.keep(key, q)
	url := "/api/v1/chart/data/" + key
	job.Status, job.ResultURL = "done", &url
	q.s.jobs.tell(job, q.s.Now())
}

// asyncEvents is GET /api/v1/async_event/.
func (x *exchange) asyncEvents() {
	if !x.need(CanListEvents) {
		return
	}
	if !x.st.globalAsync() {
		x.fail(http.StatusNotFound, message("Not found"))
		return
	}
	if x.channel == "" {
		x.fail(http.StatusUnauthorized, message("Not authorized"))
		return
	}
	events := x.s.jobs.after(x.channel, readEventID(x.r.URL.Query().Get("last_id")))
	x.reply(http.StatusOK, map[string]any{"result": events})
}

// cachedChartData is GET /api/v1/chart/data/<key>: the answer of a job.
func (x *exchange) cachedChartData() {
	if !x.need(CanReadChart) {
		return
	}
	stored := x.s.jobs.context(x.r.PathValue("key"))
	if stored == nil {
		x.fail(http.StatusNotFound, message("Not found"))
		return
	}
	q := *stored
	if q.st.timeout(q.request, q.set) == -1 {
		x.fail(http.StatusNotFound, message("Not found"))
		return
	}
	if !x.mayRead(q.request, q.set) && !slices.Equal(q.clauses, x.st.world.clauses(q.set.ID, x.caller.roles, x.caller.guestRules())) {
		x.datasetForbidden(q.set)
		return
	}
	q.clauses = x.st.world.clauses(q.set.ID, x.caller.roles, x.caller.guestRules())
	for i := range q.request.queries {
		if !q.cached(i) {
			x.fail(http.StatusUnprocessableEntity, message("Error loading data from cache"))
			return
		}
	}
	x.answerNow(&q, fromCache)
}
