// Package load has the words and the rules of load runs: a load run sends the requests that a dashboard sends, in many variations and under a
// capacity, for the sake of their timings and not of their rows.
//
// An environment is a place with dashboards, as a service definition describes it. A profile says what is to be run there. Its snapshot is
// what was found of the dashboard: its charts and their requests, and what else depends on the same data. A run goes through the executions
// of a selection; an execution is one request of one chart in one variation. All types are plain data; the rules are pure functions of
// them. The numbers LR-… in comments are those of docs/load-runs.md.
package load
