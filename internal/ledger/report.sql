-- The numbers of a load run as its report has them, from the ledger alone: $1 is the run. Breaker, diagnostics and thresholds are the report's own.
WITH run AS (
    SELECT * FROM braid.load_runs WHERE run = $1
), e AS (
    SELECT x.chart, x.role, CASE WHEN x.outcome = 'success' THEN coalesce(x.cache_state, '') ELSE '' END AS cache_state, x.async AND x.outcome = 'success' AS async, coalesce(c.ordinal, 9223372036854775807) AS place, coalesce(c.name, '') AS name,
           x.outcome, x.kind, x.repeat_of, x.queue_wait_ns, x.resource_wait_ns, x.upstream_ns, x.from_intended_ns, x.result_rows, x.body_bytes, x.wire_bytes
    FROM braid.executions AS x LEFT JOIN braid.load_charts AS c ON c.snapshot = (SELECT snapshot FROM run) AND c.chart = x.chart
    WHERE x.run = $1 AND x.counted AND NOT x.warm_up
), levels AS (
    -- Each execution in each sum that it is of; what a sum is over all of is null.
    SELECT 'overall' AS level, NULL::bigint AS of_chart, NULL::text AS of_role, NULL::text AS of_cache, NULL::boolean AS of_async, e.* FROM e
    UNION ALL SELECT 'by_chart', chart, NULL, NULL, NULL, e.* FROM e
    UNION ALL SELECT 'by_role', NULL, role, NULL, NULL, e.* FROM e
    UNION ALL SELECT 'by_cache_state', NULL, NULL, cache_state, NULL, e.* FROM e WHERE outcome = 'success'
    UNION ALL SELECT 'by_chart_cache', chart, NULL, cache_state, NULL, e.* FROM e WHERE outcome = 'success'
    UNION ALL SELECT 'groups', chart, role, cache_state, async, e.* FROM e
), sums AS (
    SELECT level, of_chart, of_role, of_cache, of_async, CASE WHEN of_chart IS NOT NULL THEN min(place) END AS place, min(name) AS name, count(*) AS recorded,
           count(*) FILTER (WHERE outcome IN ('success', 'error', 'timeout')) AS completed, count(*) FILTER (WHERE outcome = 'success') AS success,
           count(*) FILTER (WHERE outcome = 'error') AS errors, count(*) FILTER (WHERE outcome = 'timeout') AS timeouts,
           count(*) FILTER (WHERE outcome = 'cancelled') AS cancelled, count(*) FILTER (WHERE outcome = 'not_started') AS not_started,
           count(*) FILTER (WHERE outcome = 'success' AND repeat_of IS NOT NULL) AS repeats,
           sum(result_rows) AS result_rows, sum(body_bytes) AS body_bytes, sum(wire_bytes) AS wire_bytes,
           array_agg(queue_wait_ns ORDER BY queue_wait_ns) FILTER (WHERE outcome = 'success') AS queue,
           array_agg(resource_wait_ns ORDER BY resource_wait_ns) FILTER (WHERE outcome = 'success') AS resource,
           array_agg(upstream_ns ORDER BY upstream_ns) FILTER (WHERE outcome = 'success') AS upstream,
           array_agg(queue_wait_ns + resource_wait_ns + upstream_ns ORDER BY queue_wait_ns + resource_wait_ns + upstream_ns) FILTER (WHERE outcome = 'success') AS whole,
           array_agg(from_intended_ns ORDER BY from_intended_ns) FILTER (WHERE outcome = 'success' AND from_intended_ns IS NOT NULL) AS late,
           array_agg(cache_state) FILTER (WHERE outcome = 'success') AS states
    FROM levels GROUP BY level, of_chart, of_role, of_cache, of_async
), made AS (
    SELECT level, place, of_chart, of_role, of_cache, of_async, json_build_object(
        'chart', coalesce(of_chart, 0), 'name', CASE WHEN of_chart IS NULL THEN '' ELSE name END, 'role', coalesce(of_role, ''), 'cache_state', coalesce(of_cache, ''),
        'async', coalesce(of_async, false), 'repeat', repeats, 'recorded', recorded, 'completed', completed, 'success', success, 'errors', errors, 'timeouts', timeouts,
        'cancelled', cancelled, 'not_started', not_started,
        'error_rate', CASE WHEN completed > 0 THEN json_build_object('num', errors, 'den', completed) END,
        'timeout_rate', CASE WHEN completed > 0 THEN json_build_object('num', timeouts, 'den', completed) END,
        'cache_states', (SELECT coalesce(json_agg(json_build_object('cache_state', state, 'count', n) ORDER BY braid.state_order(state)), '[]')
            FROM (SELECT state, count(*) AS n FROM unnest(states) AS state GROUP BY state) AS mix),
        'queue_wait_ms', braid.quantiles(queue), 'resource_wait_ms', braid.quantiles(resource), 'upstream_latency_ms', braid.quantiles(upstream), 'end_to_end_ms', braid.quantiles(whole),
        'from_intended_ms', CASE WHEN late IS NOT NULL THEN braid.quantiles(late) END,
        'rows', result_rows, 'body_bytes', body_bytes, 'wire_bytes', wire_bytes) AS report
    FROM sums
), lists AS (
    SELECT level, json_agg(report ORDER BY place, of_chart, of_role COLLATE "C", braid.state_order(of_cache), of_async) AS list FROM made GROUP BY level
), kinds AS (
    SELECT outcome, kind, count(*) AS n FROM e WHERE outcome <> 'success' GROUP BY outcome, kind
), admitted AS (
    -- In flight is what was admitted, and has no record of that attempt or a later one.
    SELECT coalesce(sum(sent), 0) AS sent, count(*) FILTER (WHERE attempt > coalesce((SELECT max(x.attempt) FROM braid.executions AS x WHERE x.run = $1 AND x.number = n.number), 0)) AS in_flight
    FROM (SELECT number, count(*) AS sent, max(attempt) AS attempt FROM braid.admissions WHERE run = $1 GROUP BY number) AS n
), recorded AS (
    SELECT count(*) AS attempts, count(*) FILTER (WHERE counted) AS done, count(*) FILTER (WHERE counted AND warm_up) AS warm_up FROM braid.executions WHERE run = $1
)
SELECT json_build_object(
    'v', 1, 'run', run.run, 'profile_id', run.profile, 'profile_name', run.profile_name, 'profile_revision', run.profile_revision, 'environment', run.environment,
    'dashboard', run.dashboard, 'title', coalesce(run.title, ''), 'owner', coalesce(run.owner, ''), 'state', run.state, 'ending', coalesce(run.ending, ''), 'reason', coalesce(run.reason, ''),
    'stopped_by', coalesce(run.document->>'stopped_by', ''), 'capacity', run.capacity, 'request_force', run.request_force, 'seed', run.document->'profile'->'seed',
    'theoretical_count', run.theoretical, 'selected', run.selected, 'charts', run.charts, 'selection_hash', run.selection, 'snapshot', run.snapshot, 'blast_radius_fingerprint', run.fingerprint,
    'total', run.total, 'warm_up', recorded.warm_up, 'requests_sent', admitted.sent, 'attempts', recorded.attempts,
    'in_flight', CASE WHEN run.state = 'ended' THEN 0 ELSE admitted.in_flight END,
    'not_dispatched', CASE WHEN run.state = 'ended' THEN run.total - recorded.done WHEN run.closed IS NOT NULL OR run.state = 'draining' THEN greatest(0, run.total - recorded.done - admitted.in_flight) ELSE 0 END,
    'overall', (SELECT list->0 FROM lists WHERE level = 'overall'),
    'by_chart', coalesce((SELECT list FROM lists WHERE level = 'by_chart'), '[]'), 'by_role', coalesce((SELECT list FROM lists WHERE level = 'by_role'), '[]'),
    'by_cache_state', coalesce((SELECT list FROM lists WHERE level = 'by_cache_state'), '[]'), 'by_chart_cache', coalesce((SELECT list FROM lists WHERE level = 'by_chart_cache'), '[]'),
    'groups', coalesce((SELECT list FROM lists WHERE level = 'groups'), '[]'),
    'kinds', (SELECT coalesce(json_agg(json_build_object('outcome', outcome, 'kind', kind, 'count', n) ORDER BY n DESC, outcome COLLATE "C", kind COLLATE "C"), '[]') FROM kinds),
    'findings', (SELECT coalesce(json_agg(json_build_object('chart', f.chart, 'filters_hash', f.filters_hash, 'role', f.role, 'time_range', f.time_range, 'digests', f.digests,
            'time_dependent', f.time_dependent, 'order_only', f.order_only)
            ORDER BY coalesce(c.ordinal, 9223372036854775807), f.chart, f.filters_hash COLLATE "C", f.role COLLATE "C", f.time_range COLLATE "C"), '[]')
        FROM braid.v_findings AS f LEFT JOIN braid.load_charts AS c ON c.snapshot = run.snapshot AND c.chart = f.chart WHERE f.run = $1)
)::text
FROM run, admitted, recorded
