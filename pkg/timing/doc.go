// Package timing measures what executions take: three waits that do not overlap, nearest-rank percentiles over successes, and their summaries.
// All arithmetic is exact. The numbers LR-… in comments are those of docs/load-runs.md.
package timing
