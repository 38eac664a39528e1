// Package bus is the edge to NATS JetStream: the embedded server, the connection, the streams, consumers and buckets,
// and what is published to and read from them. It is the only package that knows NATS; it translates NATS errors into
// those of pkg/messages and pkg/lease.
//
// The guarantees that others build on are settings of the streams, not habits of the clients:
//
//   - RESULTS keeps one message per subject and refuses a second, so the first result of a position wins for ever.
//   - ITEMS does the same while an item is stored, so publishing an item that is still queued is refused.
//   - A result's parts are not a result: only the message under the position's own subject is, and it is one write.
//   - PARTS keeps one message per subject, too, so that a walk over a chunk's pages cannot fork: of two attempts that go on with
//     the same walk one stores the next page, and the other one takes that.
//
// A message that was damaged on disk is passed over by the server, which nevertheless goes on counting it, and can neither
// deliver nor remove it, until it reads its blocks anew. So nothing here waits for a count to be reached; and the embedded
// server reads its blocks anew at each start, so that a damaged message is gone and its position is free for a new result.
//
// A result counts when its publish is acknowledged by the stream, never when an item is acknowledged.
package bus
