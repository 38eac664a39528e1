package superset_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator/superset"
)

const (
	stamp = `"2026-09-01T10:00:00"`
	later = time.Minute
)

// seen are the cache fields of a query object; an empty text is a field that is not there.
type seen struct{ isCached, cached, timeout, queried string }

func cacheFields(object map[string]json.RawMessage) seen {
	return seen{string(object["is_cached"]), string(object["cached_dttm"]), string(object["cache_timeout"]), string(object["queried_dttm"])}
}

func TestCacheBehavesLikeTheRelease(t *testing.T) {
	t.Parallel()
	const plain, off, quick, endless = 101, 105, 108, 107
	for _, c := range []struct {
		name    string
		config  superset.Config
		chart   int64
		members string
		before  string // sent once before, a minute earlier
		wait    time.Duration
		want    seen
		truth   string
	}{
		{"a miss is null", superset.Config{Profile: superset.V4}, plain, "", "", 0, seen{"null", "null", "86400", ""}, "miss"},
		{"also in v6", superset.Config{Profile: superset.V6}, plain, "", "", 0, seen{"null", "null", "86400", ""}, "miss"},
		{"dev says when it queried", superset.Config{}, plain, "", "", 0, seen{"null", "null", "86400", `"2026-09-01T10:00:00+00:00"`}, "miss"},
		{"old servers say false", superset.Config{Profile: superset.Old}, plain, "", "", 0, seen{"false", "null", "86400", ""}, "miss"},
		{"what is stored is served", superset.Config{Profile: superset.V6}, plain, "", "{}", later, seen{"true", stamp, "86400", ""}, "hit"},
		{"dev tells when it was queried", superset.Config{}, plain, "", "{}", later, seen{"true", stamp, "86400", `"2026-09-01T10:00:00+00:00"`}, "hit"},
		{"force reads nothing", superset.Config{Profile: superset.V4}, plain, `{"force": true}`, "{}", later, seen{"null", "null", "86400", ""}, "bypassed"},
		{"force writes", superset.Config{Profile: superset.V4}, plain, "", `{"force": true}`, later, seen{"true", stamp, "86400", ""}, "hit"},
		{"caching off", superset.Config{Profile: superset.V4}, off, "", "{}", later, seen{"null", "null", "-1", ""}, "disabled"},
		{"caching off and force", superset.Config{Profile: superset.V4}, off, `{"force": true}`, "{}", later, seen{"null", "null", "-1", ""}, "bypassed"},
		{"the chart's own timeout", superset.Config{Profile: superset.V4}, quick, "", "{}", 299 * time.Second, seen{"true", stamp, "300", ""}, "hit"},
		{"which passes", superset.Config{Profile: superset.V4}, quick, "", "{}", 300 * time.Second, seen{"null", "null", "300", ""}, "miss"},
		{"zero is for ever", superset.Config{Profile: superset.V4}, endless, "", "{}", time.Hour, seen{"true", stamp, "0", ""}, "hit"},
		{"the request's timeout", superset.Config{Profile: superset.V4}, plain, `{"custom_cache_timeout": -1}`, "{}", later, seen{"null", "null", "-1", ""}, "disabled"},
		{"a backend that stores nothing", superset.Config{Profile: superset.V4, Cache: superset.CacheNull}, plain, "", "{}", later, seen{"null", "null", "86400", ""}, "miss"},
		{"one that is down", superset.Config{Profile: superset.V4, Cache: superset.CacheDown}, plain, "", "{}", later, seen{"null", "null", "86400", ""}, "miss"},
		{"too large a value", superset.Config{Profile: superset.V4, Cache: superset.CacheOversize, CacheValueBytes: 100}, plain, "", "{}", later, seen{"null", "null", "86400", ""}, "miss"},
		{"a small one", superset.Config{Profile: superset.V4, Cache: superset.CacheOversize}, plain, "", "{}", later, seen{"true", stamp, "86400", ""}, "hit"},
		{
			"dev queries again what was stored without filter columns",
			superset.Config{CacheForgets: true},
			plain, "", "{}", later,
			seen{"true", stamp, "86400", `"2026-09-01T10:01:00+00:00"`},
			"miss",
		},
		{"v6 does not", superset.Config{Profile: superset.V6, CacheForgets: true}, plain, "", "{}", later, seen{"true", stamp, "86400", ""}, "hit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, c.config)
			who := r.login("admin")
			if c.before != "" {
				r.ask(who, c.chart, c.before).fields(t)
				r.Advance(c.wait)
				if c.wait > 15*time.Minute {
					who = r.login("admin")
				}
			}
			got := cacheFields(r.ask(who, c.chart, c.members).fields(t)[0])
			if got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			log := r.Stats().Log
			if truth := log[len(log)-1].Queries[0].State; truth != c.truth {
				t.Errorf("truth is %s, want %s", truth, c.truth)
			}
		})
	}
}

func TestResultsAloneCarryNoCacheFields(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{})
	object := r.ask(r.login("admin"), 101, `{"result_type": "results"}`).fields(t)[0]
	if got := cacheFields(object); got != (seen{}) || object["data"] == nil || len(object) != 5 {
		t.Errorf("got %v in %d members", got, len(object))
	}
}

func TestEachQueryHasItsOwnCacheState(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{Profile: superset.V6})
	who := r.login("admin")
	objects := r.ask(who, 103, "").fields(t)
	var key string
	if err := json.Unmarshal(objects[1]["cache_key"], &key); err != nil || !r.Forget(key) {
		t.Fatalf("entry %q was not there: %v", key, err)
	}
	objects = r.ask(who, 103, "").fields(t)
	if string(objects[0]["is_cached"]) != "true" || string(objects[1]["is_cached"]) != "null" {
		t.Errorf("is_cached: %s, %s", objects[0]["is_cached"], objects[1]["is_cached"])
	}
}

// TestCacheKey asks twice, changed in between: the same key or another.
func TestCacheKey(t *testing.T) {
	t.Parallel()
	const query = `{"columns": ["order_month"], "metrics": ["orders"], "filters": [{"col": "order_month", "op": "TEMPORAL_RANGE", "val": "Last month"}]`
	with := func(members string) string { return `{"queries": [` + query + members + `}]}` }
	for _, c := range []struct {
		name         string
		firstUser    string
		first        string
		secondUser   string
		second       string
		wantSameData bool
		wantSame     bool
	}{
		{"the user is not in it", "admin", with(""), "alpha", with(""), true, true},
		{"nor the role", "ops", with(""), "alpha", with(""), true, true},
		{"row-level clauses are", "gamma", with(""), "alpha", with(""), false, false},
		{"the form data is not", "admin", with(""), "admin", `{"queries": [` + query + `}], "form_data": {"slice_id": 104, "dashboardId": 13}}`, true, true},
		{"unknown members are not", "admin", with(""), "admin", with(`, "force": true, "url_params": {"a": "b"}`), true, true},
		{"metrics are", "admin", with(""), "admin", with(`, "metrics": ["revenue"]`), false, false},
		{"the text of the time range is, not its dates", "admin", with(`, "time_range": "Last week"`), "admin", with(`, "time_range": "2026-08-25 : 2026-09-01"`), true, false},
		{"limits are", "admin", with(""), "admin", with(`, "row_limit": 7`), true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, superset.Config{})
			one := r.ask(r.login(c.firstUser), 103, c.first).fields(t)[0]
			two := r.ask(r.login(c.secondUser), 103, c.second).fields(t)[0]
			if same := string(one["cache_key"]) == string(two["cache_key"]); same != c.wantSame {
				t.Errorf("same key: %v", same)
			}
			if hit := string(two["is_cached"]) == "true"; hit != c.wantSame {
				t.Errorf("is_cached is %s", two["is_cached"])
			}
			if same := string(one["data"]) == string(two["data"]); same != c.wantSameData {
				t.Errorf("same data: %v\n%.200s\n%.200s", same, one["data"], two["data"])
			}
		})
	}
}

func TestForcedWritesAndCacheAreObserved(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{})
	who := r.login("admin")
	if a := r.ask(who, 103, `{"force": true}`); a.status != http.StatusOK {
		t.Fatal(a.status)
	}
	stats := r.Stats()
	if stats.ForcedWrites != 2 || stats.Executed != 2 || len(r.Cache()) != 2 || !r.Cache()[0].Forced {
		t.Errorf("forced writes %d, executed %d, cache %+v", stats.ForcedWrites, stats.Executed, r.Cache())
	}
	last := stats.Log[len(stats.Log)-1]
	if !last.Force || last.Chart != 103 || last.Dashboard != superset.SalesDashboard || last.Identity != "admin" || last.PayloadHash == "" {
		t.Errorf("log: %+v", last)
	}
}

func TestEditingADatasetChangesItsKeys(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{})
	who := r.login("alpha")
	r.ask(who, 101, "")
	edited := superset.DefaultWorld()
	edited.Datasets[0].ChangedOn = "2026-09-01T09:59:00"
	if err := r.SetWorld(edited); err != nil {
		t.Fatal(err)
	}
	if got := r.ask(who, 101, "").fields(t)[0]; string(got["is_cached"]) != "null" {
		t.Errorf("is_cached is %s", got["is_cached"])
	}
	edited = superset.DefaultWorld()
	edited.Dashboards[0].Tabs[0].Charts[0] = 999
	if err := r.SetWorld(edited); err == nil {
		t.Error("a world with a chart that is not there was taken")
	}
}
