package planner

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/service"
)

// ErrUnsplittable says that the request of a query, or of a part of it, is over a limit and cannot be divided.
var ErrUnsplittable = errors.New("a request cannot be made small enough")

// Reason tells why a request cannot be made smaller.
type Reason string

// The reasons.
const (
	ReasonNoAxis    Reason = "no_axis"   // nothing in the query can be divided
	ReasonSaturated Reason = "saturated" // it is too large with one value of each axis
)

// UnsplittableError says which value makes a request too large. It wraps ErrUnsplittable.
type UnsplittableError struct {
	Reason    Reason
	Parameter string // the parameter with the value; empty when the query has none
	Value     string // the first value, in the order of the query, that makes the request too large
	More      int    // further values of the parameter that do so too
	Part      string // what is too large: "URL", "body", or "URL and body"
	Bytes     int    // what the part has with the value
	Limit     int    // and what the service takes

	fixed   bool // the value is in every request
	comment bool // it is a filter that is not divided because it may have a comment
}

// Error names value and limit, and what to do.
func (e *UnsplittableError) Error() string {
	text := fmt.Sprintf("%s: it has %d bytes of %s, the service takes %d", ErrUnsplittable, e.Bytes, e.Part, e.Limit)
	switch {
	case e.Parameter == "":
		return text + ", and the query has no values that could be left out"
	case e.Reason == ReasonNoAxis:
		return fmt.Sprintf("%s, and nothing in it can be divided; its longest value is %s of %s%s", text, shortened(e.Value), e.Parameter, e.hint())
	case e.fixed:
		return fmt.Sprintf("%s, however the rest is divided; most of it is %s of %s, which is in every request%s",
			text, shortened(e.Value), e.Parameter, e.hint())
	case e.More > 0:
		return fmt.Sprintf("%s, with the value %s of %s alone (and with %d more of its values); shorten them or the other parameters",
			text, shortened(e.Value), e.Parameter, e.More)
	}
	return fmt.Sprintf("%s, with the value %s of %s alone; shorten it or the other parameters", text, shortened(e.Value), e.Parameter)
}

func (e *UnsplittableError) hint() string {
	if e.comment {
		return "; a filter with -- or /* outside quotes is not divided, for an OR may be part of a comment"
	}
	return ""
}

// Unwrap gives ErrUnsplittable.
func (e *UnsplittableError) Unwrap() error { return ErrUnsplittable }

func shortened(value string) string {
	const most = 80
	if len(value) > most {
		return fmt.Sprintf("%.80q…", value)
	}
	return fmt.Sprintf("%q", value)
}

// over says which limit a size is over.
func (d *division) over(total size, e *UnsplittableError) *UnsplittableError {
	switch limits := d.collection.Limits; {
	case limits.URLBytes > 0 && total.url > limits.URLBytes:
		e.Part, e.Bytes, e.Limit = "URL", total.url, limits.URLBytes
	case limits.BodyBytes > 0 && total.body > limits.BodyBytes:
		e.Part, e.Bytes, e.Limit = "body", total.body, limits.BodyBytes
	default:
		e.Part, e.Bytes, e.Limit = "URL and body", total.both, limits.RequestBytes
	}
	return e
}

// noAxis is the error of a query without an axis.
func (d *division) noAxis(total size) *UnsplittableError {
	e := &UnsplittableError{Reason: ReasonNoAxis}
	for _, name := range slices.Sorted(maps.Keys(d.values)) {
		for _, value := range d.values[name] {
			if len(value) > len(e.Value) {
				e.Parameter, e.Value = name, value
			}
		}
	}
	e.comment = d.collection.CommentKeepsWhole(e.Parameter, d.values)
	return d.over(total, e)
}

// heaviestFixed gives the parameter that takes the most bytes of every request, with its longest value.
func (d *division) heaviestFixed() (most int, e *UnsplittableError) {
	for _, name := range slices.Sorted(maps.Keys(d.grid.fixed)) {
		bytes, longest := 0, ""
		for _, value := range d.grid.fixed[name] {
			bytes += len(url.QueryEscape(value))
			if len(value) > len(longest) {
				longest = value
			}
		}
		if bytes > most {
			most, e = bytes, &UnsplittableError{Reason: ReasonSaturated, Parameter: name, Value: longest, fixed: true}
		}
	}
	return most, e
}

// saturated names the parameter that takes the most of a request: one that is in every request, when it takes more than any
// value of the axes; else the values that are too large beside the shortest values of the other axes; when each has its place
// beside those, the longest one.
func (d *division) saturated() error {
	room := roomOf(d.collection.Limits)
	shortest, longest := d.bench.first, d.bench.first
	for _, a := range d.grid.axes {
		s, err := d.scale(a)
		if err != nil {
			return err
		}
		shortest, longest = shortest.plus(s.shortest()), longest.plus(s.singles())
	}
	if most, e := d.heaviestFixed(); most > d.longestOfAxes() {
		e.comment = d.collection.CommentKeepsWhole(e.Parameter, d.values)
		total := shortest
		if total.fits(room) {
			total = longest
		}
		return d.over(total, e)
	}
	var named *UnsplittableError
	heaviest := 0
	for _, a := range d.grid.axes {
		if a.kind == service.AxisWindow {
			continue
		}
		s := d.scales[a]
		beside := shortest.minus(s.shortest())
		var first *UnsplittableError
		for i, value := range a.values {
			weight := s.weigh(i, i+1)
			switch total := beside.plus(weight); {
			case total.fits(room):
			case first == nil:
				first = d.over(total, &UnsplittableError{Reason: ReasonSaturated, Parameter: a.param, Value: value})
			default:
				first.More++
			}
			if named == nil || weight.both > heaviest || a.packs() && !d.axis(named.Parameter).packs() {
				named, heaviest = &UnsplittableError{Reason: ReasonSaturated, Parameter: a.param, Value: value}, weight.both
			}
		}
		if first != nil {
			return first
		}
	}
	if named == nil { // windows only
		named = d.noAxis(longest)
		named.Reason = ReasonSaturated
		return named
	}
	return d.over(longest, named)
}

func (d *division) axis(param string) *axis {
	i := slices.IndexFunc(d.grid.axes, func(a *axis) bool { return a.param == param })
	return d.grid.axes[i]
}

// longestOfAxes is how many bytes the longest value of all axes takes.
func (d *division) longestOfAxes() int {
	most := 0
	for _, a := range d.grid.axes {
		for _, value := range a.values {
			most = max(most, len(url.QueryEscape(value)))
		}
		if a.kind == service.AxisWindow {
			most = max(most, len(url.QueryEscape(strings.Join(a.piece(0), "/"))))
		}
	}
	return most
}
