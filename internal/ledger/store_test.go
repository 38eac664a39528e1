//go:build unix

package ledger

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/journal"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

const totalsOf = "SELECT format('%s: %s=%s+%s+%s+%s+%s warm %s attempts %s sent %s', run, recorded, success, errors, timeouts, cancelled, not_started, warm_up, attempts, requests_sent) FROM braid.run_totals ORDER BY run"

func TestLR_6_1_ProfilesRunsExecutionsAndFindingsAreKept(t *testing.T) {
	r := newRig(t)
	profile := r.record(journal.Runs)
	profile.Profile = &load.Profile{V: 1, ID: "prof-9", Revision: 1, Name: "Of \x00 tomorrow", Environment: "bi", Dashboard: "12", Axes: []byte(`{"filters":[[{"col":"\u0000\ud800","op":"==","val":"\ud83d\ude00"}]]}`)}
	run := r.record(journal.Runs)
	run.Run = runOf("run-1", 2, load.Running)
	other := success("run-1", 3, 1)
	other.DataSHA256, other.Sample = digest("9"), []byte(`[{"a":2},{"a":1}]`)
	r.mustStore(profile, run, r.execution(success("run-1", 0, 1)), r.execution(other))
	r.mustHold("SELECT format('%s %s %s', profile, revision, name) FROM braid.load_profiles ORDER BY profile", "prof-1 2 Sales", "prof-9 1 Of \uFFFD tomorrow")
	r.mustHold("SELECT document->'axes'->'filters'->0->0->>'val' FROM braid.load_profiles WHERE profile = 'prof-9'", "😀")
	r.mustHold("SELECT format('%s %s %s %s', run, state, total, effective_capacity) FROM braid.load_runs", "run-1 running 2 5")
	r.mustHold("SELECT format('%s %s', number, data_sha256) FROM braid.executions ORDER BY number", "0 "+digest("d"), "3 "+digest("9"))
	r.mustHold("SELECT format('%s %s %s %s', chart, json_array_length(digests), order_only, digests->0->'cache_states'->>'miss') FROM braid.findings", "100 2 t 1")
	r.mustAddUp()
}

func TestANewerRecordReplacesAnOlderOneAndNeverTheOtherWayRound(t *testing.T) {
	r := newRig(t)
	old, young := r.record(journal.Runs), r.record(journal.Runs)
	old.Run, young.Run = runOf("run-1", 2, load.Running), runOf("run-1", 2, load.Ended)
	oldQuery, youngQuery := r.record(journal.Queries), r.record(journal.Queries)
	oldQuery.Query, youngQuery.Query = queryOf("q1", messages.Running), queryOf("q1", messages.Complete)
	r.mustStore(young, youngQuery)
	r.mustStore(old, oldQuery)
	r.mustStore(old, young, oldQuery, youngQuery)
	r.mustHold("SELECT state FROM braid.load_runs", "ended")
	r.mustHold("SELECT state FROM braid.queries", "complete")
	gone, goneRun := r.record(journal.Queries), r.record(journal.Runs)
	gone.RemovedQuery, goneRun.RemovedRun = "q1", "run-1"
	r.mustStore(gone, goneRun)
	r.mustHold("SELECT state || (removed IS NOT NULL)::text FROM braid.queries", "completetrue")
	r.mustHold("SELECT state || (removed IS NOT NULL)::text FROM braid.load_runs", "endedtrue")
}

func TestChunksAttemptsAndInterruptionsAreKeptOnce(t *testing.T) {
	r := newRig(t)
	var all []*journal.Record
	add := func(set func(*journal.Record)) {
		record := r.record(journal.Events)
		set(record)
		all = append(all, record)
	}
	result := func(run int, outcome messages.Outcome) *messages.ResultHeader {
		return &messages.ResultHeader{V: 1, Query: "q1", Run: run, Position: "3", Outcome: outcome, Rows: 7, Pages: 1, Requests: 2, SHA256: digest("a"), Attempt: "a1", Worker: "w1", Started: noon(), Finished: noon()}
	}
	add(func(r *journal.Record) {
		r.Result = result(1, messages.OutcomeFailed)
		r.Result.Failure = &messages.Failure{Class: "bad_request", Status: 400, Message: "no \x00 such"}
	})
	add(func(r *journal.Record) { r.Result = result(2, messages.OutcomeRows) })
	try := func(n int) messages.Execution {
		return messages.Execution{Position: "3", Attempt: "a1", Page: 0, Try: n, Class: "ok", Status: 200, Bytes: 10, Sent: noon(), SlotWait: 1, Upstream: time.Second}
	}
	add(func(r *journal.Record) {
		r.Executions = &messages.Executions{V: 1, Query: "q1", Run: 1, Worker: "w1", Executions: []messages.Execution{try(1), try(2)}}
	})
	add(func(r *journal.Record) {
		r.Executions = &messages.Executions{V: 1, Query: "q1", Run: 1, Worker: "w1", Executions: []messages.Execution{try(2), try(3)}}
	})
	add(func(r *journal.Record) {
		r.Interruption = &messages.Interruption{V: 1, Query: "q1", Run: 1, Position: "3", Service: "usgs", Kind: messages.QuotaExhausted, Status: 429, Reason: "slow down", Worker: "w1", At: noon()}
	})
	for _, order := range [][]*journal.Record{all, {all[1], all[0]}, all[2:4], {all[3], all[2]}, all} {
		r.mustStore(order...)
	}
	r.mustHold("SELECT format('%s %s %s', run, outcome, failure_class) FROM braid.chunks", "2 rows ")
	r.mustHold("SELECT try::text FROM braid.attempts ORDER BY try", "1", "2", "3")
	r.mustHold("SELECT kind FROM braid.interruptions", "quota")
	r.mustHold("SELECT service || requests || '/' || p95_ms FROM braid.v_service_usage", "?3/1000.000")
}

func TestLR_6_3_ABatchAndItsAggregatesAreOneTransaction(t *testing.T) {
	r := newRig(t)
	r.mustStore(r.execution(success("run-1", 1, 1)), r.admission("run-1", 1, 1, false))
	// The rows would go in, and the aggregates do not.
	mustExec(t, r.conn, "ALTER TABLE braid.run_totals ADD CONSTRAINT no_more CHECK (recorded < 2) NOT VALID")
	if _, err := r.attempt(t.Context(), []*journal.Record{r.execution(success("run-1", 2, 1))}, false); err != nil {
		t.Fatal(err)
	}
	r.mustHold("SELECT number::text FROM braid.executions", "1")
	r.mustAddUp()
	mustExec(t, r.conn, "ALTER TABLE braid.run_totals DROP CONSTRAINT no_more")
	r.mustHold(totalsOf, "run-1: 1=1+0+0+0+0 warm 0 attempts 1 sent 1")
}

func TestLR_6_5_DigestsCountsSampleCacheFactsTimingsAndOutcomeAreKept(t *testing.T) {
	r := newRig(t)
	e := success("run-1", 1, 1)
	late, of := 3*time.Second, 0
	e.Late, e.RepeatOf, e.Message, e.Rejected, e.Truncated = &late, &of, "a \x00 text \xff", []string{"region"}, true
	r.mustStore(r.execution(e))
	r.mustHold(`SELECT format('%s|%s|%s|%s|%s|%s|%s', outcome, queue_wait_ns, resource_wait_ns, upstream_ns, from_intended_ns, repeat_of, message) FROM braid.executions`,
		"success|1000000|20000|101345000|3000000000|0|a \uFFFD text \uFFFD")
	r.mustHold(`SELECT format('%s|%s|%s|%s|%s|%s', cache_state, queries->0->>'cache_key', queries->0->'cached_dttm', body_sha256 = repeat('c', 64), sample, filter_rejected) FROM braid.executions`,
		`miss|k1|null|t|[{"a":1},{"a":2}]|["region"]`)
	// Absent and null are told apart: queried_dttm was not there.
	r.mustHold(`SELECT (queries->0->'queried_dttm' IS NULL)::text || (queries->0->'is_cached' IS NULL)::text FROM braid.executions`, "truefalse")
	r.mustHold(`SELECT clock_source || clock_offset_ns || ' ' || result_rows || ' ' || body_bytes || ' ' || wire_bytes FROM braid.executions`, "stream1000000 2 512 200")
	r.mustHold(`SELECT column_name::text FROM information_schema.columns WHERE table_name = 'executions' AND column_name LIKE '%body%' ORDER BY 1`, "body_bytes", "body_sha256")
}

func TestLR_6_7_ARedeliveryIsIgnoredAndASecondAttemptIsCountedOnce(t *testing.T) {
	r := newRig(t)
	first, second := r.execution(success("run-1", 1, 1)), r.execution(failing("run-1", 1, 2, load.Error, load.ServerError))
	sent := []*journal.Record{r.admission("run-1", 1, 1, false), r.admission("run-1", 1, 2, false), r.admission("run-1", 1, 2, true)}
	want := "run-1: 1=1+0+0+0+0 warm 0 attempts 2 sent 3"
	r.mustStore(first)
	r.mustStore(first, first, sent[0])
	r.mustStore(append(sent, second)...)
	r.mustStore(second, first)
	r.mustHold(totalsOf, want)
	r.mustHold("SELECT attempt || counted::text FROM braid.executions ORDER BY attempt", "1true", "2false")
	r.mustAddUp()

	// In whatever order they come here, the one that was stored first in the stream is counted.
	other := newRig(t)
	other.mustStore(second, sent[2])
	other.mustHold(totalsOf, "run-1: 1=0+1+0+0+0 warm 0 attempts 1 sent 1")
	other.mustStore(first, sent[1], sent[0])
	other.mustHold(totalsOf, want)
	other.mustAddUp()
}

// Aggregates are the same for any cut into batches, in any order, with anything told again.
func TestLR_6_6_AggregatesAreTheRowsAlways(t *testing.T) {
	r := newRig(t)
	outcomes := []load.Outcome{load.Success, load.Error, load.Timeout, load.Cancelled, load.NotStarted}
	var n int
	rapid.Check(t, func(rt *rapid.T) {
		n++
		run := "run-" + string(rune('a'+n%26)) + time.Duration(n).String()
		var all []*journal.Record
		for number := range rapid.IntRange(1, 12).Draw(rt, "numbers") {
			for attempt := 1; attempt <= rapid.IntRange(1, 3).Draw(rt, "attempts"); attempt++ {
				e := success(run, number, attempt)
				if outcome := rapid.SampledFrom(outcomes).Draw(rt, "outcome"); outcome != load.Success {
					e = failing(run, number, attempt, outcome, "x")
				}
				e.WarmUp = rapid.IntRange(0, 4).Draw(rt, "warm") == 0
				if e.Outcome == load.Success {
					e.DataSHA256 = digest(rapid.SampledFrom([]string{"1", "2"}).Draw(rt, "digest"))
				}
				all = append(all, r.admission(run, number, attempt, false), r.execution(e))
			}
		}
		shown := rapid.Permutation(append(slices.Clone(all), all[:len(all)/2]...)).Draw(rt, "order")
		for len(shown) > 0 {
			some := rapid.IntRange(1, len(shown)).Draw(rt, "batch")
			r.mustStore(shown[:some]...)
			shown = shown[some:]
		}
		check := column(t, r.conn, "SELECT to_json(c)::text FROM braid.v_check AS c")
		if len(check) > 0 {
			rt.Fatalf("%s", check)
		}
		first := column(t, r.conn, "SELECT number::text FROM braid.executions WHERE run = $1 GROUP BY number HAVING count(*) FILTER (WHERE counted) <> 1 OR min(sequence) <> min(sequence) FILTER (WHERE counted)", run)
		if len(first) > 0 {
			rt.Fatalf("of the numbers %s another one is counted than the first, or none", first)
		}
		lost := column(t, r.conn, `SELECT chart::text FROM (SELECT chart, count(DISTINCT data_sha256) > 1 AS differs FROM braid.executions WHERE run = $1 AND counted AND NOT warm_up AND outcome = 'success' GROUP BY chart) AS g
			FULL JOIN (SELECT chart, true AS found FROM braid.findings WHERE run = $1) AS f USING (chart) WHERE coalesce(differs, false) <> coalesce(found, false)`, run)
		if len(lost) > 0 {
			rt.Fatalf("the findings of the charts %s are not those of the rows", lost)
		}
	})
}

func TestWhatTheDatabaseTakesInNoFormIsRejectedAndHoldsUpNothing(t *testing.T) {
	r := newRig(t)
	mustExec(t, r.conn, "ALTER TABLE braid.executions ADD CONSTRAINT picky CHECK (number <> 7)")
	mustExec(t, r.conn, "ALTER TABLE braid.executions ADD CONSTRAINT wordless CHECK (message <> 'too much')")
	var all []*journal.Record
	for number := range 20 {
		e := success("run-1", number, 1)
		if number == 11 {
			e.Message = "too much"
		}
		all = append(all, r.execution(e))
	}
	bad := r.record(journal.Load)
	bad.Subject, bad.Bad = "braid.load.execution.run-1.99.1", messages.ErrInvalid
	r.mustStore(append(all, bad)...)
	r.mustHold("SELECT count(*)::text FROM braid.executions", "19")
	r.mustHold("SELECT message FROM braid.executions WHERE number = 11", "left out by the ledger")
	r.mustHold("SELECT subject FROM braid.rejects ORDER BY sequence", "braid.load.execution.run-1.7.1", "braid.load.execution.run-1.99.1")
	r.mustHold("SELECT (reason LIKE '%picky%')::text FROM braid.rejects WHERE sequence = 8", "true")
	r.mustAddUp()
}
