// Package output writes a table as parquet, csv, jsonl, arrow or geojson. The same table gives the same bytes in every format, on every
// machine: no time, name, version or order of a map gets into them.
//
// A file appears under its name whole or not at all. It is written beside its place under a name that begins with
// ".braid-", brought to the disk, and renamed; only a process that is killed on the way can leave such a file behind,
// and it may be deleted.
package output
