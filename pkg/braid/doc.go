// Package braid is the façade for other Go programs, and what the binaries are wired from:
//
//   - Client speaks to a coordinator over HTTP.
//   - Embedded runs everything in this process: NATS with its data in a directory, a coordinator, workers.
//   - OpenCoordinator and OpenWorker are the daemons; a worker may be given adapters of its own for services that no
//     definition can describe.
//
// Like the commands it only wires: what happens is in the engines.
package braid
