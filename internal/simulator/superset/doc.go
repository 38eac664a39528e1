// Package superset is a faithful fake of Apache Superset's HTTP API, as far as load runs and ordinary queries touch it: it answers like the
// real server of a release (Profile), caches like it, refuses like it, fails when told to, and keeps a record that others are judged by.
//
// A Server is an http.Handler. Tests make it with New and steer it by its methods; as a process it is braid simulator --superset, steered
// under /_fake/ (see controlPaths). It asks for no credentials there, so it belongs on loopback, and Serve listens nowhere else.
//
// # What it knows
//
// Login, refresh, CSRF and guest tokens, the login page; dashboards with their charts, datasets and tabs; charts and their stored query
// contexts; chart/data with POST and GET; both asynchronous paths; what depends on a dataset (related_objects); lists by page.
//
// DefaultWorld has the roles Admin, Alpha, Ops (five datasets, no clauses), Gamma (four datasets, clauses on three), Sales (no dataset, but
// listed by the sales dashboard), Embedder (orders guest tokens), Nobody, and Public for guests. There is one identity for each but the
// last: its name in small letters, its password NAME-secret, its provider db. Lena is an Alpha of provider ldap.
//
// SalesDashboard has ten charts that can be run, on two tabs: 101 to 104 and 106 plain, among them one with time_range (102) and one with
// two query objects (103); 105 is never cached, 107 for ever, 108 for five minutes; 109 was saved with force and without cache fields; 110
// has time_range. Four cannot: 131 has no query context, 132 is on the older data path, 133 has a broken query context, and only Admin and
// Alpha may read the dataset of 134.
//
// # Two clocks
//
// Stamps, tokens, the cache's timeouts and the rate limit go by the server's clock: Config.Now and what Advance has added. Latency passes in
// real time (in a synctest bubble, in the bubble's). The record's times are read from the monotonic clock.
//
// # The record
//
// A request is in flight from its arrival to just before the last piece of its answer is written. So whoever starts a request only after
// it has read the whole of another is never counted as having two in flight. One whose client gave up is in flight until the server notices, or, with
// Config.Orphans, until its query has ended, as at the real server.
//
// # Chance and data
//
// Rows are a pure function of the seed, the dataset, columns, filters, resolved dates and clauses. Faults with a rate, latencies and
// shuffled orders are a function of the seed, the identity, the payload and how often that identity has sent that payload, not of the order
// of arrival. Ordinals are of arrival, per route.
//
// Neither results nor cache entries hold rows, but what they are made of: a million rows cost no more than ten, and a body is written piece by piece.
//
// Where it is simpler than the real server: filters narrow text columns and otherwise change the values alone; rows are never sorted or
// processed further; clauses are understood as far as =, !=, <>, IN and NOT IN on texts go, and otherwise change the values alone; lists take
// paging and order in Rison, no filters; a refused connection is one that is reset after it was accepted; there is no xlsx.
package superset
