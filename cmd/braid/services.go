package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
	"github.com/braidhq/braid/pkg/strictyaml"
)

func (a *app) servicesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "services",
		Example: `  braid services list
  braid services show usgs-waterdata --collection daily`,
		Short: "List, show, check and test service definitions",
		Long: `A service definition is all that Braid knows about one HTTP service. Definitions are built in, or files NAME.yaml in the
services folder (--services-dir); a file outranks a built-in definition of its name. These commands look at the
definitions of this machine; a server has its own.

` + exitHelp,
	}
	cmd.AddCommand(a.servicesListCommand(), a.servicesShowCommand(), a.servicesCheckCommand(), a.servicesTestCommand())
	return cmd
}

// listedService is one line of services list.
type listedService struct {
	Name        string   `json:"name"`
	Title       string   `json:"title,omitempty"`
	Source      string   `json:"source"` // built in, or the path of the file
	BaseURL     string   `json:"base_url,omitempty"`
	Collections []string `json:"collections"`
	Problem     string   `json:"problem,omitempty"` // why it cannot be used
}

const builtIn = "built in"

func (a *app) servicesListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the services that queries can ask", Aliases: []string{"ls"}, Args: cobra.NoArgs,
		Example: "  braid services list",
		RunE: func(*cobra.Command, []string) error {
			all := []listedService{}
			for _, name := range a.definitions().Names() {
				all = append(all, a.listedService(name))
			}
			if a.json {
				return a.printJSON(map[string]any{"services": all})
			}
			for i, s := range all {
				if i > 0 {
					fmt.Fprintln(a.stdout)
				}
				a.printListed(s)
			}
			return nil
		},
	}
}

func (a *app) listedService(name string) listedService {
	s := listedService{Name: name, Source: builtIn, Collections: []string{}}
	file, _, err := a.definitions().Text(name)
	if err == nil && !strings.HasSuffix(file, "("+builtIn+")") {
		s.Source = file
	}
	d, err := a.definitions().Open(name)
	if err != nil {
		s.Problem = problemText(err)
		if several, ok := errors.AsType[strictyaml.Errors](err); ok {
			s.Problem = count(int64(len(several)), "problem") + "; braid services check " + quoteArg(file) + " tells them"
		}
		return s
	}
	s.Title, s.BaseURL = d.Title, d.BaseURL
	for _, c := range d.Collections {
		s.Collections = append(s.Collections, c.Name)
	}
	return s
}

func (a *app) printListed(s listedService) {
	fmt.Fprintln(a.stdout, strings.TrimRight(s.Name+"  "+s.Title, " "))
	if s.Problem != "" {
		fmt.Fprintf(a.stdout, "  %-12s %s\n", "unusable", s.Problem)
	}
	fmt.Fprintf(a.stdout, "  %-12s %s\n", "from", s.Source)
	label := "collections"
	for _, line := range wrapped(strings.Join(s.Collections, ", "), listWidth-15) {
		fmt.Fprintf(a.stdout, "  %-12s %s\n", label, line)
		label = ""
	}
}

// wrapped breaks a text into lines at its spaces.
func wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

func (a *app) servicesCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use: "check FILE...", Short: "Check definition files; every problem is told with its line", Args: cobra.MinimumNArgs(1),
		Example: "  braid services check rivers.yaml",
		RunE: func(_ *cobra.Command, files []string) error {
			found := new(problems)
			var checked []checkedFile
			for _, file := range files {
				one, err := checkFile(file)
				if err := found.take(err); err != nil {
					found.add(&strictyaml.Error{File: file, Message: err.Error()})
					one.Problems = append(one.Problems, problem{File: file, Message: err.Error()})
				}
				checked = append(checked, one)
			}
			if a.json {
				if err := a.printJSON(map[string]any{"files": checked}); err != nil {
					return err
				}
			} else {
				a.printChecked(checked)
			}
			return found.told("")
		},
	}
}

// checkedFile is what check says of one file.
type checkedFile struct {
	File        string    `json:"file"`
	Name        string    `json:"name,omitempty"`
	Collections int       `json:"collections"`
	Problems    []problem `json:"problems"`
	Note        string    `json:"note,omitempty"`
}

func checkFile(file string) (checkedFile, error) {
	one := checkedFile{File: file, Problems: []problem{}}
	data, err := readFile(file)
	if err != nil {
		return one, err
	}
	d, err := service.Parse(file, data)
	if several, ok := errors.AsType[strictyaml.Errors](err); ok {
		one.Problems = problemsOf(several)
	}
	if err != nil {
		return one, err
	}
	one.Name, one.Collections = d.Name, len(d.Collections)
	if base := strings.TrimSuffix(file[strings.LastIndexAny(file, `/\`)+1:], ".yaml"); base != d.Name {
		one.Note = fmt.Sprintf("in the services folder the file must be called %s.yaml: queries find it by that name", d.Name)
	}
	return one, nil
}

func (a *app) printChecked(checked []checkedFile) {
	for _, one := range checked {
		if len(one.Problems) > 0 {
			continue
		}
		fmt.Fprintf(a.stdout, "ok       %s: %s, %s\n", one.File, one.Name, count(int64(one.Collections), "collection"))
		if one.Note != "" {
			fmt.Fprintf(a.stdout, "note     %s\n", one.Note)
		}
	}
}

func (a *app) servicesShowCommand() *cobra.Command {
	var collection string
	var live bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show the definition in use, or of a collection what can be asked", Args: cobra.ExactArgs(1),
		Example: `  braid services show usgs-waterdata
  braid services show usgs-waterdata --collection daily
  braid services show usgs-waterdata --live`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if live {
				return a.serviceStanding(cmd.Context(), args[0])
			}
			file, text, err := a.definitions().Text(args[0])
			if err != nil {
				return usage("%s", problemText(err))
			}
			if collection == "" {
				return a.showText(args[0], file, string(text))
			}
			d, err := a.definitions().Open(args[0])
			if err != nil {
				return err
			}
			c, err := d.Collection(collection)
			if err != nil {
				return usage("%s", problemText(err))
			}
			described := describe(c, file)
			if a.json {
				return a.printJSON(described)
			}
			return a.printDescribed(described)
		},
	}
	cmd.Flags().StringVar(&collection, "collection", "", "tell what can be asked of this collection")
	cmd.Flags().BoolVar(&live, "live", false, "tell how it stands at the server, or in the process that has the data directory")
	cmd.MarkFlagsMutuallyExclusive("live", "collection")
	settings.OnlyFlags(cmd.Flags(), "collection", "live")
	return cmd
}

func (a *app) showText(name, file, text string) error {
	if a.json {
		return a.printJSON(map[string]string{"name": name, "file": file, "text": text})
	}
	a.line("from", "%s", file)
	a.line("more", "braid services show %s --collection NAME tells what can be asked of a collection, and its columns", quoteArg(name))
	_, err := fmt.Fprintln(a.stdout, strings.TrimRight(text, "\n"))
	return err
}

// described is what a person may ask of a collection.
type described struct {
	Service    string               `json:"service"`
	Collection string               `json:"collection"`
	Title      string               `json:"title,omitempty"`
	File       string               `json:"file"`
	BaseURL    string               `json:"base_url"`
	Parameters []describedParameter `json:"parameters"`
	ExactlyOne []string             `json:"exactly_one,omitempty"`
	Columns    []describedColumn    `json:"columns"`
	Key        []string             `json:"key,omitempty"`
	Axes       []string             `json:"axes"`
	Paging     string               `json:"paging"`
	Limits     describedLimits      `json:"limits"`
}

type describedParameter struct {
	Name     string   `json:"name"`
	Aliases  []string `json:"aliases,omitempty"`
	Type     string   `json:"type"`
	Of       []string `json:"of,omitempty"`
	Ends     string   `json:"ends,omitempty"`
	Several  bool     `json:"several"`
	Required bool     `json:"required"`
	Default  []string `json:"default,omitempty"`
	Values   []string `json:"values,omitempty"`
	Pattern  string   `json:"pattern,omitempty"`
	Hint     string   `json:"hint,omitempty"`
}

type describedColumn struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

type describedLimits struct {
	URLBytes  int               `json:"url_bytes"`
	BodyBytes int               `json:"body_bytes,omitempty"`
	Values    int               `json:"values,omitempty"`
	PageRows  int               `json:"page_rows,omitempty"`
	InFlight  messages.InFlight `json:"in_flight"`
	ChunkRows int64             `json:"chunk_rows,omitempty"`
}

func describe(c *service.Collection, file string) described {
	d := c.Definition()
	out := described{
		Service: d.Name, Collection: c.Name, Title: c.Title, File: file, BaseURL: d.BaseURL, ExactlyOne: c.ExactlyOne(),
		Parameters: []describedParameter{}, Axes: []string{},
		Paging: string(c.Paging().Style),
		Limits: describedLimits{c.Limits.URLBytes, c.Limits.BodyBytes, c.Limits.Values, c.Limits.PageRows, d.Limits.InFlight, c.Limits.ChunkRows},
	}
	each := map[string]bool{}
	var before service.AxisKind
	for _, axis := range c.Axes() {
		params := strings.Join(axis.Params, ", ")
		if axis.Kind == service.AxisPack && before == axis.Kind {
			out.Axes[len(out.Axes)-1] += ", " + params
		} else {
			out.Axes = append(out.Axes, string(axis.Kind)+": "+params)
		}
		before = axis.Kind
		for _, name := range axis.Params {
			each[name] = each[name] || axis.Kind == service.AxisEach
		}
	}
	for _, p := range c.Parameters() {
		one := describedParameter{
			Name: p.Name, Aliases: p.Aliases, Type: string(p.Type), Several: p.Many != "" || each[p.Name], Required: p.Required, Default: p.Default, Values: p.Values, Hint: p.Hint,
		}
		for _, unit := range p.Of {
			one.Of = append(one.Of, string(unit))
		}
		one.Ends = endsText(p.Of)
		if p.Pattern != nil {
			one.Pattern = p.Pattern.String()
		}
		out.Parameters = append(out.Parameters, one)
	}
	out.Columns, out.Key = tableColumns(c.Shape())
	return out
}

// tableColumns are the columns of the table, and those of them that tell rows apart: as finalize leaves them.
func tableColumns(shape frame.Shape) (columns []describedColumn, key []string) {
	named := shape.Columns()
	key = slices.Clone(shape.Key)
	for _, step := range shape.Finalize {
		if named.Apply(step) != nil {
			break // told when the definition is checked
		}
		for i, name := range key {
			if renamed, ok := step.Rename[name]; ok {
				key[i] = renamed
			}
		}
	}
	columns = []describedColumn{}
	none := func(func([]byte, error) bool) {}
	if table, err := frame.Build(context.Background(), shape, nil, none, nil); err == nil {
		for _, c := range table.Columns {
			columns = append(columns, describedColumn{c.Name, string(c.Type)})
		}
	}
	for _, f := range shape.Fields {
		if strings.Contains(f.Name, "*") && slices.Contains(named.Names(), f.Name) {
			columns = append(columns, describedColumn{f.Name, string(f.Type)})
		}
	}
	return columns, key
}

func (a *app) printDescribed(d described) error {
	fmt.Fprintf(a.stdout, "%s · %s  %s\n", d.Service, d.Collection, d.Title)
	fmt.Fprintf(a.stdout, "%s, asks %s\n\nparameters\n", d.File, d.BaseURL)
	names, kinds := 0, 0
	for _, p := range d.Parameters {
		names, kinds = max(names, len(p.Name)), max(kinds, len(p.kind()))
	}
	for _, p := range d.Parameters {
		fmt.Fprintln(a.stdout, strings.TrimRight(fmt.Sprintf("  %-*s  %-*s  %s", names, p.Name, kinds, p.kind(), strings.Join(p.marks(), ", ")), " "))
		for _, line := range p.notes() {
			fmt.Fprintf(a.stdout, "      %s\n", line)
		}
	}
	if len(d.ExactlyOne) > 0 {
		fmt.Fprintf(a.stdout, "  exactly one of %s\n", strings.Join(d.ExactlyOne, ", "))
	}
	fmt.Fprintln(a.stdout, "\ncolumns")
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, c := range d.Columns {
		mark := ""
		if slices.Contains(d.Key, c.Name) {
			mark = "  key"
		}
		fmt.Fprintf(table, "  %s\t%s%s\n", c.Name, c.Type, mark)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\npaging     %s\n", d.pagingText())
	label := "divided by"
	for _, axis := range d.Axes {
		for _, line := range wrapped(axis, listWidth-11) {
			fmt.Fprintf(a.stdout, "%-10s %s\n", label, line)
			label = ""
		}
	}
	fmt.Fprintf(a.stdout, "limits     URLs of %s bytes; %s requests at a time\n", thousands(int64(d.Limits.URLBytes)), d.Limits.InFlight)
	return nil
}

func (d described) pagingText() string {
	if d.Limits.PageRows == 0 {
		return d.Paging
	}
	return fmt.Sprintf("%s, %s rows a page", d.Paging, thousands(int64(d.Limits.PageRows)))
}

func (p describedParameter) kind() string {
	if len(p.Of) > 0 {
		return p.Type + " of " + strings.Join(p.Of, ", ")
	}
	return p.Type
}

// marks are what is notable about a parameter in single words.
func (p describedParameter) marks() []string {
	var marks []string
	if p.Required {
		marks = append(marks, "required")
	}
	if p.Several {
		marks = append(marks, "several")
	}
	if len(p.Aliases) > 0 {
		marks = append(marks, "also called "+strings.Join(p.Aliases, ", "))
	}
	if len(p.Default) > 0 {
		marks = append(marks, "default "+strings.Join(p.Default, ", "))
	}
	return marks
}

// endsText says whether the end of an interval belongs to it, and what a day stands for as one.
func endsText(units []service.Unit) string {
	var whole []string
	for _, unit := range units {
		switch unit {
		case service.UnitDate:
			whole = append(whole, "day")
		case service.UnitMonth, service.UnitYear:
			whole = append(whole, string(unit))
		case service.UnitTimestamp, service.UnitDuration:
		}
	}
	var text string
	switch {
	case len(whole) > 0:
		text = "the end is included: a " + strings.Join(whole, " or ") + " as the end means the whole " + strings.Join(whole, " or ")
	case slices.Contains(units, service.UnitTimestamp):
		return "the end is included: a day as the end is its first moment, and not the whole day"
	default:
		return ""
	}
	if slices.Contains(units, service.UnitTimestamp) {
		text += ", a time that moment"
	}
	return text
}

// notes are the lines below a parameter: its form and its allowed values.
func (p describedParameter) notes() []string {
	var notes []string
	if p.Hint != "" {
		notes = append(notes, wrapped(p.Hint, listWidth-6)...)
	} else if p.Pattern != "" {
		notes = append(notes, "matches "+p.Pattern)
	}
	if p.Ends != "" {
		notes = append(notes, wrapped(p.Ends, listWidth-6)...)
	}
	if len(p.Values) > 0 {
		notes = append(notes, wrapped("one of "+strings.Join(p.Values, ", "), listWidth-6)...)
	}
	return notes
}
