package cql2

// Depth is the deepest nesting of objects and lists of a text in JSON, a filter or another one; it reads anything and judges
// nothing else.
func Depth[T string | []byte](text T) int {
	level, deepest, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}
