-- What people ask, as views. Durations in them are milliseconds, and rates are from 0 to 1.

CREATE FUNCTION braid.nearest_rank(sorted anyarray, percent numeric) RETURNS anyelement
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS 'SELECT sorted[ceil(percent * 0.01 * cardinality(sorted))::integer]';
COMMENT ON FUNCTION braid.nearest_rank(anyarray, numeric) IS
    'The percentile by nearest rank of values in ascending order: the one at ceil(percent * n / 100), exactly. percentile_disc computes that product in floating point: of 100 values it takes the 56th for 0.55.';

CREATE FUNCTION braid.ms(ns numeric) RETURNS numeric
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS 'SELECT round(ns * 0.000001, 3)';
COMMENT ON FUNCTION braid.ms(numeric) IS 'Nanoseconds as milliseconds, to the microsecond.';

CREATE FUNCTION braid.rate(part numeric, whole numeric) RETURNS numeric
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS 'SELECT round(part / nullif(whole, 0), 6)';
COMMENT ON FUNCTION braid.rate(numeric, numeric) IS 'Nothing of nothing is no rate.';

CREATE FUNCTION braid.quantiles(sorted bigint[]) RETURNS json
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS 'SELECT json_build_object(''sample_count'', coalesce(cardinality(sorted), 0), ''p50'', braid.ms(braid.nearest_rank(sorted, 50)), ''p90'', braid.ms(braid.nearest_rank(sorted, 90)),
        ''p95'', braid.ms(braid.nearest_rank(sorted, 95)), ''p99'', braid.ms(braid.nearest_rank(sorted, 99)))';
COMMENT ON FUNCTION braid.quantiles(bigint[]) IS 'Percentiles of nanoseconds in ascending order, in milliseconds, as reports have them.';

CREATE FUNCTION braid.state_order(state text) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS 'SELECT coalesce(array_position(ARRAY[''hit'', ''miss'', ''bypassed'', ''disabled'', ''mixed'', ''unknown''], state), 7)';
COMMENT ON FUNCTION braid.state_order(text) IS 'The place of a cache state where they are listed.';

CREATE VIEW braid.v_findings AS
SELECT f.run, r.environment, r.profile_name, f.chart, c.name AS chart_name, f.filters_hash, f.role, f.time_range, f.digests, f.order_only,
       f.relative_range OR coalesce(r.relative_filters::jsonb ? f.filters_hash, false) OR f.time_range = '' AND coalesce(c.relative, false) AS time_dependent
FROM braid.findings AS f LEFT JOIN braid.load_runs AS r USING (run) LEFT JOIN braid.load_charts AS c ON c.snapshot = r.snapshot AND c.chart = f.chart;
COMMENT ON VIEW braid.v_findings IS 'Groups of executions that should have had the same data and had not. With time_dependent they ask for other dates at another time; with order_only their rows differ in order alone.';

CREATE VIEW braid.v_executions AS
SELECT e.run, r.environment, r.profile_name, e.number, e.attempt, e.chart, e.role, e.time_range, e.filters_hash, e.variation_id, e.repeat_of,
       e.outcome, e.kind, e.status, e.message, e.cache_state, e.async, e.request_force,
       braid.ms(e.queue_wait_ns) AS queue_wait_ms, braid.ms(e.resource_wait_ns) AS resource_wait_ms, braid.ms(e.upstream_ns) AS upstream_latency_ms,
       braid.ms(e.queue_wait_ns::numeric + e.resource_wait_ns + e.upstream_ns) AS end_to_end_ms, braid.ms(e.from_intended_ns) AS from_intended_ms,
       e.result_rows, e.body_bytes, e.wire_bytes, e.data_sha256, e.requests, e.polls, e.enqueued, e.taken, e.admitted, e.finished, e.worker
FROM braid.executions AS e LEFT JOIN braid.load_runs AS r USING (run)
WHERE e.counted AND NOT e.warm_up;
COMMENT ON VIEW braid.v_executions IS 'The executions that count, without the warm-up''s.';

CREATE VIEW braid.v_run_groups AS
SELECT run, chart, role, cache_state, async, recorded, success + errors + timeouts AS completed, success, errors, timeouts, cancelled, not_started, repeats,
       braid.rate(errors, success + errors + timeouts) AS error_rate, braid.rate(timeouts, success + errors + timeouts) AS timeout_rate,
       coalesce(cardinality(up), 0) AS samples,
       braid.ms(braid.nearest_rank(up, 50)) AS p50_ms, braid.ms(braid.nearest_rank(up, 90)) AS p90_ms,
       braid.ms(braid.nearest_rank(up, 95)) AS p95_ms, braid.ms(braid.nearest_rank(up, 99)) AS p99_ms,
       result_rows, body_bytes, wire_bytes
FROM (
    SELECT run, chart, role, cache_state, async AND outcome = 'success' AS async, count(*) AS recorded,
           count(*) FILTER (WHERE outcome = 'success') AS success, count(*) FILTER (WHERE outcome = 'error') AS errors,
           count(*) FILTER (WHERE outcome = 'timeout') AS timeouts, count(*) FILTER (WHERE outcome = 'cancelled') AS cancelled,
           count(*) FILTER (WHERE outcome = 'not_started') AS not_started, count(*) FILTER (WHERE outcome = 'success' AND repeat_of IS NOT NULL) AS repeats,
           array_agg(upstream_ns ORDER BY upstream_ns) FILTER (WHERE outcome = 'success') AS up,
           sum(result_rows) AS result_rows, sum(body_bytes) AS body_bytes, sum(wire_bytes) AS wire_bytes
    FROM braid.executions WHERE counted AND NOT warm_up GROUP BY run, chart, role, cache_state, 5
) AS g;
COMMENT ON VIEW braid.v_run_groups IS 'A run by chart, role, cache state and way. samples is how many successes the percentiles of the upstream latency are over; what did not succeed has no cache state.';

CREATE VIEW braid.v_run_summary AS
SELECT r.run, r.environment, r.dashboard, r.profile, r.profile_revision, r.profile_name, r.class, r.state, r.ending, r.reason, r.owner, r.team,
       r.created, r.started, r.closed, r.ended, r.effective_capacity, r.request_force, r.total,
       coalesce(t.recorded, 0) AS recorded, coalesce(t.success, 0) + coalesce(t.errors, 0) + coalesce(t.timeouts, 0) AS completed,
       coalesce(t.success, 0) AS success, coalesce(t.errors, 0) AS errors, coalesce(t.timeouts, 0) AS timeouts,
       coalesce(t.cancelled, 0) AS cancelled, coalesce(t.not_started, 0) AS not_started, coalesce(t.warm_up, 0) AS warm_up,
       CASE WHEN r.state = 'ended' THEN greatest(r.total - coalesce(t.recorded, 0) - coalesce(t.warm_up, 0), 0) END AS not_dispatched,
       coalesce(t.attempts, 0) AS attempts, coalesce(t.requests_sent, 0) AS requests_sent,
       braid.rate(t.errors, t.success + t.errors + t.timeouts) AS error_rate, braid.rate(t.timeouts, t.success + t.errors + t.timeouts) AS timeout_rate,
       s.hits, s.misses, braid.rate(s.hits, s.hits + s.misses) AS hit_rate, s.mixed_states,
       coalesce(cardinality(s.up), 0) AS samples,
       braid.ms(braid.nearest_rank(s.up, 50)) AS upstream_p50_ms, braid.ms(braid.nearest_rank(s.up, 90)) AS upstream_p90_ms,
       braid.ms(braid.nearest_rank(s.up, 95)) AS upstream_p95_ms, braid.ms(braid.nearest_rank(s.up, 99)) AS upstream_p99_ms,
       braid.ms(braid.nearest_rank(s.queue, 50)) AS queue_p50_ms, braid.ms(braid.nearest_rank(s.queue, 99)) AS queue_p99_ms,
       braid.ms(braid.nearest_rank(s.resource, 50)) AS resource_p50_ms, braid.ms(braid.nearest_rank(s.resource, 99)) AS resource_p99_ms,
       braid.ms(braid.nearest_rank(s.whole, 50)) AS end_to_end_p50_ms, braid.ms(braid.nearest_rank(s.whole, 99)) AS end_to_end_p99_ms,
       (SELECT count(*) FROM braid.findings AS f WHERE f.run = r.run) AS findings
FROM braid.load_runs AS r
LEFT JOIN braid.run_totals AS t USING (run)
LEFT JOIN (
    SELECT run, count(*) FILTER (WHERE cache_state = 'hit') AS hits, count(*) FILTER (WHERE cache_state = 'miss') AS misses,
           count(DISTINCT cache_state) > 1 AS mixed_states,
           array_agg(upstream_ns ORDER BY upstream_ns) AS up, array_agg(queue_wait_ns ORDER BY queue_wait_ns) AS queue,
           array_agg(resource_wait_ns ORDER BY resource_wait_ns) AS resource,
           array_agg(queue_wait_ns + resource_wait_ns + upstream_ns ORDER BY queue_wait_ns + resource_wait_ns + upstream_ns) AS whole
    FROM braid.executions WHERE counted AND NOT warm_up AND outcome = 'success' GROUP BY run
) AS s USING (run)
WHERE r.forgotten IS NULL;
COMMENT ON VIEW braid.v_run_summary IS 'One row a load run. Its percentiles are over all its successes: with mixed_states, hits and misses are in one number, and v_run_groups has them apart.';

CREATE VIEW braid.v_query_summary AS
SELECT q.query, q.name, q.service, q.collection, q.state, q.stop_kind, q.stop_reason, q.owner, q.team, q.created, q.updated, q.removed, q.chunks,
       coalesce(c.with_rows, 0) AS with_rows, coalesce(c.empty, 0) AS empty, coalesce(c.split, 0) AS split, coalesce(c.failed, 0) AS failed,
       coalesce(c.result_rows, 0) AS result_rows, coalesce(c.bytes, 0) AS bytes, coalesce(c.requests, 0) AS requests, c.first_started, c.last_finished
FROM braid.queries AS q LEFT JOIN (
    SELECT query, count(*) FILTER (WHERE outcome = 'rows') AS with_rows, count(*) FILTER (WHERE outcome = 'empty') AS empty,
           count(*) FILTER (WHERE outcome = 'split') AS split, count(*) FILTER (WHERE outcome = 'failed') AS failed, sum(result_rows) AS result_rows,
           sum(bytes) AS bytes, sum(requests) AS requests, min(started) AS first_started, max(finished) AS last_finished
    FROM braid.chunks GROUP BY query
) AS c USING (query);
COMMENT ON VIEW braid.v_query_summary IS 'One row a query, with what came of its chunks.';

CREATE VIEW braid.v_service_usage AS
SELECT coalesce(q.service, '?') AS service, 'query' AS purpose, date_trunc('day', a.sent AT TIME ZONE 'UTC')::date AS day, count(*) AS requests,
       count(*) FILTER (WHERE a.status BETWEEN 200 AND 299) AS answered, count(*) FILTER (WHERE a.status = 429) AS refused_for_quota,
       count(*) FILTER (WHERE a.status >= 500 OR a.status = 0) AS service_errors, sum(a.bytes) AS bytes, count(DISTINCT a.query) AS queries,
       braid.ms(braid.nearest_rank(array_agg(a.upstream_ns ORDER BY a.upstream_ns), 50)) AS p50_ms,
       braid.ms(braid.nearest_rank(array_agg(a.upstream_ns ORDER BY a.upstream_ns), 95)) AS p95_ms
FROM braid.attempts AS a LEFT JOIN braid.queries AS q USING (query)
GROUP BY 1, 3
UNION ALL
SELECT coalesce(r.environment, '?'), 'load', date_trunc('day', a.at AT TIME ZONE 'UTC')::date, count(*),
       count(*) FILTER (WHERE e.status BETWEEN 200 AND 299), count(*) FILTER (WHERE e.status = 429),
       count(*) FILTER (WHERE e.status >= 500 OR e.status = 0), sum(e.wire_bytes), count(DISTINCT a.run),
       braid.ms(braid.nearest_rank(array_agg(e.upstream_ns ORDER BY e.upstream_ns) FILTER (WHERE e.run IS NOT NULL), 50)),
       braid.ms(braid.nearest_rank(array_agg(e.upstream_ns ORDER BY e.upstream_ns) FILTER (WHERE e.run IS NOT NULL), 95))
FROM braid.admissions AS a LEFT JOIN braid.load_runs AS r USING (run)
LEFT JOIN braid.executions AS e ON e.run = a.run AND e.number = a.number AND e.attempt = a.attempt AND NOT a.repeat
GROUP BY 1, 3;
COMMENT ON VIEW braid.v_service_usage IS 'Requests by service, purpose and day (UTC). A service whose record the ledger has not seen is ?.';

CREATE VIEW braid.v_check AS
SELECT run, t IS NULL AS no_totals, h IS NULL AS no_rows, t.recorded, t.success, t.errors, t.timeouts, t.cancelled, t.not_started, t.warm_up, t.attempts, t.requests_sent,
       h.recorded AS rows_recorded, h.success AS rows_success, h.errors AS rows_errors, h.timeouts AS rows_timeouts, h.cancelled AS rows_cancelled,
       h.not_started AS rows_not_started, h.warm_up AS rows_warm_up, h.attempts AS rows_attempts, h.requests_sent AS rows_requests_sent
FROM braid.run_totals AS t FULL JOIN (
    SELECT run, sum(recorded)::bigint AS recorded, sum(success)::bigint AS success, sum(errors)::bigint AS errors, sum(timeouts)::bigint AS timeouts,
           sum(cancelled)::bigint AS cancelled, sum(not_started)::bigint AS not_started, sum(warm_up)::bigint AS warm_up, sum(attempts)::bigint AS attempts,
           sum(requests_sent)::bigint AS requests_sent
    FROM (
        SELECT run, count(*) FILTER (WHERE counted AND NOT warm_up) AS recorded,
               count(*) FILTER (WHERE counted AND NOT warm_up AND outcome = 'success') AS success, count(*) FILTER (WHERE counted AND NOT warm_up AND outcome = 'error') AS errors,
               count(*) FILTER (WHERE counted AND NOT warm_up AND outcome = 'timeout') AS timeouts, count(*) FILTER (WHERE counted AND NOT warm_up AND outcome = 'cancelled') AS cancelled,
               count(*) FILTER (WHERE counted AND NOT warm_up AND outcome = 'not_started') AS not_started, count(*) FILTER (WHERE counted AND warm_up) AS warm_up,
               count(*) AS attempts, 0 AS requests_sent
        FROM braid.executions GROUP BY run
        UNION ALL
        SELECT run, 0, 0, 0, 0, 0, 0, 0, 0, count(*) FROM braid.admissions GROUP BY run
    ) AS one GROUP BY run
) AS h USING (run)
WHERE NOT EXISTS (SELECT FROM braid.load_runs AS r WHERE r.run = coalesce(t.run, h.run) AND r.forgotten IS NOT NULL)
  AND (t.recorded, t.success, t.errors, t.timeouts, t.cancelled, t.not_started, t.warm_up, t.attempts, t.requests_sent)
      IS DISTINCT FROM (h.recorded, h.success, h.errors, h.timeouts, h.cancelled, h.not_started, h.warm_up, h.attempts, h.requests_sent);
COMMENT ON VIEW braid.v_check IS 'Runs whose totals are not what their rows amount to. There must be none.';

CREATE INDEX attempts_by_time ON braid.attempts (sent);
CREATE INDEX load_runs_by_environment ON braid.load_runs (environment, created);
CREATE INDEX executions_with_sample ON braid.executions (run) WHERE sample IS NOT NULL;
CREATE INDEX queries_by_time ON braid.queries (created);
