// Package frame makes one table out of the rows of a query's results: it merges the columns, reads the values by their
// declared types, joins the rows in position order, removes duplicates over the whole query and finalizes.
//
// A table holds the server's exact text. A type is a check and a reading of that text, never a new spelling: "1.50"
// declared decimal stays "1.50", and whoever writes the table chooses what a number looks like there. A value that does
// not fit its type becomes null and is counted with its originals in the report; nothing is changed silently.
//
// The outcome depends on the rows and their order alone: not on how they were cut into chunks, on the machine, the
// locale or the order of arrival. Same rows, same table.
//
// What exceeds some 50 MB of rows and keys goes to Scratch, which the caller brings. The package itself reads no file, clock or
// environment, and starts no goroutine.
package frame
