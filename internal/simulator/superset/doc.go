// Package superset is a faithful fake of Apache Superset's HTTP API, as far as load runs and ordinary queries touch it: it answers like the
// real server of a release, caches like it, refuses like it, fails when told to, and keeps a record to judge others by.
package superset
