package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
)

// findings tells what a person asks of a table first, in the order of the questions: what is there and what is not, from when to
// when, how settled it is, how it is read, and how it is cited.
func (a *app) findings(r *frame.Report, p *proof, outputs []written) {
	if p != nil {
		for i, line := range coverageLines(worthTelling(p.coverage)) {
			if i == 0 && p.coverageFile != "" {
				line.text += "   → " + p.coverageFile
			}
			a.line(line.label, "%s", line.text)
		}
	}
	if r != nil && r.Summary != nil {
		a.periodLine(r.Summary)
		a.valuesLine(r)
	}
	for _, o := range outputs {
		if how := howToRead(o); how != "" {
			a.line("read it", "%s", how)
			break
		}
	}
	if p != nil && p.manifestFile != "" {
		a.line("cite it", "%s (query, service, times, row counts, SHA-256)", p.manifestFile)
	} else if p != nil && slices.ContainsFunc(outputs, func(o written) bool { return o.Postgres != nil }) {
		a.line("cite it", "braid manifest %s and braid coverage %s tell what the table is made of", p.coverage.Query, p.coverage.Query)
	}
}

// worthTelling leaves out the parameters of which one value was asked for, and that has all of its rows.
func worthTelling(c *messages.Coverage) *messages.Coverage {
	asked := map[string]int{}
	for _, v := range c.Values {
		asked[v.Parameter]++
	}
	told := *c
	told.Values = slices.DeleteFunc(slices.Clone(c.Values), func(v messages.Covered) bool {
		return asked[v.Parameter] == 1 && v.State == messages.CoveredWhole && v.Parameter != c.Sites
	})
	if len(told.Values) == 0 {
		return c
	}
	return &told
}

func (a *app) periodLine(s *frame.Summary) {
	if s.From == "" {
		return
	}
	text := s.From + " … " + s.To
	if s.Whole+s.Gappy > 0 {
		text += fmt.Sprintf(": %s without gaps, %s with gaps", count(s.Whole, "site"), thousands(s.Gappy))
	}
	a.line("period", "%s", messages.Text(text))
}

func (a *app) valuesLine(r *frame.Report) {
	s := r.Summary
	if s.Values+s.Nulls == 0 {
		return
	}
	var parts []string
	var statuses []string
	total := int64(0)
	for _, status := range s.Statuses {
		total += status.Count
	}
	for _, status := range s.Statuses {
		name := strings.ToLower(status.Text)
		if name == "" {
			name = "of no or another status"
		}
		statuses = append(statuses, share(status.Count, total)+" "+name)
	}
	if known := len(s.Statuses) > 1 || len(s.Statuses) == 1 && s.Statuses[0].Text != ""; known { // else the rows came without it
		parts = append(parts, strings.Join(statuses, ", "))
	}
	nulls := thousands(s.Nulls) + " null"
	if unreadable := unreadable(r); unreadable > 0 {
		nulls += fmt.Sprintf("; %s of all columns could not be read", count(unreadable, "value"))
	} else {
		nulls += "; 0 unreadable"
	}
	parts = append(parts, nulls)
	if units := unitsText(s.Units); units != "" {
		parts = append(parts, units)
	}
	a.line("values", "%s", messages.Text(strings.Join(parts, "; ")))
}

func unitsText(units []frame.Tallied) string {
	var names []string
	for _, u := range units {
		name := u.Text
		if name == "" {
			name = "none or others"
		}
		names = append(names, name)
	}
	switch {
	case len(names) == 0 || len(names) == 1 && units[0].Text == "":
		return ""
	case len(names) == 1:
		return "unit " + names[0]
	}
	return "units " + strings.Join(names, ", ")
}

// share never rounds to nothing or to all.
func share(n, of int64) string {
	percent := 100 * float64(n) / float64(of)
	switch {
	case n < of && percent >= 99.95:
		return "> 99.9 %"
	case n > 0 && percent < 0.05:
		return "< 0.1 %"
	case n == of:
		return "100 %"
	}
	return fmt.Sprintf("%.1f %%", percent)
}

// howToRead is how a file is read in R and in Python, with codes and numbers of sites as texts.
func howToRead(o written) string {
	if o.Path == "-" {
		return ""
	}
	forms := map[output.Format]string{
		output.Parquet: "arrow::read_parquet(%[1]q)  |  pandas.read_parquet(%[1]q)",
		output.Arrow:   "arrow::read_feather(%[1]q)  |  pandas.read_feather(%[1]q)",
		output.CSV:     "read.csv(%[1]q, colClasses = \"character\")  |  pandas.read_csv(%[1]q, dtype=str)",
		output.JSONL:   "jsonlite::stream_in(file(%[1]q))  |  pandas.read_json(%[1]q, lines=True, dtype=False)",
		output.GeoJSON: "sf::st_read(%[1]q)  |  geopandas.read_file(%[1]q)",
	}
	form, known := forms[output.Format(o.Format)]
	if !known {
		return ""
	}
	return fmt.Sprintf(form, o.Path)
}

// verified tells which of the rules that the query asked to be held do not hold.
func (a *app) verified(q *messages.Query, r *frame.Report, p *proof) (broken []string) {
	if p != nil && q.Covered {
		if n, first := uncovered(p.coverage); n > 0 {
			where := p.coverageFile
			if where == "" {
				where = "braid coverage " + q.ID
			}
			a.line("coverage", "%s without all rows, the first is %s of %s (%s); the query says verify: {coverage: require}", count(n, "value"), first.Value, first.Parameter, where)
			broken = append(broken, "coverage")
		}
	}
	if r == nil {
		return broken
	}
	var changes []string
	if r.Different > 0 {
		changes = append(changes, count(r.Different, "row")+" came in two versions")
	}
	if s := r.Summary; s != nil && s.Newest != "" {
		switch {
		case s.NewestAt.After(q.Created):
			changes = append(changes, "the newest row is of "+messages.Text(s.Newest)+", after the query was begun")
		case s.NewestAt.IsZero() && q.Unchanged:
			changes = append(changes, "the column that tells which of two rows is newer has no times, and so it cannot be told which rows are younger than the query")
		}
	}
	if len(changes) == 0 {
		return broken
	}
	text := "rows changed at the service while the query ran: " + strings.Join(changes, "; ")
	if q.Unchanged {
		text += "; the query says verify: {changed_during_run: require_none}: run it anew for a table of one moment"
		broken = append(broken, "rows changed")
	}
	a.line("changed", "%s", text)
	return broken
}

// uncovered counts the values that do not have all of their rows, as far as that is known, and gives the first.
func uncovered(c *messages.Coverage) (n int64, first messages.Covered) {
	for _, v := range c.Values {
		if v.State != messages.CoveredWhole {
			if n == 0 {
				first = v
			}
			n++
		}
	}
	return n, first
}

// unreadable counts the values that could not be read, of all columns and with duplicates.
func unreadable(r *frame.Report) (n int64) {
	for _, b := range r.Bad {
		n += b.Count
	}
	return n
}
