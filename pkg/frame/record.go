package frame

import "encoding/binary"

// record is one stored row: for each column the length of its text plus one as a varint, 0 for null, then the text.
// A record is about one byte a column longer than its texts, and equal records are equal rows.
type record string

func appendRecord(data []byte, row Row) []byte {
	for _, v := range row {
		if v.Null {
			data = append(data, 0)
			continue
		}
		data = binary.AppendUvarint(data, uint64(len(v.Text))+1)
		data = append(data, v.Text...)
	}
	return data
}

// read fills row, whose length is the number of stored columns. The texts share the record's memory.
func (r record) read(row Row) {
	rest := string(r)
	for i := range row {
		length, shift, used := uint64(0), 0, 0
		for more := true; more; used++ {
			length |= uint64(rest[used]&0x7f) << shift
			more = rest[used] >= 0x80
			shift += 7
		}
		if length == 0 {
			row[i] = Value{Null: true}
			rest = rest[used:]
			continue
		}
		end := used + int(length-1)
		row[i] = Value{Text: rest[used:end]}
		rest = rest[end:]
	}
}
