// Package jcs gives JSON texts their canonical form by RFC 8785 (JCS), so that equal values have equal bytes and one SHA-256.
//
// It is stricter than the RFC asks where a value could be read in two ways: a member name given twice, half of a surrogate pair, an
// integer literal beyond ±(2^53 − 1) and a number beyond a double are errors. Text is not normalised: what looks alike and is written
// in other code points stays different.
package jcs
