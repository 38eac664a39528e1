// Package postgres starts a PostgreSQL server for tests, with a folder of its own and a socket in it: it opens no port. It takes the one
// that the machine has, else the one that `make postgres` installs.
package postgres
