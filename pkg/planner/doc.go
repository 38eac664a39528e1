// Package planner divides: it turns the values of a query into a plan, the sized, repeatably iterable, deterministic
// enumeration of the query's chunks. It executes nothing, and knows neither workers nor time.
//
// The axes of the collection, slowest first, are the order of the result; a chunk's place in the enumeration is its
// position, and positions are the identity of chunks. Equal input gives an equal plan, with an equal Fingerprint: that is
// what lets a resume trust the positions that are complete.
//
// A request is measured as it is sent: the bytes of its escaped URL and of its body. Divide first lays the axes, with the
// windows of intervals (window.go); then cuts lists and filters with the fewest requests (scale.go weighs pieces, pack.go
// fills them on one axis, search.go decides among several); then divides further where rows (rows.go) or max_chunks
// (refine.go) ask. Split divides a single chunk that the service found too large.
package planner
