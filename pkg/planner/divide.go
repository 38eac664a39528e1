package planner

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/braidhq/braid/pkg/service"
)

// Errors of planning.
var (
	ErrTooMany   = errors.New("too many chunks")
	ErrMaxChunks = errors.New("max_chunks is out of bounds")
)

// MaxChunks bounds a plan.
const MaxChunks = 10_000_000

// Options of a division.
type Options struct {
	MaxChunks int       // divide finer than the limits ask, up to this many chunks in all; 0 or 1: as few as possible
	Now       time.Time // the end of an interval that has none, for windows and estimates; part of what a plan depends on
}

// Divide plans a query whose values have been checked: as few chunks as the limits allow, or more if the options ask. The
// request of each chunk, measured as it is sent, is within the limits of bytes; within the target of rows it is as far as
// values divide. The plan is Indexed. Errors wrap ErrUnsplittable, ErrTooMany or ErrMaxChunks, or are a *service.ValueError
// for an interval that cannot be divided into windows.
func Divide(c *service.Collection, values service.Values, opts Options) (Plan, error) {
	if opts.MaxChunks < 0 || opts.MaxChunks > MaxChunks {
		return nil, fmt.Errorf("%w: %d; use 1 to %d", ErrMaxChunks, opts.MaxChunks, MaxChunks)
	}
	d := &division{
		collection: c, params: c.Parameters(), values: values, opts: opts,
		grid: &grid{fixed: service.Values{}}, scales: map[*axis]*scale{},
	}
	for _, step := range []func() error{d.lay, d.checkLists, d.count, d.pack, d.count, d.refine, d.verify, d.restore} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return d.grid, nil
}

type division struct {
	collection *service.Collection
	params     parameters
	values     service.Values
	opts       Options
	grid       *grid
	bench      *bench
	scales     map[*axis]*scale // of the axes that have been measured
	weighed    bool             // all axes have been
	shared     size             // what a request takes more when any axis sends several values; not in the scales
}

// lay puts each parameter on its axis or among the fixed values.
func (d *division) lay() error {
	onAxis := map[string]bool{}
	for _, rule := range d.collection.Axes() {
		for _, param := range rule.Params {
			a, err := d.newAxis(rule, param)
			if err != nil {
				return err
			}
			if a != nil {
				onAxis[a.param] = true
				d.grid.axes = append(d.grid.axes, a)
			}
		}
	}
	for name, values := range d.values {
		if !onAxis[name] {
			d.grid.fixed[name] = values
		}
	}
	return nil
}

// newAxis gives the axis of a parameter, or nil when there is nothing to divide on it.
func (d *division) newAxis(rule service.Axis, param string) (*axis, error) {
	name, values := d.params.given(d.values, param)
	a := &axis{param: name, kind: rule.Kind, values: values}
	switch rule.Kind {
	case service.AxisWindow:
		w, err := d.newWindows(rule, param)
		if w == nil || w.len() < 2 {
			return nil, err
		}
		a.values, a.windows = nil, w
		return a, nil
	case service.AxisClauses:
		a.written, a.asWritten, a.values = values, true, d.collection.Clauses(param, d.values)
	case service.AxisEach, service.AxisPack:
	}
	if len(a.values) < 2 {
		return nil, nil //nolint:nilnil // no axis is an answer
	}
	a.cuts = []int{len(a.values)}
	return a, nil
}

// newWindows divides an interval as its span asks; nil when the query does not ask for a time, or for one instant.
func (d *division) newWindows(rule service.Axis, param string) (*windows, error) {
	name, values := d.params.given(d.values, param)
	if len(values) == 0 || rule.Window.Span == (service.Span{}) {
		return nil, nil //nolint:nilnil // no windows are an answer
	}
	w, ok := open(d.params, rule, values, d.opts.Now)
	switch {
	case ok:
		w.divide(MaxChunks)
		return w, nil
	case w != nil, isDuration(values):
		return nil, nil //nolint:nilnil // an instant has no parts, and how long a duration may be is the service's to say
	}
	return nil, openWindow(name, values)
}

// count refuses a plan of too many chunks, before time is spent on it.
func (d *division) count() error {
	if d.grid.Len() > MaxChunks {
		return tooMany()
	}
	return nil
}

func tooMany() error {
	return fmt.Errorf("%w: more than %d; ask for less, or for more in one request", ErrTooMany, MaxChunks)
}

// scale measures the values of an axis, once.
func (d *division) scale(a *axis) (*scale, error) {
	if s := d.scales[a]; s != nil {
		return s, nil
	}
	var err error
	if d.bench == nil {
		if d.bench, err = newBench(d.collection, d.grid); err != nil {
			return nil, err
		}
	}
	s, err := d.bench.newScale(a)
	if err != nil {
		return nil, err
	}
	d.scales[a] = s
	return s, nil
}

// largest is the request in which every axis contributes its heaviest piece.
func (d *division) largest() (service.Values, error) {
	values := maps.Clone(d.grid.fixed)
	for _, a := range d.grid.axes {
		piece := a.piece(0)
		if a.len() > 1 {
			s, err := d.scale(a)
			if err != nil {
				return nil, err
			}
			piece = a.piece(s.heaviestPiece(a))
		}
		values[a.param] = piece
	}
	return values, nil
}

// pack cuts the pack and clauses axes until every request is within the limits of bytes and, as far as values divide, the
// target of rows.
func (d *division) pack() error {
	whole, err := d.largest()
	if err != nil {
		return err
	}
	total, err := measure(d.collection, whole)
	if err != nil {
		return err
	}
	fits := total.fits(roomOf(d.collection.Limits)) && !d.holdsTooMany(whole)
	switch packs := d.packs(); {
	case fits && (len(packs) == 0 || d.excess(whole) == 0):
		return nil
	case len(d.grid.axes) == 0 && d.collection.PassesThrough(d.values):
		return nil
	case len(d.grid.axes) == 0:
		return d.noAxis(total)
	case len(packs) == 0:
		if d.bench == nil {
			if _, err := d.scale(d.grid.axes[0]); err != nil {
				return err
			}
		}
		return d.saturated()
	}
	return d.packRows()
}

// packs gives the axes whose pieces may hold several values.
func (d *division) packs() []*axis {
	var packs []*axis
	for _, a := range d.grid.axes {
		if a.packs() {
			packs = append(packs, a)
		}
	}
	return packs
}

// verify measures what was packed as it will be sent: a division is never trusted on arithmetic alone.
func (d *division) verify() error {
	packs := d.packs()
	if len(packs) == 0 || d.bench == nil {
		return nil // nothing was divided by arithmetic
	}
	with, err := d.largest()
	if err != nil {
		return err
	}
	room := roomOf(d.collection.Limits)
	for _, a := range packs {
		longest := with[a.param]
		for i := range a.len() {
			with[a.param] = a.piece(i)
			total, err := measure(d.collection, with)
			if err != nil {
				return err
			}
			if !total.fits(room) {
				e := d.over(total, &UnsplittableError{})
				return fmt.Errorf("%w: with %d values of %s the %s has %d bytes, over the limit of %d they were packed to",
					ErrUnsplittable, len(with[a.param]), a.param, e.Part, e.Bytes, e.Limit)
			}
		}
		with[a.param] = longest
	}
	return nil
}

// restore gives back a filter that stays undivided as it was written, where the request takes that.
func (d *division) restore() error {
	for _, a := range d.packs() {
		if a.kind != service.AxisClauses || a.len() > 1 || a.asWritten {
			continue
		}
		a.asWritten = true
		with, err := d.largest()
		if err != nil {
			return err
		}
		total, err := measure(d.collection, with)
		if err != nil {
			return err
		}
		a.asWritten = total.fits(roomOf(d.collection.Limits))
	}
	return nil
}
