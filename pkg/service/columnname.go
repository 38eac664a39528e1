package service

import "strings"

// nameStyle says how the names of a service's columns become those of a table.
type nameStyle string

const (
	namesAsSent nameStyle = "as_sent"
	namesSnake  nameStyle = "snake_case"
)

// Choices lists the styles.
func (nameStyle) Choices() []string { return []string{string(namesAsSent), string(namesSnake)} }

// snakeCase puts an underscore between a small letter or digit and a capital one, all of ASCII, and writes all letters
// small: waterLevelAboveNAVD88Ft becomes water_level_above_navd88_ft.
func snakeCase(name string) string {
	var out strings.Builder
	for i := range len(name) {
		c := name[i]
		if i > 0 && 'A' <= c && c <= 'Z' {
			before := name[i-1]
			if 'a' <= before && before <= 'z' || '0' <= before && before <= '9' {
				out.WriteByte('_')
			}
		}
		out.WriteByte(c)
	}
	return strings.ToLower(out.String())
}
