-- Queries, their chunks, the requests that were sent, and what interrupted them.

CREATE TABLE braid.queries (
    query        text PRIMARY KEY,
    name         text NOT NULL,
    service      text NOT NULL,
    collection   text NOT NULL,
    definition   text NOT NULL,
    spec         text NOT NULL,
    fingerprint  text NOT NULL,
    chunks       bigint NOT NULL,
    url          text NOT NULL,
    state        text NOT NULL,
    run          bigint NOT NULL,
    stop_kind    text,
    stop_reason  text,
    stop_until   timestamptz,
    base         text,
    owner        text,
    team         text,
    created      timestamptz NOT NULL,
    updated      timestamptz NOT NULL,
    removed      timestamptz,
    revision     bigint NOT NULL
);
COMMENT ON TABLE braid.queries IS 'The newest record of each query. A query that was removed from Braid stays here, with the time of that.';
COMMENT ON COLUMN braid.queries.revision IS 'of the record in its bucket: an older one never replaces a newer one';

CREATE TABLE braid.chunks (
    query           text NOT NULL,
    position        text NOT NULL,
    run             bigint NOT NULL,
    outcome         text NOT NULL,
    result_rows     bigint NOT NULL,
    pages           bigint NOT NULL,
    requests        bigint NOT NULL,
    bytes           bigint NOT NULL,
    sha256          text NOT NULL,
    attempt         text NOT NULL,
    worker          text NOT NULL,
    started         timestamptz,
    finished        timestamptz,
    slot_wait_ns    bigint NOT NULL,
    upstream_ns     bigint NOT NULL,
    failure_class   text,
    failure_status  bigint,
    failure_message text,
    stored          timestamptz NOT NULL,
    sequence        bigint NOT NULL,
    PRIMARY KEY (query, position)
);
COMMENT ON TABLE braid.chunks IS 'The result of each position of a query, without its rows.';

CREATE TABLE braid.attempts (
    query        text NOT NULL,
    run          bigint NOT NULL,
    position     text NOT NULL,
    attempt      text NOT NULL,
    page         bigint NOT NULL,
    try          bigint NOT NULL,
    worker       text NOT NULL,
    class        text NOT NULL,
    status       bigint NOT NULL,
    bytes        bigint NOT NULL,
    sent         timestamptz NOT NULL,
    slot_wait_ns bigint NOT NULL,
    upstream_ns  bigint NOT NULL,
    PRIMARY KEY (query, position, attempt, page, try)
);
COMMENT ON TABLE braid.attempts IS 'Each request that a worker sent for a query. Without an answer its status is 0.';

CREATE TABLE braid.interruptions (
    query    text NOT NULL,
    run      bigint NOT NULL,
    position text NOT NULL,
    service  text NOT NULL,
    kind     text NOT NULL,
    status   bigint NOT NULL,
    reason   text NOT NULL,
    until    timestamptz,
    worker   text NOT NULL,
    at       timestamptz NOT NULL,
    sequence bigint NOT NULL,
    PRIMARY KEY (query, run, position, worker, at, kind)
);

CREATE TABLE braid.rejects (
    feed     text NOT NULL,
    sequence bigint NOT NULL,
    subject  text NOT NULL,
    stored   timestamptz NOT NULL,
    reason   text NOT NULL,
    PRIMARY KEY (feed, sequence, subject)
);
COMMENT ON TABLE braid.rejects IS 'Records that could not be read, or that the database took in no form.';
