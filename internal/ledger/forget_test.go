//go:build unix

package ledger

import (
	"errors"
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/journal"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

func TestForgetTakesSamplesSoonerThanRowsAndNothingThatHasNotEnded(t *testing.T) {
	r := newRig(t)
	const day = 24 * time.Hour
	now := noon().Add(100 * day)
	put := func(id string, state load.State, ended time.Time) {
		record := r.record(journal.Runs)
		record.Run = runOf(id, 2, state)
		record.Run.Profile.ID = "prof-" + id
		if state == load.Ended {
			record.Run.Ended = ended
		}
		all := []*journal.Record{record}
		for number := range 30 {
			e := r.execution(success(id, number, 1))
			e.Stored = ended
			all = append(all, e, r.admission(id, number, 1, false))
		}
		for len(all) > 0 {
			n := min(len(all), MostRecords)
			r.mustStore(all[:n]...)
			all = all[n:]
		}
	}
	put("old", load.Ended, now.Add(-40*day))
	put("young", load.Ended, now.Add(-10*day))
	put("fresh", load.Ended, now.Add(-day))
	put("going", load.Running, now.Add(-40*day))
	for id, state := range map[string]messages.QueryState{"done": messages.Complete, "waits": messages.Interrupted} {
		query, result := r.record(journal.Queries), r.record(journal.Results)
		query.Query = queryOf(id, state)
		result.Result = &messages.ResultHeader{V: 1, Query: id, Run: 1, Position: "0", Outcome: messages.OutcomeEmpty, SHA256: digest("a"), Attempt: "a1", Worker: "w1", Started: noon(), Finished: noon()}
		r.mustStore(query, result)
	}
	if _, err := r.cfg.Database.Forget(t.Context(), Age{}, now); !errors.Is(err, ErrRefused) {
		t.Errorf("it forgets what nobody asked for: %v", err)
	}
	r.mustHold("ANALYZE braid.executions")
	got, err := r.cfg.Database.Forget(t.Context(), Age{Rows: 30 * day, Samples: 7 * day}, now)
	if err != nil {
		t.Fatal(err)
	}
	want := Forgotten{Samples: 90, Runs: 1, Executions: 30, Admissions: 30, Queries: 1, Chunks: 1}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	r.mustHold("SELECT run || ' ' || count(*) || ' ' || count(sample) FROM braid.executions GROUP BY run ORDER BY run", "fresh 30 30", "going 30 0", "young 30 0")
	r.mustHold("SELECT run FROM braid.run_totals ORDER BY run", "fresh", "going", "young")
	r.mustHold("SELECT query FROM braid.queries", "waits")
	r.mustHold("SELECT query FROM braid.chunks", "waits")
	r.mustAddUp()
	overview, err := r.cfg.Database.Overview(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range overview.Tables {
		if table.Name == "executions" && (table.Rows != 90 || table.Estimated) {
			t.Errorf("what the statistics knew before is told: %+v", table)
		}
	}
	if again, err := r.cfg.Database.Forget(t.Context(), Age{Rows: 30 * day, Samples: 7 * day}, now); err != nil || again != (Forgotten{}) {
		t.Errorf("again: %+v, %v", again, err)
	}
}
