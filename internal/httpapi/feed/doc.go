// Package feed tells any number of readers how queries change: one watch of the store for all of them, one encoding of each event.
//
// The hub keeps the newest status of each query and the last events of all, within bounds. It paces each query: at most one event in a
// Gap, and the newest status wins; only a change of a query's state or run is never passed over. What a reader has not taken yet is a
// number, not a queue: a reader that is slow or gone holds up nobody and costs no memory, and finds the newest when it comes back.
//
// An event's id is the revision in the store of the last change that it tells of. The records and the progress of all queries share
// one sequence there, so that every coordinator understands the ids of every other one.
//
// The hub is safe for concurrent use. It reads the clock only to pace events, and is tested in synctest bubbles.
package feed
