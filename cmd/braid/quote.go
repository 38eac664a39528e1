package main

import "strings"

// quoteArg writes an argument so that a POSIX shell reads it back unchanged.
func quoteArg(arg string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@,+", r)
	}
	if arg != "" && strings.IndexFunc(arg, func(r rune) bool { return !safe(r) }) < 0 {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
