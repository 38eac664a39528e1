// Package query reads query files: which data of which service a person wants, where the table goes, and how much quota
// it may cost.
//
// A Query is what the file says. Resolve loads the value files it names and freezes what depends on the day; Spec is
// the result, complete in itself: it is what is submitted, pinned and planned, and it reads the same everywhere. The
// package opens no file and asks no clock: both come in as parameters.
package query
