// Package lease is a counting semaphore whose slots are shared by processes: at most N requests are in flight at a
// service, however many workers run. It needs nothing but a Store: a small key-value store with compare-and-set, expiry
// and a watch.
//
// # States
//
// A slot is one key, "<service>.<index>", or "<service>/<capacity>.<index>" where it is of a named capacity. It is free when the key was never written, holds an empty value, or has expired;
// it is held while a value stands there that names a lease. For its holder a Slot goes through these states:
//
//	waiting ── compare-and-set lands ──▶ held ──▶ released   the key was set free by its holder
//	                                       └────▶ lost       the lease can no longer be trusted
//
// Released and lost are final. A lost slot is never given back by its former holder: only the store's expiry frees it, as
// a request that was sent under the lease may still be on its way.
//
// # Who decides
//
// The store decides who holds a slot, by compare-and-set on the key's revision, and it alone decides when a dead holder's
// slot is free again, by the key's expiry. What a process saw in its watch is only a hint on where to try; a stale hint
// costs one refused write. The holder alone decides how long it may trust its lease: from the start of the last attempt to
// write that was acknowledged in time, for TTL minus Margin. Counting from the start, not from the acknowledgement, makes
// the holder's window end before the store's, whatever the network did to either message; Margin pays for the difference
// between the clocks of the store's servers and for the time a request needs to be cut.
//
// Slot.Valid compares this deadline with the clock at the moment it is asked. A process that was stopped and goes on must
// ask before each request and each write, because its timers may run later than its other code. The deadline passes when
// either the monotonic or the wall clock has reached it: the monotonic clock of a machine that slept did not count the
// sleep, and a wall clock that is set forward ends leases early, which is safe. Nothing extends a deadline but a renewal.
//
// # The cap
//
// It may change while slots are held. A lower one waits: holders finish, of whatever index, and nothing is granted until fewer are
// held. A higher one, and a service that opens after it was closed to all (Ramp), rise by a ramp: see rampFor. A ramp is a function of
// the clock and of what all processes know, so that they agree on it without a word. While it lasts the slots of the highest numbers
// are nobody's, so that compare-and-set holds it as it holds the cap.
//
// # Failures
//
//   - The holder dies: no renewal comes, the store expires the key one TTL after the last one, the watch tells everybody,
//     and another takes the slot.
//   - The holder is stopped (collector, virtual machine, signal): when it goes on it finds the deadline passed. What it
//     sent before may overlap with a new holder for as long as that one request lasts.
//   - The store cannot be reached: renewals go unanswered and are repeated until the deadline, then the slot is lost.
//     Nobody else can write either, or the key expires after the holder has stopped.
//   - The store answers late: an acknowledgement that arrives after the deadline extends nothing, for the store may have
//     expired the key behind it. An acquisition acknowledged after its own deadline counts as none.
//   - No answer, or an error that says nothing: the write may have landed. The lease's random id in the value tells: an
//     authoritative read that shows it means the write landed, and its revision is adopted, trusted from the start of the
//     earliest attempt still in doubt.
//   - The compare-and-set is refused: an authoritative read shows whose the slot is. A refusal although nothing changed
//     passes and is tried again.
//   - The watch shows another lease, or none, on a held slot: it is lost at once, before the deadline.
//   - The watch is lost: it is opened anew and all known slots are read; they are read every 30 to 60 seconds anyway.
//   - The watch is silent about an expiry: while somebody waits here, a slot of another that was not renewed for a TTL and a
//     second is read, again after 2, 4, 8 and more seconds if its lease still stands.
//   - The store cannot be reached when a slot is to be given back: that is tried again for as long as the caller has time
//     and the lease may stand.
//   - The store forgets that a key once existed: a write that names the old revision is refused, the read shows revision
//     0, and the write is repeated with that.
//   - The store loses its data: slots look free while their holders work on until their deadlines. A Store that can tell, because
//     it held other data before while the process ran, refuses writes for one TTL: holders end, and then slots are granted
//     anew. A process that begins in that time cannot tell; neither can anybody when data is rolled back to an earlier state.
//   - Many processes wake for one free slot: each waits a random moment, and gives up when the slot has moved meanwhile.
//
// No lease can stop a request that is already sent. The promise is about intent: no worker starts or goes on with a
// request that it believes to be covered when it is not. Slot.Context carries that into requests.
//
// Within a process waiters are served in the order they came; between processes whoever writes first wins. A slot that is released while
// somebody waits in the process is handed on to them without the store, for two seconds at most: then it is set free, and
// whoever writes first has it, so that a process with many callers leaves room for others.
package lease
