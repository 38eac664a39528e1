// Package strictyaml reads YAML files that people write by hand: service definitions, query files and configuration.
//
// Every scalar is the text that stands in the file; the Go type that receives it decides what it means. So 00060 stays
// "00060", NO stays "NO" and 2024-10-01 stays "2024-10-01" in a string, while an int refuses "ten" and a bool accepts
// only true and false. Nothing is guessed: an unknown key, a key given twice, a value of the wrong kind, an anchor, an
// alias, a tag or a second document is an error with its line, and all errors of a file are reported together.
//
// Input is hostile: bytes, nesting and number of nodes are bounded before anything is built from them. The package
// touches no file; the file's name is only for messages.
package strictyaml
