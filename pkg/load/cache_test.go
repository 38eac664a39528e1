package load_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/load"
)

func TestLR_4_1_CacheStatesAreThoseOfTheVectors(t *testing.T) {
	type state struct {
		State  load.CacheState `json:"state"`
		Reason *string         `json:"reason"`
	}
	type vector struct {
		ID string `json:"id"`
		In struct {
			Kind    string            `json:"kind"`
			Force   *bool             `json:"request_force"`
			Query   json.RawMessage   `json:"query"`
			Queries int               `json:"query_count"`
			Tasks   *int              `json:"task_count"`
			States  []load.CacheState `json:"states"`
		} `json:"in"`
		Want struct {
			state
			States []state `json:"states"`
		} `json:"want"`
	}
	because := func(reason string) *string {
		if reason == "" {
			return nil
		}
		return &reason
	}
	for _, v := range readVectors[vector](t, "cache_state.json") {
		switch v.In.Kind {
		case "sync":
			s, reason := load.CacheStateOf(v.In.Force, v.In.Query)
			if diff := cmp.Diff(v.Want.state, state{s, because(reason)}); diff != "" {
				t.Errorf("%s: %s", v.ID, diff)
			}
		case "async":
			states, reason := load.AsyncCacheStates(v.In.Force, v.In.Queries, v.In.Tasks)
			got := make([]state, len(states))
			for i, s := range states {
				got[i] = state{s, because(reason)}
			}
			if diff := cmp.Diff(v.Want.States, got); diff != "" {
				t.Errorf("%s: %s", v.ID, diff)
			}
		case "aggregate":
			if got := load.Combine(v.In.States); got != v.Want.State {
				t.Errorf("%s is %s, want %s", v.ID, got, v.Want.State)
			}
		default:
			t.Errorf("%s is of kind %s", v.ID, v.In.Kind)
		}
	}
}

// row is a query object that is a hit, but for what a test says of it.
func row(t *testing.T, edit map[string]string) json.RawMessage {
	t.Helper()
	members := map[string]json.RawMessage{
		"is_cached": json.RawMessage("true"), "cache_timeout": json.RawMessage("60"), "cache_key": json.RawMessage(`"k"`),
		"cached_dttm": json.RawMessage(`"2026-09-01T10:00:00"`), "queried_dttm": json.RawMessage(`"2026-09-01T10:00:00+00:00"`),
	}
	for name, text := range edit {
		if members[name] = json.RawMessage(text); text == "" {
			delete(members, name)
		}
	}
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestLR_4_1_TheTableIsGoneThroughInItsOrder(t *testing.T) {
	yes := true
	for _, c := range []struct {
		edit   map[string]string
		force  *bool
		state  load.CacheState
		reason string
	}{
		{edit: map[string]string{"is_cached": "", "cache_timeout": "", "cached_dttm": ""}, state: load.Unknown, reason: "is_cached_absent"},
		{edit: map[string]string{"is_cached": "1", "cache_timeout": "x"}, state: load.Unknown, reason: "no_query_object"},
		{edit: map[string]string{"is_cached": "[]", "cache_timeout": `""`}, state: load.Unknown, reason: "is_cached_malformed"},
		{edit: map[string]string{"cache_timeout": "", "cached_dttm": "1"}, state: load.Unknown, reason: "cache_timeout_absent"},
		{edit: map[string]string{"cache_timeout": "1.5"}, state: load.Unknown, reason: "cache_timeout_malformed"},
		{edit: map[string]string{"cache_timeout": "1e3"}, state: load.Unknown, reason: "cache_timeout_malformed"},
		{edit: map[string]string{"cache_timeout": "99999999999999999999999"}, state: load.Hit},
		{edit: map[string]string{"cache_timeout": "-1", "cache_key": ""}, state: load.Unknown, reason: "disabled_but_cached"},
		{edit: map[string]string{"cache_key": "", "queried_dttm": `"2027-01-01"`}, state: load.Unknown, reason: "hit_without_key"},
		{edit: map[string]string{"cache_key": "7"}, state: load.Unknown, reason: "hit_without_key"},
		{edit: map[string]string{"cached_dttm": "null"}, state: load.Hit},
		{edit: map[string]string{"queried_dttm": `"2026-09-01T10:00:02"`}, state: load.Hit},
		{edit: map[string]string{"queried_dttm": `"2026-09-01T10:00:02.000001"`}, state: load.Unknown, reason: "recomputed_but_cached"},
		{edit: map[string]string{"queried_dttm": `"2026-09-01 10:00:09"`}, state: load.Unknown, reason: "recomputed_but_cached"},
		{edit: map[string]string{"queried_dttm": `"2026-09-01T12:00:09+0200"`}, state: load.Unknown, reason: "recomputed_but_cached"},
		{edit: map[string]string{"queried_dttm": `"2026-09-01T15:30:00+05:30"`}, state: load.Hit},
		{edit: map[string]string{"queried_dttm": "5"}, state: load.Hit},
		{edit: map[string]string{"is_cached": "", "IS_CACHED": "true"}, state: load.Unknown, reason: "is_cached_absent"},
		{edit: map[string]string{"is_cached": "false"}, force: &yes, state: load.Unknown, reason: "not_cached_with_cached_dttm"},
		{edit: map[string]string{"is_cached": "null", "cached_dttm": "null", "cache_timeout": "-1"}, force: &yes, state: load.Bypassed},
		{edit: map[string]string{"is_cached": "null", "cached_dttm": "null", "cache_timeout": "-1"}, state: load.Disabled},
		{edit: map[string]string{"is_cached": "null", "cached_dttm": "null", "cache_key": ""}, state: load.Miss},
	} {
		var query json.RawMessage
		if c.reason == "no_query_object" {
			query = json.RawMessage(`"text"`)
		} else {
			query = row(t, c.edit)
		}
		if state, reason := load.CacheStateOf(c.force, query); state != c.state || reason != c.reason {
			t.Errorf("%s is %s %q, want %s %q", query, state, reason, c.state, c.reason)
		}
	}
}

func TestLR_4_2_AQueryKeepsItsFieldsRawAndSaysWhereItsStateComesFrom(t *testing.T) {
	q := load.QueryOutcome{IsCached: json.RawMessage("null"), CachedDttm: json.RawMessage("null"), CacheTimeout: json.RawMessage("86400")}
	q.Settle(false)
	text, err := json.Marshal(q)
	want := `{"is_cached":null,"cached_dttm":null,"cache_timeout":86400,"state":"miss","rows":0,"cache_state_source":"superset_response"}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
	var back load.QueryOutcome
	if err := json.Unmarshal(text, &back); err != nil || string(back.IsCached) != "null" || back.QueriedDttm != nil {
		t.Errorf("absent and null are not kept apart: %+v, %v", back, err)
	}
}

func TestLR_4_4_AnExecutionWithoutQueriesIsUnknown(t *testing.T) {
	if got := load.Combine(nil); got != load.Unknown {
		t.Error(got)
	}
}

func TestLR_4_5_AnAsynchronousAnswerSaysNothingOfTheCacheByItself(t *testing.T) {
	two, no := 2, false
	for _, c := range []struct {
		queries int
		tasks   *int
		want    load.CacheState
	}{{1, nil, load.Miss}, {1, &two, load.Miss}, {2, &two, load.Miss}, {3, &two, load.Unknown}, {2, nil, load.Unknown}} {
		states, reason := load.AsyncCacheStates(&no, c.queries, c.tasks)
		if len(states) != c.queries || load.Combine(states) != c.want || (reason == "async_partial") != (c.want == load.Unknown) {
			t.Errorf("%d queries: %v %q", c.queries, states, reason)
		}
	}
}

func FuzzCacheStateOf(f *testing.F) {
	f.Add([]byte(`{"is_cached":true,"cached_dttm":"2026-09-01T10:00:00","cache_timeout":1,"cache_key":"k"}`), true)
	f.Add([]byte(`{"is_cached":null,"cached_dttm":null,"cache_timeout":-1}`), false)
	f.Add([]byte(`[`), false)
	f.Fuzz(func(t *testing.T, query []byte, force bool) {
		state, reason := load.CacheStateOf(&force, query)
		if (state == load.Unknown) != (reason != "") {
			t.Errorf("%q is %s %q", query, state, reason)
		}
		if state == load.Hit && force || state == load.Bypassed && !force || state == load.Mixed {
			t.Errorf("%q is %s, forced %t", query, state, force)
		}
	})
}
