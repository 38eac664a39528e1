// Package executor is the workers' part of load runs: it takes executions in their order, asks for the places that bound how many are in
// flight, has each admitted, lets the client send it, and stores a record of what came of it.
//
// # Order
//
// An execution holds, in this order: a place of its run, which bounds the run; a token of all load of its environment; and, inside the client's
// call, a place among all requests to the environment, the ordinary ones included (LR-2.7). It is taken from the queue when it has the first,
// so that what waits, waits in the queue, where it can be seen (LR-1.7). Right before its request is sent it is admitted: the store
// refuses that once the run's intake is closed, whatever this process knows (LR-1.5). Its record is stored before the queue is told
// that it is done, and its place is given back after that.
//
// # What may go wrong
//
//   - The worker dies: the queue gives the item to another, as another attempt. One whose record is stored already is only taken off
//     the queue. Its places are free when their leases end, which a living worker renews: they are for the time of the service's slots,
//     and not for that of a request, so that a dead worker does not leave the run with less than its capacity for longer than it must.
//     What it had in flight is nobody's then. Its connections are closed by its machine, or, when that is gone too, the target may be at
//     them for a while beside what took their places, as with ordinary requests (package lease).
//   - The worker stands still for longer than a lease: it is asked whether the places hold before and after the admission. An execution
//     that has lost one is cut and left for another attempt; while its run drains, it is recorded as cut.
//   - The intake closes: what is taken and not admitted is recorded as cancelled, what is admitted may finish until the run's time
//     to drain is over, and is then cut and recorded as cancelled.
//   - The worker is to stop: what is admitted may finish for the grace period; all else is handed back.
//   - The store is away: requests in flight go on, and their records are tried to be stored for some minutes. Nothing new is admitted.
package executor
