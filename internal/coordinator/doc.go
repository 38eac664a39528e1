// Package coordinator is the engine that leads queries: submit, plan, dispatch a window of items, track results, stop on
// interruption or failure, resume, finish, and build the table. It owns the flow and touches nothing itself.
//
// The truth is in the streams. A query's record says what was asked and where it stands; completion is derived from the
// headers in the result stream, from its first message on, by the same code whether the query has just begun or the
// coordinator has just started. Row bytes are read for the table alone, never for tracking.
//
// Any number of coordinators may accept submits, resumes and cancels: these only write the record, by compare-and-set.
// One of them leads, for as long as it holds the leader's slot; it starts a driver for each active query. Two leaders can
// do no harm: publishing an item that is queued is refused, a second result is refused, and a record changed by the other
// is read again.
package coordinator
