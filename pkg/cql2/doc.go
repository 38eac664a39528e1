// Package cql2 knows of OGC's filter language CQL2 what dividing a query needs, and no more: where a text filter falls into
// alternatives, where it compares a field with a number that has no quotes, and how a list of values becomes a filter in
// JSON. It does not parse the language: a filter that it does not understand is one alternative and is left as it is.
//
// Every function is pure, reads its input once, and takes time in proportion to its length, whatever the input is.
package cql2
