// Package metrics counts what a process does, and tells what a coordinator sees of the whole system, in Prometheus' text format. Each
// process has a registry of its own. No label holds an id, a position or a URL: the number of series does not grow with the work.
package metrics
