package query

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/service"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// Sources is what resolving a query needs of the world.
type Sources struct {
	Dir   string                                    // folder of the query file; relative paths of value files begin there
	Open  func(path string) ([]byte, error)         // reads a file of values
	Zone  func(name string) (*time.Location, error) // finds a time zone; nil finds none
	Today time.Time                                 // what the word today means
	// Accepts tells whether a parameter takes a value; nil when that is not known.
	Accepts func(parameter, value string) bool
}

// Resolved is what a query asks for, and where each value came from.
type Resolved struct {
	Values service.Values
	Notes  []string // what a person should know of: what was dropped

	origins map[string]origin // parameter → its values' origin
	repeats map[string]repeat // of parameters with repeated values
}

type origin struct {
	condition Condition
	file      string  // of the values, when they come from one
	lines     []int32 // of the values; nil: all stand where the condition stands
}

// repeat tells of the values of one parameter that stood there before.
type repeat struct {
	note    int // index of its note
	dropped int
}

func (r *Resolved) noteRepeats(parameter string, dropped, remain int) {
	known, ok := r.repeats[parameter]
	if dropped += known.dropped; dropped == 0 {
		return
	}
	text := fmt.Sprintf("%s: %d repeated values were dropped, %d remain", parameter, dropped, remain)
	if dropped == 1 {
		text = fmt.Sprintf("%s: 1 repeated value was dropped, %d remain", parameter, remain)
	}
	if remain == 1 {
		text = strings.TrimSuffix(text, "remain") + "remains"
	}
	if ok {
		r.Notes[known.note] = text
	} else {
		known.note = len(r.Notes)
		r.Notes = append(r.Notes, text)
	}
	if r.repeats == nil {
		r.repeats = map[string]repeat{}
	}
	r.repeats[parameter] = repeat{known.note, dropped}
}

// noteSpellings counts values as repeated too that are others in other spellings: they are asked for once.
func (r *Resolved) noteSpellings(c *service.Collection) {
	canonical := c.Canonical(r.Values)
	for _, param := range c.Parameters() {
		name := givenAs(c, r, param.Name)
		values, sent := r.Values[name], canonical[param.Name]
		if param.Type == service.TypeInterval || len(param.Omit) > 0 || len(sent) == 0 || len(sent) >= len(values) {
			continue
		}
		r.noteRepeats(name, len(values)-len(sent), len(sent))
	}
}

// Place tells where a value of a parameter came from. A negative index is the parameter as a whole.
func (r *Resolved) Place(parameter string, index int) (place Place, ok bool) {
	o, ok := r.origins[parameter]
	if !ok {
		return Place{}, false
	}
	place = o.condition.Place
	if index < 0 || index >= len(o.lines) {
		return place, true
	}
	if o.file != "" {
		place = Place{File: o.file, Path: place.Path}
		if place.Path == "" {
			place.Path = parameter // the flag may not have its name
		}
	}
	if place.Line > 0 || o.file != "" {
		place.Line = int(o.lines[index])
	}
	return place, true
}

// Resolve gives the values that the query asks for. It reads the value files; puts prefixes where they are missing; drops
// blank lines and repeats; freezes the word today to the day given; and gives times without an offset that of the
// declared zone. Whether the service accepts the values is judged by Check. An error is strictyaml.Errors with all that
// is wrong; what could be resolved is given beside it. A condition whose values come from another query has none yet: Supply
// brings them.
func (q *Query) Resolve(from Sources) (*Resolved, error) {
	s := &resolving{
		query: q, from: from, zones: map[string]*time.Location{},
		to: &Resolved{Values: make(service.Values, len(q.Where)), origins: make(map[string]origin, len(q.Where))},
	}
	s.zone(q.Zone, q.PlaceOf("zone"))
	for _, condition := range q.Where {
		list := s.resolve(condition)
		if condition.Source.Interval == nil {
			list = s.to.distinct(condition, list)
		}
		s.to.origins[condition.Parameter] = origin{condition: condition, file: list.file, lines: list.lines}
		if len(list.values) > 0 {
			s.to.Values[condition.Parameter] = list.values
		}
	}
	if len(s.errs) > 0 {
		return s.to, s.errs
	}
	return s.to, nil
}

// resolving is one call of Resolve.
type resolving struct {
	query *Query
	from  Sources
	to    *Resolved
	zones map[string]*time.Location // by name; nil: unknown, which has been told
	errs  strictyaml.Errors
}

func (s *resolving) fail(place Place, format string, args ...any) {
	s.errs = append(s.errs, place.Problem(format, args...))
}

// located are values with the lines they stand in.
type located struct {
	fileValues
	file string
}

func (s *resolving) resolve(c Condition) located {
	switch source := c.Source; {
	case source.Interval != nil:
		return s.interval(c, *source.Interval)
	case source.Instant != nil:
		clock, ok := s.clock(source.Instant.Zone, c.Place)
		if !ok && needsZone(source.Instant.At) {
			return located{}
		}
		at, err := clock.end(source.Instant.At, "")
		if err != nil {
			s.fail(c.Place, "%s", err)
			return located{}
		}
		return located{fileValues: fileValues{values: []string{at}}}
	case source.File != nil:
		return s.file(c, source.File)
	case source.FromQuery != nil:
		return located{} // Supply brings them
	default:
		return located{fileValues: fileValues{values: source.Values, lines: source.Lines}}
	}
}

func (s *resolving) interval(c Condition, i Interval) located {
	clock, ok := s.clock(i.Zone, c.Place)
	if !ok && (needsZone(i.From) || needsZone(i.To)) {
		return located{}
	}
	ends, fromErr, toErr := i.values(clock)
	if fromErr != nil {
		s.fail(c.Place.below(i.fromLine, ".from"), "%s", fromErr)
	}
	if toErr != nil {
		s.fail(c.Place.below(i.toLine, ".to"), "%s", toErr)
	}
	if fromErr != nil || toErr != nil {
		return located{}
	}
	return located{fileValues: fileValues{values: ends}}
}

// clock is that of a condition's own zone, or of the query's.
func (s *resolving) clock(own string, place Place) (clock, bool) {
	name := own
	if name == "" {
		name, place = s.query.Zone, s.query.PlaceOf("zone")
	}
	zone, ok := s.zone(name, place)
	return clock{today: s.from.Today, zone: zone}, ok
}

// zone finds a time zone, and tells once of one that there is not.
func (s *resolving) zone(name string, place Place) (zone *time.Location, ok bool) {
	if name == "" {
		return nil, true
	}
	zone, known := s.zones[name]
	if known {
		return zone, zone != nil
	}
	// "Local" is what the machine is set to: the same query would ask for other times elsewhere.
	if s.from.Zone != nil && !strings.EqualFold(name, "local") && len(name) <= maxNameBytes {
		if found, err := s.from.Zone(name); err == nil {
			zone = found
		}
	}
	s.zones[name] = zone
	if zone == nil {
		s.fail(place, "there is no time zone %.80q; write a name of the IANA database, such as America/Chicago or UTC", name)
	}
	return zone, zone != nil
}

func (s *resolving) file(c Condition, f *ValueFile) located {
	path := f.Path
	if !filepath.IsAbs(path) && s.from.Dir != "" {
		path = filepath.Join(s.from.Dir, path)
	}
	data, err := s.from.Open(path)
	if err != nil {
		s.fail(c.Place, "read the values in %s: %s", path, err)
		return located{}
	}
	fix := "column: NAME"
	if c.Place.Path == "" {
		fix = c.Place.File + " " + f.Path + ":NAME"
		if name, isSet := strings.CutPrefix(c.Place.File, "--set "); isSet {
			fix = "--set " + name + "=@" + f.Path + ":NAME"
		}
	}
	list, errs := f.read(data, fix, c.Parameter, s.from.Accepts)
	for _, err := range errs {
		if wrong, ok := errors.AsType[*lineError](err); ok {
			s.fail(Place{File: path, Line: wrong.line, Path: c.Place.keys()}, "%s", wrong.problem)
		}
	}
	if len(errs) > 0 {
		return located{}
	}
	return located{fileValues: list, file: path}
}

// keys are the words that tell in a file of values for which parameter it was read.
func (p Place) keys() string {
	if p.Path == "" {
		return p.File
	}
	return p.Path
}

// distinct drops values that stand earlier in the list.
func (r *Resolved) distinct(c Condition, list located) located {
	seen := make(map[string]struct{}, len(list.values))
	kept := located{file: list.file}
	kept.values = make([]string, 0, len(list.values))
	if list.lines != nil {
		kept.lines = make([]int32, 0, len(list.lines))
	}
	for i, value := range list.values {
		if _, twice := seen[value]; twice {
			continue
		}
		seen[value] = struct{}{}
		kept.values = append(kept.values, value)
		if list.lines != nil {
			kept.lines = append(kept.lines, list.lines[i])
		}
	}
	r.noteRepeats(c.Parameter, len(list.values)-len(kept.values), len(kept.values))
	return kept
}
