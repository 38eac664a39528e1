package load

import (
	"fmt"
	"strconv"
	"time"
)

// signs are what diagnostics are made of.
type signs struct {
	bad, rejected, forced, relative, sync, async int
	upstream, lag                                time.Duration // of all that completed
	misses                                       map[string]*missed
}

// missed is what was seen of one key of the server's cache.
type missed struct {
	stored  time.Time     // when the first answer that missed had come, and the server may have stored it
	lasts   time.Duration // how long the server said that it keeps it; 0: for ever
	again   int           // later requests that missed although it had not run out
	everHit bool
}

// maxCacheKeys bounds how many keys are looked at.
const maxCacheKeys = 50_000

func (s *signs) add(e *Execution) {
	if len(e.Rejected) > 0 {
		s.rejected++
	}
	if e.Outcome.Completed() {
		s.upstream += e.Waits.Upstream
		s.lag += e.ReaderLag
	}
	if e.Outcome != Success {
		return
	}
	if e.Force {
		s.forced++
		return
	}
	if e.Async {
		s.async++
		return
	}
	s.sync++
	for i := range e.Queries {
		s.addQuery(e, &e.Queries[i])
	}
}

// addQuery looks for one key that misses again within its time (LR-4.7). Requests that were under way together miss together: only one that was admitted
// after the other's answer counts.
func (s *signs) addQuery(e *Execution, q *QueryOutcome) {
	key, ok := jsonText(q.CacheKey)
	if !ok || key == "" || q.State != Miss && q.State != Hit {
		return
	}
	m := s.misses[key]
	if m == nil {
		seconds, err := strconv.ParseInt(string(q.CacheTimeout), 10, 64)
		if err != nil || seconds < 0 || len(s.misses) >= maxCacheKeys {
			return
		}
		if s.misses == nil {
			s.misses = make(map[string]*missed)
		}
		m = &missed{stored: e.Finished, lasts: time.Duration(min(seconds, 1<<32)) * time.Second, everHit: q.State == Hit}
		s.misses[key] = m
		return
	}
	switch {
	case q.State == Hit:
		m.everHit = true
	case e.Admitted.After(m.stored) && (m.lasts == 0 || e.Admitted.Before(m.stored.Add(m.lasts))):
		m.again++
	case e.Finished.Before(m.stored):
		m.stored = e.Finished
	}
}

func (s *signs) missedAgain() int {
	n := 0
	for _, m := range s.misses {
		if !m.everHit {
			n += m.again
		}
	}
	return n
}

// diagnostics are what is to be known of the run's own health, and of what its numbers may not be read as.
func (f *Fold) diagnostics() []Diagnostic {
	all := []Diagnostic{}
	say := func(count int, code, format string, args ...any) {
		if count > 0 {
			all = append(all, Diagnostic{Code: code, Count: count, Text: fmt.Sprintf(format, args...)})
		}
	}
	s := &f.signs
	kind := func(outcome Outcome, name string) int { return f.kinds[KindCount{Outcome: outcome, Kind: name}] }
	say(s.bad, "bad_record", "%s left out: not to be read, or outside of the run's numbers", plural(s.bad, "record was", "records were"))
	n := max(f.attempts-f.done, f.repeats.again)
	say(n, "repeated_attempts", "%s after a worker was lost or fell silent; each is counted once here, and its requests are in the requests sent",
		plural(n, "execution was done again", "executions were done again"))
	if lasted, places := f.repeats.below(); places > 0 {
		seconds := int((lasted + time.Second - 1) / time.Second)
		say(max(1, seconds), "below_capacity", "for up to %s, up to %s of %d held what was lost with a worker: what was measured then is of less load than is stated",
			plural(seconds, "second", "seconds"), plural(min(places, f.run.Capacity.Effective), "place", "places"), f.run.Capacity.Effective)
	}
	n = kind(Cancelled, ResourceTimeout)
	say(n, "resource_timeout", "%s no place among all requests to the environment in time: its own limit, and not the server, held them back", plural(n, "execution found", "executions found"))
	say(f.all.notStarted, "queue_saturated", "%s not begin in time: the arrival rate is more than the capacity carries", plural(f.all.notStarted, "execution did", "executions did"))
	n = kind(Error, RateLimited)
	say(n, "rate_limited", "%s the rate limit of the server: the capacity is above what it admits", plural(n, "request met", "requests met"))
	if f.breaker.Status().Excluded > 0 {
		n = f.breaker.Status().Excluded
		say(n, "excluded_failures", "%s of kinds that the profile leaves out of the breaker", plural(n, "failure is", "failures are"))
	}
	say(s.rejected, "filter_rejected", "%s a filter that the server did not apply: the dataset lacks the column", plural(s.rejected, "execution has", "executions have"))
	n = s.missedAgain()
	say(n, "cache_backend_noop", "%s the cache although the server had said that it keeps the answer: its cache backend may be a no-op", plural(n, "request missed", "requests missed"))
	if s.lag > s.upstream/10 {
		say(1, "reader_lag", "the runner itself took %d %% of the upstream time: its numbers are too high", percent(s.lag, s.upstream))
	}
	say(s.forced, "forced", "%s the cache and rewrote it for everybody", plural(s.forced, "request went past", "requests went past"))
	say(f.all.repeats, "repeats", "%s what an earlier one had sent: their hits are made by the run itself", plural(f.all.repeats, "execution sent", "executions sent"))
	if s.async > 0 && s.sync > 0 {
		say(s.async, "async_mixed", "%s the asynchronous way, polling included: the groups keep them apart, the totals do not", plural(s.async, "answer came", "answers came"))
	}
	if s.relative > 0 {
		say(1, "time_dependent", "relative time ranges mean other dates at another time: data may differ for that alone")
	}
	n = f.smallGroups()
	say(n, "small_sample_p99", "%s fewer than 100 samples: the p99 is the slowest one there", plural(n, "group of a chart and cache state has", "groups of a chart and cache state have"))
	return all
}

func percent(part, whole time.Duration) int64 {
	return int64(part / max(1, whole/100))
}

// smallGroups is how many groups of a chart and cache state have samples, and too few for a 99th percentile of its own.
func (f *Fold) smallGroups() int {
	samples := make(map[groupKey]int)
	for key, n := range f.groups {
		if n.success > 0 {
			samples[groupKey{chart: key.chart, cache: key.cache}] += n.success
		}
	}
	small := 0
	for _, n := range samples {
		if n < 100 {
			small++
		}
	}
	return small
}
