package main

import "strings"

// passage is a part of a help text: a paragraph whose lines may be broken anew, or lines that stay as they are.
type passage struct {
	lines []string
	asIs  bool // indented, or empty
}

// passages divides a help text.
func passages(text string) []passage {
	var parts []passage
	for line := range strings.SplitSeq(text, "\n") {
		asIs := line == "" || strings.HasPrefix(line, "  ")
		if n := len(parts); n == 0 || parts[n-1].asIs != asIs {
			parts = append(parts, passage{asIs: asIs})
		}
		last := &parts[len(parts)-1]
		last.lines = append(last.lines, line)
	}
	return parts
}

// reflowed breaks the paragraphs of a help text to lines of at most width characters.
func reflowed(text string, width int) string {
	var lines []string
	for _, p := range passages(text) {
		if !p.asIs {
			p.lines = wrapped(strings.Join(p.lines, " "), width)
		}
		lines = append(lines, p.lines...)
	}
	return strings.Join(lines, "\n")
}

// inMarkdown writes a help text so that Markdown changes nothing of it: its signs are escaped, and indented lines are code.
func inMarkdown(text string) string {
	var out []string
	for _, p := range passages(text) {
		switch {
		case !p.asIs:
			for _, line := range p.lines {
				out = append(out, markdownEscapes().Replace(line))
			}
		case strings.TrimSpace(strings.Join(p.lines, "")) == "":
			out = append(out, p.lines...)
		default:
			out = append(out, "", "```", strings.Trim(strings.Join(p.lines, "\n"), "\n"), "```", "")
		}
	}
	return strings.Join(out, "\n")
}

func markdownEscapes() *strings.Replacer {
	return strings.NewReplacer(`\`, `\\`, "_", `\_`, "*", `\*`, "`", "\\`", "<", `\<`, "[", `\[`)
}
