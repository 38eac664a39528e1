package frame

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// keyNames follows the columns of a key through finalize.
func keyNames(key []string, l *layout, view []viewColumn) []string {
	var names []string
	for _, part := range key {
		source, found := l.index[part]
		if !found {
			continue
		}
		i := slices.IndexFunc(view, func(c viewColumn) bool { return source != dropped && c.source == source })
		if i < 0 {
			return nil
		}
		names = append(names, view[i].Name)
	}
	return names
}

// appendKey appends a value so that keys compare bytewise as the values of the type do: nulls last, numbers by value,
// times by instant, false before true, everything else by its bytes. Values that compare equal have equal keys, and no
// key is the beginning of another, so that keys of several columns may follow each other.
func appendKey(key []byte, t Type, v Value) []byte {
	const present, null = 0, 1
	if v.Null {
		return append(key, null)
	}
	key = append(key, present)
	switch t {
	case Int64:
		return appendInt(key, v.Int64())
	case Float64:
		return appendFloat(key, v.Float64())
	case Decimal:
		n, _ := parseNumber(v.Text)
		return n.appendDecimalKey(key)
	case Bool:
		if v.Bool() {
			return append(key, 1)
		}
		return append(key, 0)
	case Date:
		return appendInt(key, int64(v.Days()))
	case Timestamp:
		i, _ := parseInstant(v.Text)
		return binary.BigEndian.AppendUint32(appendInt(key, i.seconds), uint32(i.nanos))
	default:
		return appendText(key, v.Text)
	}
}

func appendInt(key []byte, i int64) []byte {
	return binary.BigEndian.AppendUint64(key, uint64(i)^1<<63)
}

func appendFloat(key []byte, f float64) []byte {
	if f == 0 {
		f = 0 // -0 equals 0
	}
	bits := math.Float64bits(f)
	if bits>>63 == 1 {
		return binary.BigEndian.AppendUint64(key, ^bits)
	}
	return binary.BigEndian.AppendUint64(key, bits^1<<63)
}

// appendText ends a text with two zero bytes and writes a zero byte inside it as 00 FF.
func appendText(key []byte, text string) []byte {
	for {
		before, after, found := strings.Cut(text, "\x00")
		key = append(key, before...)
		if !found {
			return append(key, 0, 0)
		}
		key = append(key, 0, 0xff)
		text = after
	}
}
