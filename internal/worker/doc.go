// Package worker is the engine that runs chunks: take an item, hold a slot for each attempt, fetch all pages, commit the
// result, acknowledge the item. It owns the flow and touches nothing itself: queue, results, records and upstream come in
// through ports.go.
//
// What an item can end as, and what becomes of it:
//
//	result committed, or one was there   acknowledged
//	its workers died of it (poison.go)   committed as a failed result, acknowledged
//	failure (deterministic)              committed as a failed result, acknowledged
//	too large, and can be divided        committed as a split, acknowledged
//	interruption (quota, service, stop)  published as an event, acknowledged: a resume asks again
//	worker told to stop                  handed back at once for another worker
//	lease lost, store away               left alone: it comes again when the queue's patience ends
//
// A partial page walk is never a result: the commit is one write. But each page that names a next one is stored as it comes,
// and an item that may have been run before goes on behind the last stored page, so that an interruption costs the one request
// that was refused. A slot is held per attempt and never during backoff, a closed gate or the commit. A worker that was
// paused finds out by its own monotonic clock that its lease is over, throws away the page it was fetching, and leaves the
// position to whoever has it now.
package worker
