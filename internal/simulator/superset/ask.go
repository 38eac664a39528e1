package superset

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// The truths of a query object.
const (
	truthHit      = "hit"
	truthMiss     = "miss"
	truthBypassed = "bypassed"
	truthDisabled = "disabled"
)

// errNotCached says that the cache alone cannot answer.
var errNotCached = errors.New("not in the cache")

// failedQuery is an error of the database: its text follows "Error: " in a 400.
type failedQuery struct{ text string }

func (e *failedQuery) Error() string { return e.text }

// inquiry is one request's wish for results, whether it is served at once or by a job.
type inquiry struct {
	s       *Server
	st      *state
	request *chartRequest
	set     *Dataset
	clauses []string
	chance  uint64 // of the request: durations and orders are drawn from it
	ordinal int    // of the chart/data request
	fault   Fault
}

// result is what came of one query object.
type result struct {
	rows    *rowset
	key     string
	timeout int64
	cached  bool      // as is_cached says
	stored  time.Time // cached_dttm; zero: null
	queried time.Time
	dates   interval // of the time range at the time of the request
	truth   string
}

// ways of asking.
type way int

const (
	byRequest way = iota // as the request's force says
	fromCache            // or not at all
	unforced             // although the request says force
)

// ask gives the result of query object i. Its errors are errNotCached, *invalidQuery, *failedQuery, and the context's.
func (q *inquiry) ask(ctx context.Context, i int, how way) (*result, error) {
	object := q.request.queries[i]
	r := &result{
		key: cacheKey(q.set, object, q.clauses, object.limit(q.st.config.Data.MaxRows)), timeout: q.st.timeout(q.request, q.set), truth: truthMiss,
	}
	text, _ := object.rangeText()
	now := q.s.Now()
	var err error
	if r.dates, err = resolve(text, now); err != nil {
		return nil, &invalidQuery{err.Error()}
	}
	forced := q.request.Force && how == byRequest
	if !forced && r.timeout != -1 {
		if e := q.s.cache.get(q.st.config.Cache, r.key, now); e != nil {
			r.rows, r.cached, r.stored, r.queried, r.truth = e.rows, true, e.stored, e.queried, truthHit
			recompute := q.st.config.Profile == Dev && len(object.Filters) > 0 && len(e.applied) == 0
			if !recompute {
				return r, sleep(ctx, q.st.config.Latency.Hit)
			}
			r.truth = truthMiss
		}
	}
	switch {
	case how == fromCache:
		return nil, errNotCached
	case forced:
		r.truth = truthBypassed
	case r.timeout == -1:
		r.truth = truthDisabled
	}
	if err := q.query(ctx, i, object, r); err != nil {
		return nil, err
	}
	q.store(r, forced)
	return r, nil
}

// query has the database make the rows.
func (q *inquiry) query(ctx context.Context, i int, object *query, r *result) error {
	latency := q.st.config.Latency
	chance := mix(q.chance + uint64(i))
	rows, err := q.st.execute(q.set, object, q.clauses, q.s.Now(), chance)
	if err != nil {
		return err
	}
	if err := q.s.database.take(ctx); err != nil {
		return err
	}
	defer q.s.database.give()
	spread := latency.Base
	if own, ok := latency.Charts[q.request.slice]; ok {
		spread = own
	}
	factor := 1.0
	for _, step := range latency.Steps {
		if q.ordinal >= step.From {
			factor = step.Factor
		}
	}
	takes := min(float64(spread.draw(chance)+time.Duration(rows.count)*latency.PerRow)*factor, float64(MaxWait))
	if err := sleep(ctx, time.Duration(takes)); err != nil {
		return err
	}
	if q.fault.Action == QueryFailed && q.fault.Query == i {
		return &failedQuery{first(q.fault.Message, "canceling statement due to statement timeout")}
	}
	if q.fault.Action == RejectFilter {
		rows.reject(q.fault.Column)
	}
	r.rows, r.queried = rows, q.s.Now()
	return nil
}

// store puts a result into the cache, also a forced one.
func (q *inquiry) store(r *result, forced bool) {
	if r.timeout == -1 {
		return
	}
	e := &entry{
		key: r.key, stored: r.queried, queried: r.queried, rows: r.rows, bytes: r.rows.bytes(), applied: r.rows.applied, dataset: q.set.ID, forced: forced,
	}
	if q.st.config.CacheForgets {
		e.applied = nil
	}
	if r.timeout > 0 {
		e.expires = r.queried.Add(time.Duration(r.timeout) * time.Second)
	}
	q.s.cache.put(&q.st.config, e)
	if forced {
		q.s.seen.note(func(s *Stats) { s.ForcedWrites++ })
	}
}

// reject moves a column's filters, or all of them if column is empty, to those that were not applied.
func (r *rowset) reject(column string) {
	var applied []string
	for _, name := range r.applied {
		if column == "" || name == column {
			r.rejected = append(r.rejected, name)
		} else {
			applied = append(applied, name)
		}
	}
	r.applied = applied
}

func sleep(ctx context.Context, d time.Duration) error {
	if !pause(ctx, d) {
		return ctx.Err()
	}
	return nil
}

// inquiry is what the exchange asks for.
func (x *exchange) inquiry(c *chartRequest, set *Dataset) *inquiry {
	ordinal := x.record.RouteOrdinal
	if x.record.Route != ChartData {
		ordinal = x.s.seen.route(ChartData).Requests
	}
	return &inquiry{
		s: x.s, st: x.st, request: c, set: set, ordinal: ordinal, fault: x.fault.fault,
		clauses: x.st.world.clauses(set.ID, x.caller.roles, x.caller.guestRules()),
		chance:  hashText(x.st.config.Seed, x.caller.name, x.record.PayloadHash, strconv.Itoa(x.record.Attempt)),
	}
}
