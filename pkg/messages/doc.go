// Package messages holds the words that travel between Braid's processes: the item that asks for a chunk, the header of
// a chunk's result, the interruption, the failure and the execution event, with their validation and wire form.
//
// Every message is versioned JSON. Decoding is strict: an unknown field, trailing data, a value out of its bounds or a
// version this build does not know is an error and never a guess. A message carries no secret: credentials are named in
// a service definition and resolved by the worker that sends the request (docs/architecture.md, invariant 10).
//
// The package is the ground floor: it knows no other package of Braid and touches neither network, files nor clock.
package messages
