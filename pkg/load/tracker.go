package load

import "time"

// RunTracker is told of a run's records, in the order in which they were stored.
type RunTracker struct {
	Admission func(a *Admission, sequence uint64)
	Execution func(e *Execution, sequence uint64, stored time.Time)
	Bad       func(sequence uint64, err error) // cannot be read
	CaughtUp  func()                           // once, when all that was there has been seen
}
