package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/service"
)

// Coverage says of each value that a query asks for what came of it, without any request upstream: of the lists that the plan
// divides, in the order of the axes and of the values. What was lost of the results wraps messages.ErrDamaged, as in Export.
func (c *Coordinator) Coverage(ctx context.Context, id string) (*messages.Coverage, error) {
	first, base, err := c.coverage(ctx, id)
	if err != nil || base == "" {
		return first, err
	}
	for all := first; base != ""; {
		var before *messages.Coverage
		if before, base, err = c.coverage(ctx, base); err != nil {
			return nil, err
		}
		cover(all, before)
	}
	return first, c.countOnce(ctx, id, first)
}

// countOnce counts the rows of several runs as the table has them: what lies in the overlap came more than once.
func (c *Coordinator) countOnce(ctx context.Context, id string, coverage *messages.Coverage) (err error) {
	e, err := c.export(ctx, id, true, func(shape *frame.Shape) { shape.Finalize, shape.Select = nil, nil })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	values := map[string][]string{}
	for _, v := range coverage.Values {
		values[v.Parameter] = append(values[v.Parameter], v.Value)
	}
	var tallies []*frame.Tally
	byParameter := map[string]*frame.Tally{}
	for parameter, list := range values {
		tally := frame.NewTally(parameter, list)
		byParameter[parameter] = tally
		tallies = append(tallies, tally)
	}
	if err := e.Table.Tally(ctx, tallies); err != nil {
		return err
	}
	for i := range coverage.Values {
		v := &coverage.Values[i]
		if tally := byParameter[v.Parameter]; tally.Known {
			v.Rows = tally.Rows[v.Value]
		}
	}
	return nil
}

// coverage says what came of the values in one query, and which one it goes on from.
func (c *Coordinator) coverage(ctx context.Context, id string) (_ *messages.Coverage, base string, err error) {
	q, p, survey, err := c.surveyed(ctx, id)
	if err != nil {
		return nil, "", err
	}
	a := newAsked(p)
	i := 0
	for position, chunk := range p.leaves(survey) {
		if i++; i%checkEvery == 0 && ctx.Err() != nil {
			return nil, "", context.Cause(ctx)
		}
		a.chunk(survey, position, chunk)
	}
	var damaged []messages.Position
	tallies := a.tallies()
	if len(tallies) > 0 {
		rows := firstRows(c.chunks(ctx, q, survey, &damaged), q.MaxRows)
		err = frame.Count(ctx, p.collection.Shape(), survey.Columns, rows, tallies)
	}
	if len(damaged) > 0 {
		return nil, "", c.reopen(ctx, q, damaged)
	}
	if err != nil && !errors.Is(err, frame.ErrUnknownField) { // of such rows no column is known
		return nil, "", fmt.Errorf("coverage of %s: %w", q.ID, err)
	}
	if q.MaxRows > 0 && survey.Progress.Rows >= q.MaxRows {
		a.cut()
	}
	return &messages.Coverage{V: messages.Version, Query: q.ID, Sites: p.shape().Roles.Sites, Values: a.covered()}, q.Base, nil
}

const checkEvery = 1024

// asked is what a query asks for, by parameter.
type asked struct{ parameters []*askedParameter }

type askedParameter struct {
	name   string
	order  []string
	values map[string]*askedValue
	shared bool // a chunk with rows asks for several values
	tally  *frame.Tally
}

// askedValue is one value over all chunks that ask for it.
type askedValue struct {
	missing bool  // some chunk has no result
	silent  bool  // no chunk that has one has rows
	alone   int64 // rows of chunks that ask for no other value
	shared  bool  // a chunk with rows asks for others too
}

func newAsked(p *pinned) *asked {
	a := &asked{}
	for _, axis := range p.collection.Axes() {
		if axis.Kind != service.AxisEach && axis.Kind != service.AxisPack {
			continue
		}
		for _, name := range axis.Params {
			a.parameters = append(a.parameters, &askedParameter{name: name, values: map[string]*askedValue{}})
		}
	}
	return a
}

// chunk notes a chunk that was not split.
func (a *asked) chunk(survey *Survey, at messages.Position, chunk planner.Chunk) {
	complete, rows := survey.Completed.Has(at), survey.rows[at]
	for _, param := range a.parameters {
		values := chunk.Values[param.name]
		for _, value := range values {
			param.value(value).add(complete, rows, len(values) > 1)
		}
		param.shared = param.shared || rows > 0 && len(values) > 1
	}
}

func (p *askedParameter) value(value string) *askedValue {
	v, known := p.values[value]
	if !known {
		v = &askedValue{silent: true}
		p.values[value] = v
		p.order = append(p.order, value)
	}
	return v
}

func (v *askedValue) add(complete bool, rows int64, shared bool) {
	switch {
	case !complete:
		v.missing = true
	case rows == 0:
	case shared:
		v.silent, v.shared = false, true
	default:
		v.silent = false
		v.alone += rows
	}
}

// tallies are for the parameters whose values stand together in chunks: the rows tell whose they are, in the column of the
// parameter's name.
func (a *asked) tallies() []*frame.Tally {
	var tallies []*frame.Tally
	for _, p := range a.parameters {
		if p.shared {
			p.tally = frame.NewTally(p.name, p.order)
			tallies = append(tallies, p.tally)
		}
	}
	return tallies
}

// cut notes that the table ends with the last row that the query asks for: what a value has more than the rows that count is not known.
func (a *asked) cut() {
	for _, p := range a.parameters {
		for _, v := range p.values {
			v.missing = v.missing || !v.silent
		}
	}
}

func (a *asked) covered() []messages.Covered {
	var all []messages.Covered
	for _, p := range a.parameters {
		for _, value := range p.order {
			all = append(all, p.judge(value, p.values[value]))
		}
	}
	return slices.Clip(all)
}

// judge never says that a service has nothing of a value unless it said so: by a chunk without rows, or by rows of all others.
func (p *askedParameter) judge(value string, v *askedValue) messages.Covered {
	c := messages.Covered{Parameter: p.name, Value: value, Rows: v.alone}
	told := !v.shared
	if v.shared && p.tally.Known {
		c.Rows = p.tally.Rows[value]
		told = c.Rows > 0 || p.tally.Other == 0
	}
	switch {
	case v.missing && c.Rows > 0:
		c.State = messages.CoveredPartly
	case v.missing:
		c.State = messages.NotFetched
	case v.silent:
		c.State = messages.SaidEmpty
	case !told:
		c.State = messages.CoverageUnclear
	case c.Rows == 0:
		c.State = messages.SaidEmpty
	default:
		c.State = messages.CoveredWhole
	}
	return c
}
