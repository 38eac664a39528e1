package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// asked is a query as it was given on the command line: a file or flags, and where the table goes.
type asked struct {
	given  given
	out    []string
	format string
	wait   bool
	full   bool // asks for all, whatever the query's since could go on from
	spend  spending
	remote bool // a server keeps the table, and nothing is written here
}

func (k *asked) flags(a *app, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&k.out, "output", "o", nil, "file to write, in place of one that is there, instead of the query's own outputs; - is stdout; may be given several times")
	flags.StringVar(&k.format, "format", "", "format of the output: parquet, csv, jsonl, arrow, geojson (default: by the file's ending)")
	a.tableOnlyFlagOn(flags)
	a.postgresFlagsOn(flags)
	k.queryFlags(cmd, "stop after this many requests, resumable (default: any number)")
}

// queryFlags are those of what is asked, wherever its table goes.
func (k *asked) queryFlags(cmd *cobra.Command, budget string) {
	cmd.Flags().BoolVar(&k.full, "full", false, "of a query with since: ask for all once more, and not only for what is younger than what is kept")
	settings.OnlyFlags(cmd.Flags(), "full")
	k.spend.flags(cmd.Flags(), budget)
	k.given.flags(cmd)
}

// prepared is a query that has passed all checks that need no planning.
type prepared struct {
	query    *query.Query
	resolved *query.Resolved
	spec     *query.Spec
	targets  []target

	collection *service.Collection // nil: the server's to know
	feeds      []*feed             // conditions whose values come from other queries
	wait       bool                // interruptions are to be waited out
	command    string              // that runs it, of a query that others feed
}

// prepare reads and checks a query completely, and sends nothing. Every stage reports what it can, so that one error
// tells of all that is wrong.
func (a *app) prepare(cmd *cobra.Command, args []string, k *asked) (*prepared, error) {
	if err := a.checkOut(k.out, k.format); err != nil {
		return nil, err
	}
	found := new(problems)
	q, collection, err := a.readQuery(cmd, args, k, found)
	if err != nil {
		return nil, err
	}
	if q == nil {
		return nil, found.err()
	}
	today := time.Now()
	resolved, err := q.Resolve(sourcesOf(q, collection, today))
	if err := found.take(err); err != nil {
		return nil, err
	}
	p := &prepared{query: q, resolved: resolved, spec: q.Spec(resolved.Values), collection: collection, wait: k.wait}
	if !k.remote {
		p.targets = a.targets(q, k.out, k.format, found)
	}
	if len(k.out) > 0 { // they stand in place of the query's own
		q.Outputs = nil
		for _, t := range p.targets {
			q.Outputs = append(q.Outputs, query.Output{To: t.path, Format: query.Format(t.format), IfExists: t.into.ifExists, Connection: t.into.connection})
		}
	}
	if collection != nil {
		found.add(q.Check(collection, resolved)...)
	}
	if p.feeds, err = a.readFeeds(q, today, found); err != nil {
		return nil, err
	}
	if problem := k.given.checkSave(); problem != nil {
		found.add(problem)
	}
	if len(found.list) > 0 {
		p.addUnsplittable(collection, found)
		if q.File == "" {
			inFlags(found.list)
		}
		return nil, found.err()
	}
	if err := p.spec.Validate(); err != nil {
		return nil, p.placeSpec(err)
	}
	for _, note := range resolved.Notes {
		a.line("note", "%s", note)
	}
	if len(p.feeds) > 0 {
		p.command = a.runCommandLine(p, k)
	}
	return p, nil
}

// readQuery reads the query from a file or from flags, and finds its collection where the definition is at hand. The query
// is nil when nothing of it could be read.
func (a *app) readQuery(cmd *cobra.Command, args []string, k *asked, found *problems) (*query.Query, *service.Collection, error) {
	flag := k.given.used(cmd)
	switch {
	case len(args) > 0 && flag != "":
		return nil, nil, usage("--%s belongs to a query without a file; write it into %s, or leave the file out", flag, args[0])
	case len(args) == 0 && (k.given.service == "" || k.given.collection == ""):
		return nil, nil, usage("give a query file, or --service and --collection; see %s --help", cmd.CommandPath())
	case len(args) == 0:
		collection, err := a.collection(&query.Query{Service: k.given.service, Collection: k.given.collection}, found)
		if err != nil {
			return nil, nil, err
		}
		return k.given.query(cmd, collection, found), collection, nil
	}
	data, err := readFile(args[0])
	if err != nil {
		return nil, nil, usage("query file: %w", err)
	}
	q, err := query.Parse(args[0], data)
	if err := found.take(err); err != nil {
		return nil, nil, err
	}
	if q == nil {
		return nil, nil, nil
	}
	collection, err := a.collection(q, found)
	return q, collection, err
}

// collection finds the collection that a query asks. It is nil where that is told as a problem, and where the definition
// is the server's to know.
func (a *app) collection(q *query.Query, found *problems) (*service.Collection, error) {
	if q.Service == "" {
		return nil, nil
	}
	servicePlace, collectionPlace := q.PlaceOf("service"), q.PlaceOf("collection")
	if q.File == "" {
		servicePlace, collectionPlace = query.Place{File: "--service"}, query.Place{File: "--collection"}
	}
	d, err := a.definitions().Open(q.Service)
	switch {
	case err != nil && a.server != "":
		return nil, nil // it may be one that the server alone has
	case errors.Is(err, service.ErrUnsafeBase):
		return nil, err
	case err != nil:
		if err := found.take(err); err != nil {
			found.add(servicePlace.Problem("%s", problemText(err)))
		}
		return nil, nil
	case q.Collection == "":
		return nil, nil
	}
	c, err := d.Collection(q.Collection)
	if err != nil {
		if a.server == "" {
			found.add(collectionPlace.Problem("%s", problemText(err)))
		}
		return nil, nil
	}
	if a.server != "" && q.File != "" {
		return nil, nil // the server's own definition is the one that counts
	}
	return c, nil
}

// problemText leaves out the names of errors that stand before what they tell.
func problemText(err error) string {
	text := err.Error()
	for _, sentinel := range []error{braid.ErrUnknownService, service.ErrUnknownCollection} {
		text = strings.TrimPrefix(text, sentinel.Error()+": ")
	}
	return text
}

// addUnsplittable plans a query that has other problems, as far as that is possible, to find requests that cannot be made.
func (p *prepared) addUnsplittable(c *service.Collection, found *problems) {
	if c == nil || c.CheckValues(p.resolved.Values) != nil || len(p.resolved.Values) < len(p.query.Where) {
		return
	}
	if _, err := planner.Divide(c, p.resolved.Values, planner.Options{MaxChunks: p.query.MaxChunks, Now: time.Now()}); err != nil {
		if placed, ok := errors.AsType[*placedError](p.place(err)); ok {
			found.add(placed.problems.list...)
		}
	}
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path) //nolint:gosec // the person names it
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a folder", path)
	}
	if info.Size() > query.MaxFileBytes {
		return nil, fmt.Errorf("%s has %d bytes, at most %d", path, info.Size(), query.MaxFileBytes)
	}
	data, err := io.ReadAll(io.LimitReader(file, query.MaxFileBytes+1)) // a pipe or a device tells no size
	if err == nil && len(data) > query.MaxFileBytes {
		err = fmt.Errorf("%s has more than %d bytes", path, query.MaxFileBytes)
	}
	return data, err
}
