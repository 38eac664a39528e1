// Package breaker decides from what comes of executions, one after another, when no more of them are to begin: it looks at
// the last Config.Window completions and trips when too many of them failed, or when the successful ones took too long.
//
// A trip latches: what completes after it is counted and changes nothing, and there is no half-open state. Whoever begins
// anew makes a new Breaker. All comparisons are exact, and "at or above" trips. A Breaker is a pure function of what it was
// told, in that order: whoever reads the same completions in the same order comes to the same decision.
//
// It remembers no more than one window. It neither reads a clock nor waits.
package breaker
