package query

import (
	"bytes"
	"regexp"
)

// rdbFormats is the line of an RDB file below its names: the widths and types of the columns, such as 5s and 15s.
var rdbFormats = regexp.MustCompile(`^[0-9]+[sdn](\t[0-9]+[sdn])*\r?\n?$`)

// fromRDB gives a file in the form of USGS (RDB: comments with a #, then a table with tabs whose second line tells widths) as a table alone,
// in which each line stands where it stood. It is false for any other file.
func fromRDB(data []byte) ([]byte, bool) {
	if !bytes.HasPrefix(data, []byte("#")) && !rdbFormats.Match(lineOfData(data, 1)) {
		return data, false
	}
	var table bytes.Buffer
	lines := 0 // that are no comment
	for line := range bytes.Lines(data) {
		switch {
		case lines == 0 && (bytes.HasPrefix(line, []byte("#")) || len(bytes.TrimSpace(line)) == 0):
			table.WriteByte('\n')
			continue
		case lines == 1:
			if !rdbFormats.Match(line) {
				return data, false
			}
			line = []byte("\n")
		}
		lines++
		table.Write(line)
	}
	return table.Bytes(), lines > 1
}

// lineOfData gives a line, counted from 0.
func lineOfData(data []byte, n int) []byte {
	for line := range bytes.Lines(data) {
		if n == 0 {
			return line
		}
		n--
	}
	return nil
}
