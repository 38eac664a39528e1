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

// Divide plans a query whose values have been checked. Errors wrap ErrUnsplittable, ErrTooMany or ErrMaxChunks.
func Divide(c *service.Collection, values service.Values, opts Options) (Plan, error) {
	if opts.MaxChunks < 0 || opts.MaxChunks > MaxChunks {
		return nil, fmt.Errorf("%w: %d; use 1 to %d", ErrMaxChunks, opts.MaxChunks, MaxChunks)
	}
	d := &division{collection: c, values: values, opts: opts, grid: &grid{fixed: service.Values{}}}
	d.lay()
	if err := d.pack(); err != nil {
		return nil, err
	}
	if err := d.refine(); err != nil {
		return nil, err
	}
	if n := d.grid.Len(); n > MaxChunks || n < 1 {
		return nil, fmt.Errorf("%w: %d, at most %d; ask for less, or for more in one request", ErrTooMany, n, MaxChunks)
	}
	return d.grid, nil
}

type division struct {
	collection *service.Collection
	values     service.Values
	opts       Options
	grid       *grid
	packs      []int // axes of the grid that can be packed
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

// largest is the request in which every axis contributes its longest piece.
func (d *division) largest() service.Values {
	values := maps.Clone(d.grid.fixed)
	for _, a := range d.grid.axes {
		values[a.param] = longest(a.pieces)
	}
	return values
}

func longest(pieces [][]string) []string {
	best, most := pieces[0], -1
	for _, piece := range pieces {
		n := 0
		for _, value := range piece {
			n += len(value) + 1
		}
		if n > most {
			best, most = piece, n
		}
	}
	return best
}

// pack divides the pack axes until every request is within the limits of bytes and of rows, with the fewest requests
// that dividing one of them gives, or else two.
func (d *division) pack() error {
	whole := d.largest()
	request, err := d.collection.Request(whole)
	if err != nil {
		return err
	}
	limit := d.collection.Limits.URLBytes
	if len(request.URL) <= limit && d.mostValues(whole, "") == 0 {
		return nil
	}
	if len(d.packs) == 0 {
		if len(request.URL) > limit {
			return &UnsplittableError{Bytes: len(request.URL), Limit: limit}
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
	return nil
}

// packOne divides a single axis. One that can bring the rows down to their target goes before one that cannot.
func (d *division) packOne(whole service.Values) (best map[int][][]string, err error) {
	met := false
	for _, i := range d.packs {
		pieces, packErr := d.packAxis(i, whole)
		if packErr != nil {
			err = packErr
			continue
		}
		with := maps.Clone(whole)
		with[d.grid.axes[i].param] = longest(pieces)
		meets := d.mostValues(with, "") == 0
		if best == nil || meets && !met || meets == met && len(pieces) < count(best) {
			best, met = map[int][][]string{i: pieces}, meets
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
		for n := 2; n <= len(values) && (best == nil || n < count(best)); n++ {
			pieces := even(values, n)
			with := maps.Clone(whole)
			with[d.grid.axes[second].param] = longest(pieces)
			for _, main := range d.packs {
				if main == second {
					continue
				}
				packed, packErr := d.packAxis(main, with)
				if packErr == nil && (best == nil || n*len(packed) < count(best)) {
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

func count(division map[int][][]string) int {
	n := 1
	for _, pieces := range division {
		n *= len(pieces)
	}
	return n
}

func (d *division) packAxis(i int, with service.Values) ([][]string, error) {
	param := d.grid.axes[i].param
	others := maps.Clone(with)
	delete(others, param)
	p, err := newPacker(d.collection, others, param, d.values[param])
	if err != nil {
		return nil, err
	}
	most := d.mostValues(with, param)
	if most == 0 {
		most = len(d.values[param])
	}
	return p.pack(d.values[param], most)
}

// mostValues is how many values of param a request may have for its rows to stay within chunk_rows; 0 is no bound. For
// no param it tells, by another number than 0, that the rows of the request are over the target.
func (d *division) mostValues(with service.Values, param string) int {
	target := d.collection.Limits.ChunkRows
	rows, known := d.collection.EstimateRows(with, d.opts.Now)
	if !known || target == 0 || rows <= target {
		return 0
	}
	if param == "" {
		return 1
	}
	return max(1, int(int64(len(with[param]))*target/rows))
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
	n := min(len(values), d.opts.MaxChunks/(total/len(a.pieces)))
	pieces := even(values, n)
	with := d.largest()
	with[a.param] = longest(pieces)
	request, err := d.collection.Request(with)
	if err != nil {
		return err
	}
	// Even pieces of many values can be longer in bytes than packed ones of few: then what was packed stays.
	if len(request.URL) <= d.collection.Limits.URLBytes {
		a.pieces = pieces
	}
	return nil
}
