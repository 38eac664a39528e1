// Package simulator is a faithful fake of the upstream services that Braid fetches from: it answers like them, refuses
// like them, fails like them when told to, and counts what it saw.
//
// A Simulator is an http.Handler with two halves. The gateway half bounds the URL, checks the credential, spends the quota,
// waits the latency and chooses the fault. The service half is a table of routes; behind each stands an endpoint that knows
// one answer:
//
//   - /ogcapi/v0: USGS Water Data, every collection of WaterDataCollections, and /ngwmn/ogcapi: NGWMN, those of
//     NGWMNCollections. Both are behind one gateway and share key and quota.
//   - /nwaa-data: NWDC water use, CSV with Link headers, without key or quota.
//   - /open-hydro/api, /bearer, /keyed: an invented service for generic paging: /stations (cursor), /readings.csv (offset),
//     /events (page), /alerts.jsonl (relative Link), and POST /search (form) and /query (JSON) with the cursor in the body.
//     Each path is there three times: a bearer token may be sent, must be, or api_key must be in the query.
//
// A service request passes these gates in this order, and the first that refuses answers:
//
//  1. URL longer than Config.URLBytes: 414 with an HTML page, as the proxy in front would;
//  2. credential missing or unknown: 403, at open-hydro 401;
//  3. more than Config.MaxInFlight in flight: 503 or 429;
//  4. quota used up: 429. Only a request that passes this gate costs a unit;
//  5. a fault of the script, before or in place of the answer;
//  6. a body longer than Config.BodyBytes: 413, or than Config.FirewallBytes: 403 with an HTML page;
//  7. latency, then the endpoint.
//
// The data are a pure function of Values: any site of the right form has the same rows in every instance, so two
// simulators, or one before and after a restart, can be compared byte for byte. Chance (faults with a rate, jitter of
// the latency) is a function of Config.Seed, the URL and how often that URL was admitted before, not of the order in
// which concurrent requests happen to arrive.
//
// Paths under /_simulator/ steer and read the simulator itself. They are never counted, delayed, refused or faulted.
// They ask for no credentials, so a simulator belongs on loopback, and Serve listens nowhere else.
//
// Where it is simpler than the real services: a query that names no site sees Values.Sites sites, not the nation;
// durations count back from the end of the record, not from now; CQL2 is comparisons, in, between, like and isNull under
// and, or, not; a parameter it does not know is a 400, as it is at the real service. Numbers in filters are a 500 there too.
package simulator
