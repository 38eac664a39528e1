// Package retry decides whether a request may be sent again, when, and how often. It sends nothing, sleeps never, and
// knows neither clock nor random source of its own.
//
// A request is sent again only when all of this holds:
//
//   - what happened passes with time: the failure is transient or a refusal for quota, not permanent;
//   - a second execution does no harm: the request is Repeatable, or there is proof that it was not executed;
//   - retries remain. Refusals for quota have a count of their own, as they are no fault of the request;
//   - the service did not ask for more patience than Policy.RetryAfterCap. A longer wait is a pause for the whole
//     service, with the work given back, and no matter of one request;
//   - the service is not silent: a first retry is always allowed, later ones only while the time since data last arrived,
//     with the wait to come, stays within Policy.Stall. Waits that the service asked for and time spent waiting for a slot
//     are not silence. So a dead connection costs two timeouts, not one for each attempt.
//
// The wait is what the service asked for plus up to a second, or else random between nothing and a bound that doubles
// with each retry, so that clients that failed together do not return together.
package retry
