package query

import (
	"fmt"

	"github.com/braidhq/braid/pkg/strictyaml"
)

// Place is where something of a query stands: a line of a file, or a flag of the command line.
type Place struct {
	File string // name of the file, or the flag as it was given, such as --set time
	Line int    // 1-based; 0: none
	Path string // keys that lead there, such as where.time; empty for flags
}

// Problem is what is wrong at the place, in the form of all problems of files.
func (p Place) Problem(format string, args ...any) *strictyaml.Error {
	return &strictyaml.Error{File: p.File, Line: p.Line, Path: p.Path, Message: fmt.Sprintf(format, args...)}
}

// below is the place of what stands behind a further key on a line of its own.
func (p Place) below(line int, path string) Place {
	if p.Line > 0 && line > 0 {
		p.Line = line
	}
	if p.Path != "" {
		p.Path += path
	}
	return p
}

// PlaceOf tells where a key of the query stands, such as collection, select[2] or output[0]. For what was not given it is
// the beginning of the file.
func (q *Query) PlaceOf(key string) Place {
	if place, ok := q.places[key]; ok {
		return place
	}
	if q.File == "" {
		return Place{File: "command line"}
	}
	return Place{File: q.File, Line: 1, Path: key}
}

// SetPlace says where a key stands that did not come from the query file.
func (q *Query) SetPlace(key string, place Place) {
	if q.places == nil {
		q.places = map[string]Place{}
	}
	q.places[key] = place
}

// rememberPlaces keeps the lines of what may be found wrong later.
func (q *Query) rememberPlaces(root strictyaml.Node) {
	remember := func(path string, line int) { q.SetPlace(path, Place{File: q.File, Line: line, Path: path}) }
	for key, value := range root.Entries() {
		remember(key, value.KeyLine())
		if key != "select" && key != "output" {
			continue
		}
		i := 0
		for item := range value.Items() {
			if i == maxColumns {
				break
			}
			remember(fmt.Sprintf("%s[%d]", key, i), item.Line())
			i++
		}
	}
	for key, value := range root.At("run").Entries() {
		if root.Has("run") {
			remember("run."+key, value.KeyLine())
		}
	}
}
