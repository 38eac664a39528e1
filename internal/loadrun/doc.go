// Package loadrun is the engine of load runs: profiles, gates, start and stop, the run's course with its breaker, and its report. It names its
// needs in ports.go and touches nothing itself. Its part on the workers is package executor.
package loadrun
