package planner

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/braidhq/braid/pkg/service"
)

// Errors of planning.
var (
	ErrUnsplittable = errors.New("a request cannot be made small enough")
	ErrTooMany      = errors.New("too many chunks")
	ErrMaxChunks    = errors.New("max_chunks is out of bounds")
)

// MaxChunks bounds a plan.
const MaxChunks = 10_000_000

// UnsplittableError says which value alone is over the limit of a request. It wraps ErrUnsplittable.
type UnsplittableError struct {
	Parameter, Value string
	Bytes, Limit     int
}

// Error names value and limit.
func (e *UnsplittableError) Error() string {
	if e.Parameter == "" {
		return fmt.Sprintf("%s: it has %d bytes, the service takes %d, and nothing in it can be divided", ErrUnsplittable, e.Bytes, e.Limit)
	}
	return fmt.Sprintf("%s: with the value %.80q of %s alone it has %d bytes, the service takes %d; shorten the other parameters",
		ErrUnsplittable, e.Value, e.Parameter, e.Bytes, e.Limit)
}

// Unwrap gives ErrUnsplittable.
func (e *UnsplittableError) Unwrap() error { return ErrUnsplittable }

// Options of a division.
type Options struct {
	MaxChunks int       // divide finer than the limits ask, up to this many chunks in all; 0 or 1: as few as possible
	Now       time.Time // for the estimate of an interval without an end
}

// Split divides a chunk that the service refused as too large into two that together ask for the same, in order. It is a pure
// function of its arguments: whoever repeats it gets the same. ok is false when nothing in the chunk can be divided.
func Split(c *service.Collection, chunk Chunk, opts Options) (halves [2]Chunk, ok bool) {
	return halves, false
}

// Divide plans a query whose values have been checked. Errors wrap ErrUnsplittable, ErrTooMany or ErrMaxChunks.
func Divide(c *service.Collection, values service.Values, opts Options) (Plan, error) {
	if opts.MaxChunks < 0 || opts.MaxChunks > MaxChunks {
		return nil, fmt.Errorf("%w: %d; use 1 to %d", ErrMaxChunks, opts.MaxChunks, MaxChunks)
	}
	d := &division{collection: c, values: values, opts: opts, grid: &grid{fixed: service.Values{}}, packers: map[int]*packer{}}
	d.lay()
	for _, step := range []func() error{d.count, d.pack, d.count, d.refine} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return d.grid, nil
}

type division struct {
	collection *service.Collection
	values     service.Values
	opts       Options
	grid       *grid
	packs      []int           // axes of the grid that can be packed
	packers    map[int]*packer // of the axes that have been measured
}

// lay puts each parameter on its axis or among the fixed values.
func (d *division) lay() {
	onAxis := map[string]bool{}
	for _, a := range d.collection.Axes() {
		for _, param := range a.Params {
			values := d.values[param]
			if len(values) < 2 {
				continue
			}
			onAxis[param] = true
			pieces := [][]string{values}
			if a.Kind == service.AxisEach {
				pieces = even(values, len(values))
			} else {
				d.packs = append(d.packs, len(d.grid.axes))
			}
			d.grid.axes = append(d.grid.axes, axis{param, pieces})
		}
	}
	for name, values := range d.values {
		if !onAxis[name] {
			d.grid.fixed[name] = values
		}
	}
}

// count refuses a plan of too many chunks, before time is spent on it.
func (d *division) count() error {
	if d.grid.Len() > MaxChunks {
		return fmt.Errorf("%w: more than %d; ask for less, or for more in one request", ErrTooMany, MaxChunks)
	}
	return nil
}

// packer measures the values of an axis, once, beside the first value of each other axis.
func (d *division) packer(i int) (*packer, error) {
	if p := d.packers[i]; p != nil {
		return p, nil
	}
	others := maps.Clone(d.grid.fixed)
	for j, a := range d.grid.axes {
		if j != i {
			others[a.param] = d.values[a.param][:1]
		}
	}
	param := d.grid.axes[i].param
	p, err := newPacker(d.collection, others, param, d.values[param])
	if err != nil {
		return nil, err
	}
	d.packers[i] = p
	return p, nil
}

// longest is the piece of an axis that takes the most bytes of a request.
func (d *division) longest(i int, pieces [][]string) ([]string, error) {
	if len(pieces) == 1 {
		return pieces[0], nil
	}
	p, err := d.packer(i)
	if err != nil {
		return nil, err
	}
	return p.longest(pieces), nil
}

// largest is the request in which every axis contributes its longest piece.
func (d *division) largest() (service.Values, error) {
	values := maps.Clone(d.grid.fixed)
	for i, a := range d.grid.axes {
		piece, err := d.longest(i, a.pieces)
		if err != nil {
			return nil, err
		}
		values[a.param] = piece
	}
	return values, nil
}

// pack divides the pack axes until every request is within the limits of bytes and of rows, with the fewest requests
// that dividing one of them gives, or else two.
func (d *division) pack() error {
	whole, err := d.largest()
	if err != nil {
		return err
	}
	size, err := measure(d.collection, whole)
	if err != nil {
		return err
	}
	limit := d.collection.Limits.URLBytes
	if size <= limit && d.excess(whole) == 0 {
		return nil
	}
	if len(d.packs) == 0 {
		if size > limit {
			return &UnsplittableError{Bytes: size, Limit: limit}
		}
		return nil
	}
	best, err := d.packOne(whole)
	if best == nil {
		best, err = d.packTwo(whole, err)
	}
	if best == nil {
		return err
	}
	for i, pieces := range best {
		d.grid.axes[i].pieces = pieces
	}
	return d.verify()
}

// verify measures what was packed as it will be sent: a division is never trusted on arithmetic alone.
func (d *division) verify() error {
	with, err := d.largest()
	if err != nil {
		return err
	}
	for _, i := range d.packs {
		a := d.grid.axes[i]
		longest := with[a.param]
		for _, piece := range a.pieces {
			with[a.param] = piece
			size, err := measure(d.collection, with)
			if err != nil {
				return err
			}
			if limit := d.collection.Limits.URLBytes; size > limit {
				return fmt.Errorf("%w: %d values of %s have %d bytes, over the limit of %d they were packed to", ErrUnsplittable, len(piece), a.param, size, limit)
			}
		}
		with[a.param] = longest
	}
	return nil
}

// packOne divides a single axis: the one that brings the rows nearest to their target, and of several the one that gives
// the fewest requests.
func (d *division) packOne(whole service.Values) (best map[int][][]string, err error) {
	var least int64
	for _, i := range d.packs {
		pieces, packErr := d.packAxis(i, whole)
		if packErr != nil {
			err = packErr
			continue
		}
		with := maps.Clone(whole)
		with[d.grid.axes[i].param] = most(pieces)
		over := d.excess(with)
		if best == nil || over < least || over == least && len(pieces) < count(best) {
			best, least = map[int][][]string{i: pieces}, over
		}
	}
	if best != nil {
		return best, nil
	}
	return nil, err
}

// packTwo divides two axes: one evenly, into more and more pieces, and the other as that leaves room.
func (d *division) packTwo(whole service.Values, cause error) (best map[int][][]string, err error) {
	for _, second := range d.packs {
		values := d.values[d.grid.axes[second].param]
		for _, main := range d.packs {
			if main == second {
				continue
			}
			// With the second axis in single values the main one has the most room: less pieces it never has.
			finest, err := d.packBeside(main, second, even(values, len(values)), whole)
			if err != nil {
				cause = err
				continue
			}
			if best == nil || len(values)*len(finest) < count(best) {
				best = map[int][][]string{second: even(values, len(values)), main: finest}
			}
			for n := 2; n < len(values) && n*len(finest) < count(best); n++ {
				pieces := even(values, n)
				packed, err := d.packBeside(main, second, pieces, whole)
				if err == nil && n*len(packed) < count(best) {
					best = map[int][][]string{second: pieces, main: packed}
				}
			}
		}
	}
	if best == nil {
		return nil, cause
	}
	return best, nil
}

func (d *division) packBeside(main, second int, pieces [][]string, whole service.Values) ([][]string, error) {
	piece, err := d.longest(second, pieces)
	if err != nil {
		return nil, err
	}
	with := maps.Clone(whole)
	with[d.grid.axes[second].param] = piece
	return d.packAxis(main, with)
}

func count(division map[int][][]string) int {
	n := 1
	for _, pieces := range division {
		n *= len(pieces)
	}
	return n
}

// most is the piece with the most values.
func most(pieces [][]string) []string {
	return slices.MaxFunc(pieces, func(a, b []string) int { return cmp.Compare(len(a), len(b)) })
}

// packAxis divides one axis as the rest of the request leaves room.
func (d *division) packAxis(i int, with service.Values) ([][]string, error) {
	p, err := d.packer(i)
	if err != nil {
		return nil, err
	}
	param := d.grid.axes[i].param
	first := maps.Clone(with)
	first[param] = d.values[param][:1]
	size, err := measure(d.collection, first)
	if err != nil {
		return nil, err
	}
	return p.pack(size-p.sizes[0], d.mostValues(with, param))
}

// excess is how many rows a request is over their target, by the estimate.
func (d *division) excess(with service.Values) int64 {
	target := d.collection.Limits.ChunkRows
	rows, known := d.collection.EstimateRows(with, d.opts.Now)
	if !known || target == 0 {
		return 0
	}
	return max(0, rows-target)
}

// mostValues is how many values of param a request may have for its rows to stay within their target: all of them when
// they do so anyway, or when the rows do not depend on the parameter.
func (d *division) mostValues(with service.Values, param string) int {
	target, all := d.collection.Limits.ChunkRows, len(with[param])
	if d.excess(with) == 0 {
		return all
	}
	rows, _ := d.collection.EstimateRows(with, d.opts.Now)
	one := maps.Clone(with)
	one[param] = with[param][:1]
	if fewer, _ := d.collection.EstimateRows(one, d.opts.Now); fewer >= rows {
		return all
	}
	return max(1, int(int64(all)*target/rows))
}

// refine divides the longest axis further, evenly, as max_chunks asks. It keeps what the limits forced.
func (d *division) refine() error {
	total := d.grid.Len()
	if d.opts.MaxChunks <= total || len(d.packs) == 0 {
		return nil
	}
	main := d.packs[0]
	for _, i := range d.packs {
		if len(d.values[d.grid.axes[i].param]) > len(d.values[d.grid.axes[main].param]) {
			main = i
		}
	}
	a := &d.grid.axes[main]
	values := d.values[a.param]
	pieces := even(values, min(len(values), d.opts.MaxChunks/(total/len(a.pieces))))
	with, err := d.largest()
	if err != nil {
		return err
	}
	if with[a.param], err = d.longest(main, pieces); err != nil {
		return err
	}
	size, err := measure(d.collection, with)
	if err != nil {
		return err
	}
	// Even pieces of many values can be longer in bytes than packed ones of few: then what was packed stays.
	if size <= d.collection.Limits.URLBytes {
		a.pieces = pieces
	}
	return nil
}
