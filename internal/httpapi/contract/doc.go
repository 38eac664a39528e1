// Package contract is what the server and the client of Braid's HTTP API agree on beside the messages: problem documents
// and their kinds, the header that carries a table's report, the body of a resume, and the id that means the newest query.
//
// Each kind of problem stands for one sentinel error. The server says the kind of what it met, the client gives back an
// error that wraps the kind's sentinel, so that callers branch alike in the same process and over HTTP. The package is
// pure: no socket, no log, no clock.
package contract
