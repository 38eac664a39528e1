package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/braidhq/braid/pkg/load"
)

type findingRow struct {
	Run           string          `json:"run"`
	Chart         int64           `json:"chart"`
	FiltersHash   string          `json:"filters_hash"`
	Role          string          `json:"role"`
	TimeRange     string          `json:"time_range"`
	RelativeRange bool            `json:"relative_range"`
	OrderOnly     bool            `json:"order_only"`
	Digests       json.RawMessage `json:"digests"`
}

// seenDigest is how often a group has had one digest with one cache state.
type seenDigest struct {
	Run         string
	Chart       int64
	FiltersHash string
	Role        string
	TimeRange   string
	SHA256      string
	Cache       string
	Count       int
	SameRows    bool // all digests of the group are of the same rows in another order
}

// findingsOf makes the findings of groups anew: a group whose counted successes have more than one digest has one (LR-5.4).
func findingsOf(ctx context.Context, tx pgx.Tx, keys []groupKey) error {
	if err := merge(ctx, tx, `
		DELETE FROM braid.findings AS f USING json_populate_recordset(NULL::braid.findings, $1::json) AS k
		WHERE f.run = k.run AND f.chart = k.chart AND f.filters_hash = k.filters_hash AND f.role = k.role AND f.time_range = k.time_range`, keys); err != nil {
		return err
	}
	// Most groups have one digest, which the first and the last of the index tell. Of each digest the first execution speaks for its rows, as in the run's report.
	seen, err := look[seenDigest](ctx, tx, `
		WITH k AS (
			SELECT * FROM json_populate_recordset(NULL::braid.findings, $1::json) AS k
			WHERE (SELECT min(e.data_sha256) FROM braid.executions AS e WHERE e.run = k.run AND e.chart = k.chart AND e.filters_hash = k.filters_hash AND e.role = k.role
				AND e.time_range = k.time_range AND e.counted AND NOT e.warm_up AND e.outcome = 'success' AND e.data_sha256 IS NOT NULL)
			<> (SELECT max(e.data_sha256) FROM braid.executions AS e WHERE e.run = k.run AND e.chart = k.chart AND e.filters_hash = k.filters_hash AND e.role = k.role
				AND e.time_range = k.time_range AND e.counted AND NOT e.warm_up AND e.outcome = 'success' AND e.data_sha256 IS NOT NULL)
		), of_group AS (
			SELECT e.* FROM k
			JOIN braid.executions AS e USING (run, chart, filters_hash, role, time_range)
			WHERE e.counted AND NOT e.warm_up AND e.outcome = 'success' AND e.data_sha256 IS NOT NULL
		), per_digest AS (
			SELECT run, chart, filters_hash, role, time_range, data_sha256, (array_agg(row_set ORDER BY sequence))[1] AS rows FROM of_group GROUP BY 1, 2, 3, 4, 5, 6
		), differing AS (
			SELECT run, chart, filters_hash, role, time_range, count(rows) = count(*) AND min(rows) = max(rows) AS same_rows FROM per_digest GROUP BY 1, 2, 3, 4, 5 HAVING count(*) > 1
		)
		SELECT run, chart, filters_hash, role, time_range, data_sha256, coalesce(cache_state, ''), count(*), coalesce(bool_and(same_rows), false)
		FROM of_group JOIN differing USING (run, chart, filters_hash, role, time_range)
		GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7`, keys)
	if err != nil {
		return err
	}
	groups := map[groupKey][]seenDigest{}
	var order []groupKey
	for _, s := range seen {
		key := groupKey{s.Run, s.Chart, s.FiltersHash, s.Role, s.TimeRange}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], s)
	}
	var rows []findingRow
	for _, key := range order {
		row, err := rowOfFinding(key, groups[key])
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	return merge(ctx, tx, "INSERT INTO braid.findings SELECT * FROM json_populate_recordset(NULL::braid.findings, $1::json)", rows)
}

func rowOfFinding(key groupKey, seen []seenDigest) (findingRow, error) {
	row := findingRow{
		Run: key.Run, Chart: key.Chart, FiltersHash: key.FiltersHash, Role: key.Role, TimeRange: key.TimeRange,
		RelativeRange: load.RelativeTime(key.TimeRange), OrderOnly: seen[0].SameRows,
	}
	byDigest := map[string]*load.DigestCount{}
	for _, s := range seen {
		if byDigest[s.SHA256] == nil {
			byDigest[s.SHA256] = &load.DigestCount{SHA256: s.SHA256, Cache: map[load.CacheState]int{}}
		}
		byDigest[s.SHA256].Count += s.Count
		byDigest[s.SHA256].Cache[load.CacheState(s.Cache)] += s.Count
	}
	digests := slices.SortedFunc(maps.Values(byDigest), func(a, b *load.DigestCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.SHA256, b.SHA256))
	})
	var err error
	row.Digests, err = document(digests)
	return row, err
}
