// Package simulator is a faithful fake of the upstream services that Braid fetches from: it answers like them, refuses
// like them, fails like them when told to, and counts what it saw.
//
// A Simulator is an http.Handler with two halves. The gateway half is the same for every fake service: it counts
// requests in flight, bounds the URL, checks the key, spends the quota, waits the latency and chooses the fault. The
// service half is a table of routes; behind each stands an endpoint that knows one answer. Today the table holds the
// daily collection of the USGS Water Data OGC API under /ogcapi/v0; another collection is another entry.
//
// A service request passes these gates in this order, and the first that refuses answers:
//
//  1. URL longer than Config.URLBytes: 414 with an HTML page, as the proxy in front would;
//  2. key missing or unknown: 403;
//  3. more than Config.MaxInFlight in flight: 503 or 429;
//  4. quota used up: 429. Only a request that passes this gate costs a unit;
//  5. a fault of the script, before or in place of the answer;
//  6. latency, then the endpoint.
//
// The data are a pure function of Values: any site of the right form has the same rows in every instance, so two
// simulators, or one before and after a restart, can be compared byte for byte. Chance (faults with a rate, jitter of
// the latency) is a function of Config.Seed, the URL and how often that URL was admitted before, not of the order in
// which concurrent requests happen to arrive.
//
// Paths under /_simulator/ steer and read the simulator itself. They are never counted, delayed, refused or faulted.
// They ask for no credentials, so a simulator belongs on loopback, and Serve listens nowhere else.
//
// The simulator does not model filters (CQL2), bounding boxes, durations in time, or the api_key query parameter; a
// parameter it does not know is a 400, as it is at the real service.
package simulator
