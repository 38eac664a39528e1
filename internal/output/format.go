package output

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Format is a form in which a table is written.
type Format string

// The formats.
const (
	CSV     Format = "csv"
	JSONL   Format = "jsonl"
	Parquet Format = "parquet"
	Arrow   Format = "arrow"
	GeoJSON Format = "geojson"
)

// ErrFormat is wrapped when a format is unknown or cannot be told from a file's name.
var ErrFormat = errors.New("unknown format")

// Formats gives all formats of files.
func Formats() []Format { return []Format{Arrow, CSV, GeoJSON, JSONL, Parquet} }

// FormatOf gives the format of a file: the explicit one, or that of the path's extension (.csv, .jsonl or .ndjson,
// .parquet, .arrow, .geojson, in any case of letters).
func FormatOf(path, explicit string) (Format, error) {
	if explicit != "" {
		return known(Format(strings.ToLower(explicit)), "")
	}
	extension := strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
	if extension == "ndjson" {
		return JSONL, nil
	}
	return known(Format(extension), path)
}

// EncodingOf gives a format by its name, that of a file or PGCopy.
func EncodingOf(name string) (Format, error) {
	if Format(name) == PGCopy {
		return PGCopy, nil
	}
	return FormatOf("", name)
}

func known(f Format, path string) (Format, error) {
	names := make([]string, len(Formats()))
	for i, name := range Formats() {
		names[i] = string(name)
	}
	switch {
	case slices.Contains(Formats(), f):
		return f, nil
	case path == "":
		return "", fmt.Errorf("%w: %.40q is none of %s", ErrFormat, f, strings.Join(names, ", "))
	default:
		return "", fmt.Errorf("%w: the name %q does not end in one of .%s; name the format, or the file so",
			ErrFormat, path, strings.Join(names, ", ."))
	}
}
