// Package superset speaks to Apache Superset: it logs in, looks dashboards up, and sends the requests of charts, for load runs and for
// ordinary queries alike. It is the only way by which load reaches a server.
//
// Invariants:
//   - Execute sends exactly one request of a chart, and one more when the first was answered with 401 and the token could be renewed; each only
//     after Places.Admit has stored that. Nothing else is ever sent again: not by this package, and not by net/http, which repeats
//     a POST only when not a byte of it was written.
//   - Tokens are ordered once for all workers (pass.go) and are shared encrypted with a key of the credential's own (sealed.go). Secrets, tokens and
//     cookies are in no error, record, address or log.
//   - Everything goes to base_url. Redirects are not followed.
//   - What an execution holds in memory is bounded whatever the server sends (scanner.go, spool.go).
//
// An environment has one Client, in each process; its cookies are kept for each identity, as some features of the server live in cookies alone.
package superset
