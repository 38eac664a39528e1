// Package resume decides: from what is known of a query's run it says what is to be done next. It does nothing itself.
//
// A Run is fed with what the streams say (results, interruptions) and with what was dispatched; Next turns its state into
// one action. States of a run:
//
//	dispatching ──interruption──▶ stopping ──all back, or drain over──▶ interrupted
//	     │  └──────failure───────▶ draining ──all back────────────────▶ failed
//	     └──every position has its result────────────────────────────▶ complete
//
// After an interruption the workers hand back what they have not started. After a failure nothing further is begun, but
// all that stands before it in the plan is run to its end, also what was handed back meanwhile: only then does the lowest
// failing position speak, whichever failed first on the clock. A failure of the credentials stops like an interruption:
// every further request would be refused too.
//
// With Limits.Finish a failure keeps nothing back: all the rest is run to its end, and then the lowest failing position
// speaks. With Limits.Only the run is of some positions alone. A breaker (Trip) closes the intake of any run: it stops like
// an interruption, and fails when failures tripped it.
//
// A chunk that was split has its children in its place: 17 is complete when 17.0 and 17.1 are, which may be split in turn.
// Children go before the plan's next positions. What is told of a child counts once all splits above it are told, whatever
// the order; what comes back without a result, child or not, is due again after a rewind.
//
// A run that wants only the first rows of the plan goes one position at a time and is complete with the prefix that has
// them. There the first position without rows is the only one that is dispatched, and the only one whose failure counts.
//
// Precedence: cancellation, then failure, then interruption; within a class the lowest position. Cancellation is decided by
// whoever cancels, in the query's record, and ends the run from outside.
package resume
