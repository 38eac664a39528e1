package main

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// feed is a condition of a query whose values are a column of another one's table.
type feed struct {
	condition query.Condition
	source    *prepared // the query file that is named; nil: a stored query is, by its id

	values []string // of the column, once it has been read
	from   string   // says where they come from
}

// name is the other query as the condition names it.
func (f *feed) name() string { return f.condition.Source.FromQuery.Query }

func (f *feed) column() string { return f.condition.Source.FromQuery.Column }

// Bounds of the queries that feed one. A file that several conditions name counts once.
const (
	maxFeedDepth = 8
	maxFeedFiles = 64
)

// feedReader reads the query files that feed a query, each once however many conditions name it.
type feedReader struct {
	app   *app
	found *problems
	today time.Time // the same for all of them
	known map[string]*feedFile
	chain []string // the files that lead to the one under way, as they are called
	on    []string // the same files, as they are known
}

type feedFile struct {
	query  *prepared // nil: what is wrong with it has been told
	height int       // of the longest chain of files that begins with this one
}

// readFeeds reads and checks the queries that feed q, and those that feed them. What is wrong with them goes to found, at their
// own files and lines.
func (a *app) readFeeds(q *query.Query, today time.Time, found *problems) ([]*feed, error) {
	r := &feedReader{app: a, found: found, today: today, known: map[string]*feedFile{}}
	r.enter(q.File)
	feeds, _, err := r.feeds(q)
	return feeds, err
}

// enter makes a file the one under way.
func (r *feedReader) enter(path string) {
	r.chain, r.on = append(r.chain, path), append(r.on, whichFile(path))
}

func (r *feedReader) leave() {
	r.chain, r.on = r.chain[:len(r.chain)-1], r.on[:len(r.on)-1]
}

// whichFile gives paths of one file one name.
func whichFile(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	if followed, err := filepath.EvalSymlinks(path); err == nil {
		path = followed
	}
	return path
}

func (r *feedReader) feeds(q *query.Query) (feeds []*feed, height int, err error) {
	for _, condition := range q.Where {
		from := condition.Source.FromQuery
		if from == nil {
			continue
		}
		f := &feed{condition: condition}
		feeds = append(feeds, f)
		if from.IsStored() {
			continue
		}
		path := from.Query
		if !filepath.IsAbs(path) && q.File != "" {
			path = filepath.Join(filepath.Dir(q.File), path)
		}
		file, err := r.file(path, condition.PlaceOfQuery())
		if err != nil {
			return nil, 0, err
		}
		if f.source = file.query; f.source != nil {
			r.checkColumn(f)
		}
		height = max(height, file.height)
	}
	return feeds, height, nil
}

// file reads a query file that feeds another; place is where it is named.
func (r *feedReader) file(path string, place query.Place) (*feedFile, error) {
	told := new(feedFile)
	which := whichFile(path)
	if i := slices.Index(r.on, which); i >= 0 {
		circle := strings.Join(append(slices.Clone(r.chain[i:]), path), " → ")
		r.found.add(place.Problem("the queries feed one another in a circle: %s; let one of them take its values from elsewhere", circle))
		return told, nil
	}
	file, known := r.known[which]
	if !known {
		if len(r.chain) > maxFeedDepth {
			r.tooDeep(place, path)
			return told, nil
		}
		if len(r.known) == maxFeedFiles {
			r.found.add(place.Problem("more than %d query files feed this one; let one of them run first, and name its id or its table here", maxFeedFiles))
			return told, nil
		}
		var err error
		if file, err = r.read(path, place); err != nil {
			return nil, err
		}
		r.known[which] = file
	}
	if len(r.chain)-1+file.height > maxFeedDepth {
		r.tooDeep(place, path)
		return told, nil
	}
	return file, nil
}

func (r *feedReader) tooDeep(place query.Place, path string) {
	r.found.add(place.Problem("more than %d queries feed one another in a row: %s; let one of them run first, and name its id or its table here",
		maxFeedDepth, strings.Join(append(slices.Clone(r.chain), path), " → ")))
}

// read reads and checks a query file, as far as that is possible without the values that feed it.
func (r *feedReader) read(path string, place query.Place) (*feedFile, error) {
	file := &feedFile{height: 1}
	data, err := readFile(path)
	if err != nil {
		r.found.add(place.Problem("read the query %s: %s", path, err))
		return file, nil
	}
	before := len(r.found.list)
	q, err := query.Parse(path, data)
	if err := r.found.take(err); err != nil || q == nil {
		return file, err
	}
	collection, err := r.app.collection(q, r.found)
	if err != nil {
		return nil, err
	}
	p := &prepared{query: q, collection: collection}
	if p.resolved, err = q.Resolve(sourcesOf(q, collection, r.today)); err != nil {
		if err := r.found.take(err); err != nil {
			return nil, err
		}
	}
	p.spec = q.Spec(p.resolved.Values)
	if collection != nil {
		r.found.add(q.Check(collection, p.resolved)...)
	}
	r.enter(path)
	feeds, height, err := r.feeds(q)
	r.leave()
	if err != nil {
		return nil, err
	}
	p.feeds, file.height = feeds, height+1
	if len(r.found.list) > before {
		return file, nil
	}
	if err := p.spec.Validate(); err != nil {
		return nil, p.placeSpec(err)
	}
	file.query = p
	return file, nil
}

// checkColumn refuses a column that the other query's table cannot have, where its columns are known.
func (r *feedReader) checkColumn(f *feed) {
	place, q := f.condition.PlaceOfColumn(), f.source.query
	switch {
	case slices.Contains(q.Select, f.column()):
	case len(q.Select) > 0:
		r.found.add(place.Problem("%s does not select a column %q%s", q.File, f.column(), strictyaml.DidYouMean(f.column(), q.Select)))
	case f.source.collection != nil:
		r.found.add(f.undeclared(f.source.collection)...)
	}
}

// undeclared is the problem of a column that the definition does not promise: the other query is not run only to find that its table
// has no such column.
func (f *feed) undeclared(c *service.Collection) []*strictyaml.Error {
	note, err := query.CheckColumn(c.Shape(), f.column())
	place, file := f.condition.PlaceOfColumn(), f.source.query.File
	switch {
	case err != nil:
		return []*strictyaml.Error{place.Problem("%s: %s", file, err)}
	case note != "":
		return []*strictyaml.Error{place.Problem("%s: %s. If the service sends it all the same, let %s select it", file, note, file)}
	}
	return nil
}

// sourcesOf is what resolving a query file needs; its own paths are relative to it.
func sourcesOf(q *query.Query, c *service.Collection, today time.Time) query.Sources {
	sources := query.Sources{Open: readFile, Zone: time.LoadLocation, Today: today}
	if q.File != "" {
		sources.Dir = filepath.Dir(q.File)
	}
	if c != nil {
		sources.Accepts = c.Accepts
	}
	return sources
}
