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
// Precedence: cancellation, then failure, then interruption; within a class the lowest position. Cancellation is decided by
// whoever cancels, in the query's record, and ends the run from outside.
package resume
