package load

import (
	"encoding/json"
	"strconv"
	"time"
)

// superset says where a cache state comes from: the answer, and nothing else (LR-4.2, 4.3).
const superset = "superset_response"

// CacheStateOf tells the cache state of one query object of a synchronous answer, and the reason of an unknown one (LR-4.1). force is that of the
// request; nil: none was sent.
func CacheStateOf(force *bool, query json.RawMessage) (CacheState, string) {
	var members map[string]json.RawMessage // keeps absent and null apart, and names by their case
	if err := json.Unmarshal(query, &members); err != nil || members == nil {
		return Unknown, "no_query_object"
	}
	q := QueryOutcome{
		IsCached: members["is_cached"], CachedDttm: members["cached_dttm"], QueriedDttm: members["queried_dttm"],
		CacheTimeout: members["cache_timeout"], CacheKey: members["cache_key"],
	}
	return q.judge(force != nil && *force)
}

// Settle sets State, Reason and Source by the five fields as they were received, of a synchronous answer to a request that was forced or not.
func (q *QueryOutcome) Settle(force bool) {
	q.State, q.Reason = q.judge(force)
	q.Source = superset
}

// judge goes through the table of LR-4.1 in its order.
func (q *QueryOutcome) judge(force bool) (CacheState, string) {
	if reason := q.malformed(); reason != "" {
		return Unknown, reason
	}
	disabled := isMinusOne(q.CacheTimeout)
	if string(q.IsCached) == "true" {
		if reason := q.impossible(force, disabled); reason != "" {
			return Unknown, reason
		}
		return Hit, ""
	}
	switch {
	case string(q.CachedDttm) != "null":
		return Unknown, "not_cached_with_cached_dttm"
	case force:
		return Bypassed, ""
	case disabled:
		return Disabled, ""
	case string(q.IsCached) == "null":
		return Miss, ""
	}
	return Unknown, "is_cached_false"
}

// malformed is the reason of a field that is absent or no such value (rows 2 to 5).
func (q *QueryOutcome) malformed() string {
	for _, field := range []struct {
		name string
		raw  json.RawMessage
		ok   func(raw json.RawMessage) bool
	}{
		{"is_cached", q.IsCached, isBoolean}, {"cache_timeout", q.CacheTimeout, isInteger}, {"cached_dttm", q.CachedDttm, isText},
	} {
		switch {
		case len(field.raw) == 0:
			return field.name + "_absent"
		case string(field.raw) != "null" && !field.ok(field.raw):
			return field.name + "_malformed"
		}
	}
	return ""
}

// impossible is the reason why the server cannot have meant that the answer was cached (rows 6 to 9).
func (q *QueryOutcome) impossible(force, disabled bool) string {
	key, ok := jsonText(q.CacheKey)
	switch {
	case force:
		return "forced_but_cached"
	case disabled:
		return "disabled_but_cached"
	case !ok || key == "":
		return "hit_without_key"
	}
	cached, okCached := stamp(q.CachedDttm)
	queried, okQueried := stamp(q.QueriedDttm)
	if okCached && okQueried && queried.Sub(cached) > 2*time.Second {
		return "recomputed_but_cached"
	}
	return ""
}

func isBoolean(raw json.RawMessage) bool { return string(raw) == "true" || string(raw) == "false" }

// isInteger takes integer literals of any size: what does not fit is no -1.
func isInteger(raw json.RawMessage) bool {
	var n json.Number
	if raw[0] == '"' || json.Unmarshal(raw, &n) != nil {
		return false
	}
	for _, c := range raw {
		if c != '-' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

func isText(raw json.RawMessage) bool {
	_, ok := jsonText(raw)
	return ok
}

func isMinusOne(raw json.RawMessage) bool {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return err == nil && n == -1
}

func jsonText(raw json.RawMessage) (string, bool) {
	var s *string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil || s == nil {
		return "", false
	}
	return *s, true
}

// stamp reads an ISO time; one without an offset is UTC.
func stamp(raw json.RawMessage) (time.Time, bool) {
	text, ok := jsonText(raw)
	if !ok || len(text) > 64 {
		return time.Time{}, false
	}
	for _, date := range []string{"2006-01-02T", "2006-01-02 "} {
		for _, clock := range []string{"15:04:05", "15:04"} {
			for _, zone := range []string{"", "Z07:00", "Z0700", "Z07"} {
				if t, err := time.Parse(date+clock+zone, text); err == nil {
					return t, true
				}
			}
		}
	}
	t, err := time.Parse("2006-01-02", text)
	return t, err == nil
}

// AsyncCacheStates tells the cache states of the queries of an answer that came the asynchronous way, and the reason of unknown ones (LR-4.5).
// tasks is how many tasks the server named; nil: it named a job instead. What the answer itself says of the cache is of its own reading back.
func AsyncCacheStates(force *bool, queries int, tasks *int) ([]CacheState, string) {
	state, reason := Miss, ""
	switch {
	case force != nil && *force:
		state = Bypassed
	case queries == 1 || tasks != nil && *tasks == queries:
	default:
		state, reason = Unknown, "async_partial"
	}
	states := make([]CacheState, max(queries, 0))
	for i := range states {
		states[i] = state
	}
	return states, reason
}

// Combine tells the cache state of an execution from those of its queries (LR-4.4).
func Combine(states []CacheState) CacheState {
	if len(states) == 0 {
		return Unknown
	}
	for _, s := range states {
		if s != states[0] {
			return Mixed
		}
	}
	return states[0]
}
