// Package scratch keeps in files what a table cannot hold in memory while it is made and read.
//
// Acts on: the file system, in one folder. Nothing here outlives its use: where the system allows it a file has no name any more
// once it is open, so that nothing is left after a crash either.
package scratch
