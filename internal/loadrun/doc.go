// Package loadrun is the engine of load runs. It names its needs in ports.go and touches nothing itself. Its part on the workers is package
// executor.
//
// The Desk is what people speak to, on any coordinator: profiles, what a dashboard consists of, gates, approvals, start, stop and reports.
// The Controller is the course of active runs, on the coordinator that holds the seat for it. All that they know is in the records and in
// the stream of executions: a controller that takes over reads both from their beginning, comes to the same decisions, and goes on.
//
// A run is preparing, running, draining and ended, in this order. It drains when its intake is closed, whatever the reason. Who stops it
// writes first that it drains, and then closes the intake; who finds it draining closes the intake again. The controller closes the
// intake first when the breaker trips, since the next one to take over sees the same trip. Either way nothing is admitted after the intake has
// been closed, because the stream refuses it; no timing and no cache of anybody is trusted for that.
//
// What fails: a controller that dies is followed by another one. A worker that dies leaves an item, which is delivered again, or when the run
// drains an admission without a record: the controller then stores the record in its stead. Records that cannot be read end the run as failed.
package loadrun
