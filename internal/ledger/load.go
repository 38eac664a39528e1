package ledger

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/journal"
	"github.com/braidhq/braid/pkg/load"
)

// totals is what rows amount to; those of a run are changed with its rows.
type totals struct {
	Run          string `json:"run"`
	Recorded     int64  `json:"recorded"`
	Success      int64  `json:"success"`
	Errors       int64  `json:"errors"`
	Timeouts     int64  `json:"timeouts"`
	Cancelled    int64  `json:"cancelled"`
	NotStarted   int64  `json:"not_started"`
	WarmUp       int64  `json:"warm_up"`
	Attempts     int64  `json:"attempts"`
	RequestsSent int64  `json:"requests_sent"`
}

// count adds an execution that is counted, or takes it away.
func (t *totals) count(outcome load.Outcome, warmUp bool, by int64) {
	if warmUp {
		t.WarmUp += by
		return
	}
	t.Recorded += by
	switch outcome {
	case load.Success:
		t.Success += by
	case load.Error:
		t.Errors += by
	case load.Timeout:
		t.Timeouts += by
	case load.Cancelled:
		t.Cancelled += by
	case load.NotStarted:
		t.NotStarted += by
	}
}

// storedExecution is what is to be known of an execution's record that is there.
type storedExecution struct {
	Run      string
	Number   int
	Attempt  int
	Sequence uint64
	Counted  bool
	Outcome  string
	WarmUp   bool
	Group    groupKey
}

// groupKey names executions that should have had the same data (LR-5.4).
type groupKey struct {
	Run         string `json:"run"`
	Chart       int64  `json:"chart"`
	FiltersHash string `json:"filters_hash"`
	Role        string `json:"role"`
	TimeRange   string `json:"time_range"`
}

// load stores executions and admissions, and what they amount to.
func (b *batch) load(ctx context.Context) error {
	changes := map[string]*totals{}
	touched := map[groupKey]bool{}
	if err := b.admissions(ctx, changes); err != nil {
		return err
	}
	if err := b.executions(ctx, changes, touched); err != nil {
		return err
	}
	var rows []totals
	for _, run := range slices.Sorted(maps.Keys(changes)) {
		rows = append(rows, *changes[run])
	}
	err := merge(ctx, b.tx, `
		INSERT INTO braid.run_totals AS had SELECT * FROM json_populate_recordset(NULL::braid.run_totals, $1::json)
		ON CONFLICT (run) DO UPDATE SET recorded = had.recorded + excluded.recorded, success = had.success + excluded.success, errors = had.errors + excluded.errors,
			timeouts = had.timeouts + excluded.timeouts, cancelled = had.cancelled + excluded.cancelled, not_started = had.not_started + excluded.not_started,
			warm_up = had.warm_up + excluded.warm_up, attempts = had.attempts + excluded.attempts, requests_sent = had.requests_sent + excluded.requests_sent`, rows)
	if err != nil {
		return err
	}
	return b.findings(ctx, touched)
}

func of(changes map[string]*totals, run string) *totals {
	if changes[run] == nil {
		changes[run] = &totals{Run: run}
	}
	return changes[run]
}

func (b *batch) admissions(ctx context.Context, changes map[string]*totals) error {
	var keys []admissionKey
	rows := map[admissionKey][]any{}
	for _, r := range b.records {
		a := r.Admission
		if a == nil {
			continue
		}
		key := admissionKey{a.Run, a.Number, a.Attempt, a.Repeat}
		if _, twice := rows[key]; twice {
			continue
		}
		keys = append(keys, key)
		rows[key] = []any{a.Run, a.Number, a.Attempt, a.Repeat, text(a.Worker), a.At, r.Sequence}
	}
	if len(keys) == 0 {
		return nil
	}
	there, err := look[admissionKey](ctx, b.tx, `
		SELECT a.run, a.number, a.attempt, a.repeat FROM json_populate_recordset(NULL::braid.admissions, $1::json) AS k
		JOIN braid.admissions AS a USING (run, number, attempt, repeat)`, keys)
	if err != nil {
		return err
	}
	var fresh [][]any
	for _, key := range keys {
		if !slices.Contains(there, key) {
			fresh = append(fresh, rows[key])
			of(changes, key.Run).RequestsSent++
		}
	}
	return b.copy(ctx, "admissions", admissionColumns(), fresh)
}

// executions stores those that are not there. Of a number that one is counted that was stored first in the stream, in whatever order
// they come here.
func (b *batch) executions(ctx context.Context, changes map[string]*totals, touched map[groupKey]bool) error {
	there, err := b.storedExecutions(ctx)
	if err != nil {
		return err
	}
	have := map[executionKey]bool{}
	first := map[numberKey]uint64{}
	see := func(number numberKey, sequence uint64) {
		if had, is := first[number]; !is || sequence < had {
			first[number] = sequence
		}
	}
	for _, s := range there {
		have[executionKey{s.Run, s.Number, s.Attempt}] = true
		see(numberKey{s.Run, s.Number}, s.Sequence)
	}
	var fresh []*journal.Record
	for _, r := range b.records {
		e := r.Execution
		if e == nil || have[executionKey{e.Run, e.Number, e.Attempt}] {
			continue
		}
		have[executionKey{e.Run, e.Number, e.Attempt}] = true
		fresh = append(fresh, r)
		see(numberKey{e.Run, e.Number}, r.Sequence)
	}
	var rows [][]any
	for _, r := range fresh {
		e := r.Execution
		counted := first[numberKey{e.Run, e.Number}] == r.Sequence
		row, err := rowOfExecution(e, r, counted, b.bare)
		if err != nil {
			return err
		}
		rows = append(rows, row)
		of(changes, e.Run).Attempts++
		if counted {
			of(changes, e.Run).count(e.Outcome, e.WarmUp, 1)
			touched[groupOf(e)] = true
		}
	}
	if err := b.copy(ctx, "executions", executionColumns(), rows); err != nil {
		return err
	}
	return b.uncount(ctx, there, first, changes, touched)
}

// groupOf names the group as the rows do.
func groupOf(e *load.Execution) groupKey {
	return groupKey{e.Run, e.Chart, text(e.FiltersHash), text(e.Role), text(e.TimeRange)}
}

// storedExecutions reads what is there of the numbers of the batch.
func (b *batch) storedExecutions(ctx context.Context) ([]storedExecution, error) {
	seen := map[numberKey]bool{}
	var keys []numberKey
	for _, r := range b.records {
		if r.Execution == nil {
			continue
		}
		if key := (numberKey{r.Execution.Run, r.Execution.Number}); !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	type row struct {
		Run         string
		Number      int
		Attempt     int
		Sequence    uint64
		Counted     bool
		Outcome     string
		WarmUp      bool
		Chart       int64
		FiltersHash string
		Role        string
		TimeRange   string
	}
	rows, err := look[row](ctx, b.tx, `
		SELECT e.run, e.number, e.attempt, e.sequence, e.counted, e.outcome, e.warm_up, e.chart, e.filters_hash, e.role, e.time_range
		FROM json_populate_recordset(NULL::braid.executions, $1::json) AS k JOIN braid.executions AS e USING (run, number)`, keys)
	if err != nil {
		return nil, err
	}
	var all []storedExecution
	for _, r := range rows {
		all = append(all, storedExecution{r.Run, r.Number, r.Attempt, r.Sequence, r.Counted, r.Outcome, r.WarmUp, groupKey{r.Run, r.Chart, r.FiltersHash, r.Role, r.TimeRange}})
	}
	return all, nil
}

// uncount takes away what was counted until one came that was stored before it.
func (b *batch) uncount(ctx context.Context, there []storedExecution, first map[numberKey]uint64, changes map[string]*totals, touched map[groupKey]bool) error {
	var keys []executionKey
	for _, s := range there {
		if s.Counted && s.Sequence != first[numberKey{s.Run, s.Number}] {
			keys = append(keys, executionKey{s.Run, s.Number, s.Attempt})
			of(changes, s.Run).count(load.Outcome(s.Outcome), s.WarmUp, -1)
			touched[s.Group] = true
		}
	}
	return merge(ctx, b.tx, `
		UPDATE braid.executions AS e SET counted = false FROM json_populate_recordset(NULL::braid.executions, $1::json) AS k
		WHERE e.run = k.run AND e.number = k.number AND e.attempt = k.attempt`, keys)
}

// findings makes those of the groups anew whose executions have changed.
func (b *batch) findings(ctx context.Context, touched map[groupKey]bool) error {
	if len(touched) == 0 {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(touched), func(a, z groupKey) int {
		if c := strings.Compare(a.Run, z.Run); c != 0 {
			return c
		}
		return int(a.Chart - z.Chart)
	})
	return findingsOf(ctx, b.tx, keys)
}
