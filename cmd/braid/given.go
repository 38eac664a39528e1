package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// given is a query that is written as flags instead of a file.
type given struct {
	service, collection string
	set                 []string
	sites, prefix       string
	columns             []string
	zone                string
	maxChunks           int
	maxRows             int64
	save                string
}

const givenHelp = `Without a file the query is given by flags:

  braid run --service usgs-waterdata --collection daily \
    --sites sites.csv:site_no --prefix USGS- --set parameter_code=00060 \
    --set time=2023-10-01/today -o flow.parquet

  --set NAME=VALUE        one value; given several times, the values are a list
  --set time=FROM/TO      a span of time; .. is an open end, today is today
  --set NAME=@FILE        the values in a file, one a line
  --set NAME=@@TEXT       the value @TEXT
  --set NAME=@FILE:COLUMN a column of a table
`

// flags adds those that are the query itself.
func (g *given) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&g.service, "service", "", "ask this service, instead of a query file")
	flags.StringVar(&g.collection, "collection", "", "which of the service's collections")
	flags.StringArrayVar(&g.set, "set", nil, "a value of a parameter, as `NAME=VALUE`, NAME=@FILE or NAME=@FILE:COLUMN")
	flags.StringVar(&g.sites, "sites", "", "`FILE` or FILE:COLUMN with the sites to ask for: values of monitoring_location_id, or else of the first parameter that the collection packs")
	flags.StringVar(&g.prefix, "prefix", "", "put before each of the sites that does not begin with it, such as USGS-")
	flags.StringSliceVar(&g.columns, "select", nil, "columns of the table, separated by commas (default: all)")
	flags.StringVar(&g.zone, "zone", "", "time zone of times without an offset, such as America/Chicago")
	flags.IntVar(&g.maxChunks, "max-chunks", 0, "divide finer than the service's limits ask, up to this many chunks (without a query file; in one it is max_chunks)")
	flags.Int64Var(&g.maxRows, "max-rows", 0, "the first rows only, this many (without a query file; in one it is max_rows)")
	flags.StringVar(&g.save, "save-query", "", "write the query to this `FILE` too; one that is there is not replaced")
	names := []string{"service", "collection", "set", "sites", "prefix", "select", "zone", "max-chunks", "max-rows", "save-query"}
	settings.OnlyFlags(flags, names...)
}

// used names a flag that makes sense without a query file only; empty when there is none.
func (g *given) used(cmd *cobra.Command) string {
	for _, name := range []string{"service", "collection", "set", "sites", "prefix", "select", "zone", "max-chunks", "max-rows", "save-query"} {
		if cmd.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

// inFlags tells in flags what to do where a message tells it in keys of a query file.
func inFlags(list strictyaml.Errors) {
	for _, problem := range list {
		text := fileAdvice.ReplaceAllString(problem.Message, "give --prefix $1 with --sites")
		problem.Message = strings.NewReplacer(
			"give {from: …, to: …, zone: America/Chicago} in the query", "give --zone America/Chicago",
			"or write `if_exists: replace` in the query", "which also replaces one that is there",
		).Replace(text)
	}
}

var fileAdvice = regexp.MustCompile("write `prefix: ([^`]+)` beside it in the query")

// query puts the query together. All that is wrong with the flags goes to p.
func (g *given) query(cmd *cobra.Command, c *service.Collection, p *problems) *query.Query {
	q := &query.Query{
		Name: query.NameOf(g.collection), Service: g.service, Collection: g.collection, Select: g.columns,
		Run: query.Run{OnQuota: query.OnQuota{Then: query.ThenPause}}, BadValues: query.BadValuesStop, Coverage: query.CoverageReport, Changed: query.ChangedReport,
		Zone: g.zone, MaxChunks: g.maxChunks, MaxRows: g.maxRows,
	}
	if g.save != "" {
		q.Name = query.NameOf(g.save)
	}
	q.SetPlace("service", query.Place{File: "--service"})
	q.SetPlace("collection", query.Place{File: "--collection"})
	q.SetPlace("zone", query.Place{File: "--zone"})
	q.SetPlace("max_chunks", query.Place{File: "--max-chunks"})
	q.SetPlace("max_rows", query.Place{File: "--max-rows"})
	q.SetPlace("select", query.Place{File: "--select"})
	for i := range g.columns {
		q.SetPlace(fmt.Sprintf("select[%d]", i), query.Place{File: "--select"})
	}
	for _, flag := range []struct {
		name  string
		value int64
		most  int64
		reset func()
	}{
		{"max-chunks", int64(g.maxChunks), query.MaxChunks, func() { q.MaxChunks = 0 }},
		{"max-rows", g.maxRows, query.MaxRows, func() { q.MaxRows = 0 }},
	} {
		if !cmd.Flags().Changed(flag.name) {
			continue
		}
		if err := query.CheckBound(flag.value, flag.most); err != nil {
			p.add(query.Place{File: "--" + flag.name}.Problem("%s", err))
			flag.reset()
		}
	}
	g.conditions(q, c, p)
	q.Outputs = []query.Output{{To: q.Name + ".parquet", Format: "parquet", IfExists: query.IfExistsFail}}
	return q
}

func (g *given) conditions(q *query.Query, c *service.Collection, p *problems) {
	if g.sites != "" {
		place := query.Place{File: "--sites"}
		if name, err := sitesParameter(c); err != nil {
			p.add(place.Problem("%s", err))
		} else {
			path, column := fileAndColumn(g.sites)
			q.Where = append(q.Where, query.Condition{
				Parameter: name, Place: place,
				Source: query.ValueSource{File: &query.ValueFile{Path: path, Column: column, Prefix: g.prefix}},
			})
		}
	} else if g.prefix != "" {
		p.add(query.Place{File: "--prefix"}.Problem("belongs to --sites; put it before the values themselves, or give their file as --sites"))
	}
	for _, text := range g.set {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			p.add(query.Place{File: "--set " + shortened(text, 60)}.Problem("has no name and value; write NAME=VALUE, such as parameter_code=00060"))
			continue
		}
		place := query.Place{File: "--set " + shortened(name, 60)}
		if err := g.add(q, c, name, value, place); err != nil {
			p.add(place.Problem("%s", err))
		}
	}
}

// add puts what one --set says into the query.
func (g *given) add(q *query.Query, c *service.Collection, name, value string, place query.Place) error {
	var source query.ValueSource
	switch file, isFile := strings.CutPrefix(value, "@"); {
	case isFile && strings.HasPrefix(file, "@"):
		source.Values = []string{file}
	case isFile && file == "":
		return errors.New("names no file behind @; write NAME=@FILE")
	case isFile:
		path, column := fileAndColumn(file)
		source.File = &query.ValueFile{Path: path, Column: column}
	case value == "":
		return errors.New("has no value; leave the flag out to ask for all")
	default:
		if from, to, ok := timeSpan(c, name, value); ok {
			source.Interval = &query.Interval{From: from, To: to}
		} else {
			source.Values = []string{value}
		}
	}
	for i := range q.Where {
		have := &q.Where[i]
		if have.Parameter != name {
			continue
		}
		if have.Source.Values == nil || source.Values == nil {
			return errors.New("is given twice; several values are a list, and a file or a span of time stands alone")
		}
		have.Source.Values = append(have.Source.Values, source.Values...)
		return nil
	}
	q.Where = append(q.Where, query.Condition{Parameter: name, Source: source, Place: place})
	return nil
}

// timeSpan reads FROM/TO where the parameter is an interval. Without the definition, which may be on a server, it is one when
// both ends look so.
func timeSpan(c *service.Collection, name, value string) (from, to string, ok bool) {
	from, to, ok = strings.Cut(value, "/")
	if !ok || strings.Contains(to, "/") || strings.HasPrefix(from, "P") || strings.HasPrefix(to, "P") {
		return "", "", false
	}
	if c == nil {
		return from, to, isEnd(from) && isEnd(to)
	}
	for _, param := range c.Parameters() {
		if param.Name == name || slices.Contains(param.Aliases, name) {
			return from, to, param.Type == service.TypeInterval
		}
	}
	return "", "", false
}

func isEnd(text string) bool {
	const year = 4
	digits := 0
	for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
		digits++
	}
	return text == "" || text == service.OpenEnd || text == "today" || digits == year
}

// fileAndColumn reads FILE or FILE:COLUMN. A colon with a path behind it belongs to the file's name.
func fileAndColumn(text string) (file, column string) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 || strings.ContainsAny(text[i+1:], `/\`) || text[i+1:] == "" {
		return text, ""
	}
	return text[:i], text[i+1:]
}

const siteParameter = "monitoring_location_id"

// sitesParameter is the parameter that sites are values of: monitoring_location_id where there is one, else the first
// parameter that the collection packs.
func sitesParameter(c *service.Collection) (string, error) {
	if c == nil {
		return "", errors.New("which parameter sites are values of is not known without the service's definition; write --set NAME=@FILE")
	}
	names := make([]string, 0, len(c.Parameters()))
	for _, param := range c.Parameters() {
		if param.Name == siteParameter || slices.Contains(param.Aliases, siteParameter) {
			return siteParameter, nil
		}
		names = append(names, param.Name)
	}
	for _, axis := range c.Axes() {
		if axis.Kind == service.AxisPack {
			return axis.Params[0], nil
		}
	}
	return "", fmt.Errorf("no parameter of %s is one for sites; write --set NAME=@FILE, NAME being one of %s", c.Name, strings.Join(names, ", "))
}

// saveQuery writes the query file that is equivalent to the flags. Its paths are relative to the file, as those of all
// query files.
func (g *given) saveQuery(q *query.Query, targets []target) error {
	saved := *q
	dir := filepath.Dir(g.save)
	saved.Where = nil
	for _, condition := range q.Where {
		if file := condition.Source.File; file != nil {
			moved := *file
			moved.Path = relativeTo(dir, file.Path)
			condition.Source.File = &moved
		}
		saved.Where = append(saved.Where, condition)
	}
	saved.Outputs = nil
	for _, t := range targets {
		o := query.Output{To: t.path, Format: query.Format(t.format), IfExists: query.IfExistsFail}
		if t.isPostgres() {
			o.IfExists, o.Connection = t.into.ifExists, t.into.connection
		} else if t.path != "-" {
			o.To = relativeTo(dir, t.path)
		}
		if t.replace {
			o.IfExists = query.IfExistsReplace
		}
		saved.Outputs = append(saved.Outputs, o)
	}
	data, err := saved.Write()
	if err != nil {
		return usage("--save-query: %w", err)
	}
	file, err := os.OpenFile(g.save, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return usage("--save-query: %s exists and is not replaced; name another file", g.save)
	}
	if err != nil {
		return usage("--save-query: %w", err)
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// relativeTo gives a path as it is seen from a folder.
func relativeTo(dir, path string) string {
	if filepath.IsAbs(path) || dir == "." {
		return path
	}
	from, err := filepath.Abs(dir)
	if err != nil {
		return path
	}
	to, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(from, to); err == nil {
		return rel
	}
	return to
}

// checkSave refuses a file that is there before anything is done.
func (g *given) checkSave() *strictyaml.Error {
	if g.save == "" {
		return nil
	}
	if _, err := os.Lstat(g.save); err == nil {
		return query.Place{File: "--save-query"}.Problem("%s exists and is not replaced; name another file", g.save)
	}
	if info, err := os.Stat(filepath.Dir(g.save)); err != nil || !info.IsDir() {
		return query.Place{File: "--save-query"}.Problem("the folder %s does not exist; create it, or name another file", filepath.Dir(g.save))
	}
	return nil
}
