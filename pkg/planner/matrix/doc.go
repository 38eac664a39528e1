// Package matrix turns the axes of a load run into variations: every combination of a filter list, a viewport, a role and a time range,
// or a sample of them that is drawn without ever going over all of them. It is a pure function of axes, cap and seed.
// The numbers LR-… in comments are those of docs/load-runs.md.
package matrix
