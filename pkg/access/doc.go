// Package access says who may do what over Braid's HTTP API: roles and the permissions they hold, tokens and how they are
// written, the file that lists them, and whose queries somebody may change.
//
// A token is 256 random bits, so that nobody guesses one and its SHA-256 can be kept as it is: a slow hash protects
// passwords, which people choose. The file holds digests alone. A token is found by comparing its digest with all of them,
// in a time that does not depend on which one fits, or whether one does.
//
// The package is pure: chance and the present moment are parameters, and it touches no file. No error of it shows any part of
// a token.
package access
