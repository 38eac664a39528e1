-- Load runs: their profiles, records, executions and findings.

CREATE TABLE braid.load_profiles (
    profile     text NOT NULL,
    revision    bigint NOT NULL,
    name        text NOT NULL,
    environment text NOT NULL,
    dashboard   text NOT NULL,
    owner       text,
    team        text,
    created     timestamptz,
    updated     timestamptz,
    document    json NOT NULL,
    PRIMARY KEY (profile, revision)
);
COMMENT ON TABLE braid.load_profiles IS 'Each revision of a profile that a run was started with, or that was the newest when the ledger looked.';

CREATE TABLE braid.load_runs (
    run                text PRIMARY KEY,
    profile            text NOT NULL,
    profile_revision   bigint NOT NULL,
    profile_name       text NOT NULL,
    environment        text NOT NULL,
    dashboard          text NOT NULL,
    title              text,
    class              text NOT NULL,
    state              text NOT NULL,
    ending             text,
    reason             text,
    total              bigint NOT NULL,
    charts             bigint NOT NULL,
    selected           bigint NOT NULL,
    theoretical        text NOT NULL,
    selection          text NOT NULL,
    snapshot           text NOT NULL,
    fingerprint        text NOT NULL,
    effective_capacity bigint NOT NULL,
    capacity           json NOT NULL,
    request_force      boolean NOT NULL,
    gate_hash          text,
    approved_by        text,
    approval_reason    text,
    trip               json,
    owner              text,
    team               text,
    created            timestamptz NOT NULL,
    started            timestamptz,
    closed             timestamptz,
    ended              timestamptz,
    updated            timestamptz NOT NULL,
    removed            timestamptz,
    document           json NOT NULL,
    revision           bigint NOT NULL,
    relative_filters   json NOT NULL,
    forgotten          timestamptz
);
COMMENT ON COLUMN braid.load_runs.relative_filters IS 'hashes of the filter lists that mean other dates at another time';
COMMENT ON COLUMN braid.load_runs.forgotten IS 'set while its rows are being removed';
COMMENT ON TABLE braid.load_runs IS 'The newest record of each load run; document is the whole of it, with the profile as it was at the start.';

CREATE TABLE braid.load_charts (
    snapshot text NOT NULL,
    chart    bigint NOT NULL,
    ordinal  bigint NOT NULL,
    name     text NOT NULL,
    viz_type text NOT NULL,
    relative boolean NOT NULL,
    PRIMARY KEY (snapshot, chart)
);
COMMENT ON COLUMN braid.load_charts.relative IS 'its own request means other dates at another time';
COMMENT ON TABLE braid.load_charts IS 'The charts of the snapshots that runs were started with, in the order of the dashboard.';

CREATE TABLE braid.executions (
    run               text NOT NULL,
    number            bigint NOT NULL,
    attempt           bigint NOT NULL,
    counted           boolean NOT NULL,
    warm_up           boolean NOT NULL,
    chart             bigint NOT NULL,
    variation_id      text NOT NULL,
    filters_hash      text NOT NULL,
    role              text NOT NULL,
    time_range        text NOT NULL,
    repeat_of         bigint,
    outcome           text NOT NULL,
    kind              text NOT NULL,
    status            bigint NOT NULL,
    message           text NOT NULL,
    queue_wait_ns     bigint NOT NULL,
    resource_wait_ns  bigint NOT NULL,
    upstream_ns       bigint NOT NULL,
    from_intended_ns  bigint,
    reader_lag_ns     bigint NOT NULL,
    clock_source      text NOT NULL,
    clock_offset_ns   bigint NOT NULL,
    clock_within_ns   bigint NOT NULL,
    enqueued          timestamptz,
    taken             timestamptz,
    admitted          timestamptz,
    finished          timestamptz,
    requests          bigint NOT NULL,
    polls             bigint NOT NULL,
    async             boolean NOT NULL,
    request_force     boolean NOT NULL,
    cache_state       text,
    queries           json,
    body_sha256       text,
    data_sha256       text,
    row_set           text,
    body_bytes        bigint NOT NULL,
    wire_bytes        bigint NOT NULL,
    result_rows       bigint NOT NULL,
    sample            text,
    sample_truncated  boolean NOT NULL,
    filter_rejected   json,
    worker            text NOT NULL,
    stored            timestamptz NOT NULL,
    sequence          bigint NOT NULL,
    PRIMARY KEY (run, number, attempt)
);
COMMENT ON TABLE braid.executions IS 'Each record of an execution, one for each attempt. Statistics are over those that are counted.';
COMMENT ON COLUMN braid.executions.counted IS 'the first that was stored of its number';
COMMENT ON COLUMN braid.executions.sequence IS 'in the stream: executions of a run in the order of this are in the order in which they were stored';
COMMENT ON COLUMN braid.executions.row_set IS 'SHA-256 of the rows without their order, where the sample is all of them';
COMMENT ON COLUMN braid.executions.sample IS 'JSON array of the first rows of the first query, as they were received';

CREATE TABLE braid.admissions (
    run      text NOT NULL,
    number   bigint NOT NULL,
    attempt  bigint NOT NULL,
    repeat   boolean NOT NULL,
    worker   text NOT NULL,
    at       timestamptz NOT NULL,
    sequence bigint NOT NULL,
    PRIMARY KEY (run, number, attempt, repeat)
);
COMMENT ON TABLE braid.admissions IS 'Each request that was about to be sent. Their number is what a run has sent, at most.';

CREATE TABLE braid.run_totals (
    run           text PRIMARY KEY,
    recorded      bigint NOT NULL DEFAULT 0,
    success       bigint NOT NULL DEFAULT 0,
    errors        bigint NOT NULL DEFAULT 0,
    timeouts      bigint NOT NULL DEFAULT 0,
    cancelled     bigint NOT NULL DEFAULT 0,
    not_started   bigint NOT NULL DEFAULT 0,
    warm_up       bigint NOT NULL DEFAULT 0,
    attempts      bigint NOT NULL DEFAULT 0,
    requests_sent bigint NOT NULL DEFAULT 0
);
COMMENT ON TABLE braid.run_totals IS 'What the rows of executions and admissions amount to, changed with them in one transaction. Executions of the warm-up are in warm_up and attempts alone.';

CREATE TABLE braid.findings (
    run            text NOT NULL,
    chart          bigint NOT NULL,
    filters_hash   text NOT NULL,
    role           text NOT NULL,
    time_range     text NOT NULL,
    relative_range boolean NOT NULL,
    order_only     boolean NOT NULL,
    digests        json NOT NULL,
    PRIMARY KEY (run, chart, filters_hash, role, time_range)
);
COMMENT ON COLUMN braid.findings.relative_range IS 'the time range means other dates at another time; v_findings knows of filters and charts too';
COMMENT ON TABLE braid.findings IS 'Groups of successful executions that should have had the same data and had not; changed with the executions in one transaction.';

CREATE INDEX executions_by_data ON braid.executions (run, chart, filters_hash, role, time_range, data_sha256)
    WHERE counted AND NOT warm_up AND outcome = 'success' AND data_sha256 IS NOT NULL;
