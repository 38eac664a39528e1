-- The hit rate is that of reports and thresholds: hits among all successes, whatever their cache state.
CREATE OR REPLACE VIEW braid.v_run_summary AS
SELECT r.run, r.environment, r.dashboard, r.profile, r.profile_revision, r.profile_name, r.class, r.state, r.ending, r.reason, r.owner, r.team,
       r.created, r.started, r.closed, r.ended, r.effective_capacity, r.request_force, r.total,
       coalesce(t.recorded, 0) AS recorded, coalesce(t.success, 0) + coalesce(t.errors, 0) + coalesce(t.timeouts, 0) AS completed,
       coalesce(t.success, 0) AS success, coalesce(t.errors, 0) AS errors, coalesce(t.timeouts, 0) AS timeouts,
       coalesce(t.cancelled, 0) AS cancelled, coalesce(t.not_started, 0) AS not_started, coalesce(t.warm_up, 0) AS warm_up,
       CASE WHEN r.state = 'ended' THEN greatest(r.total - coalesce(t.recorded, 0) - coalesce(t.warm_up, 0), 0) END AS not_dispatched,
       coalesce(t.attempts, 0) AS attempts, coalesce(t.requests_sent, 0) AS requests_sent,
       braid.rate(t.errors, t.success + t.errors + t.timeouts) AS error_rate, braid.rate(t.timeouts, t.success + t.errors + t.timeouts) AS timeout_rate,
       s.hits, s.misses, braid.rate(s.hits, cardinality(s.up)) AS hit_rate, s.mixed_states,
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
