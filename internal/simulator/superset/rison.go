package superset

import (
	"fmt"
	"strconv"
	"strings"
)

// pageCap is the largest page of a list.
const pageCap = 100

// paging is what a list is asked for in Rison: (page:0,page_size:100,order_column:id,order_direction:asc).
type paging struct {
	page, size int
	column     string
	descending bool
}

// readPaging reads q. Other members, filters among them, are refused where the real server would apply them: the fake does not.
func readPaging(q string) (paging, error) {
	p := paging{size: 25, column: "id"}
	if q == "" {
		return p, nil
	}
	inner, opened := strings.CutPrefix(q, "(")
	inner, closed := strings.CutSuffix(inner, ")")
	if !opened || !closed {
		return p, fmt.Errorf("Not a valid rison/json argument") //nolint:staticcheck // the real server's words
	}
	for part := range strings.SplitSeq(inner, ",") {
		name, value, ok := strings.Cut(part, ":")
		value = strings.Trim(value, "'")
		var err error
		switch {
		case !ok && part == "":
		case name == "page":
			p.page, err = strconv.Atoi(value)
		case name == "page_size":
			p.size, err = strconv.Atoi(value)
		case name == "order_column":
			p.column = value
		case name == "order_direction":
			p.descending = value == "desc"
		default:
			err = fmt.Errorf("the fake does not know %s", name)
		}
		if err != nil {
			return p, fmt.Errorf("Not a valid rison/json argument: %w", err) //nolint:staticcheck // likewise
		}
	}
	if p.size <= 0 || p.size > pageCap {
		p.size = pageCap
	}
	if p.page < 0 || p.page > 1_000_000 {
		return p, fmt.Errorf("Not a valid rison/json argument: page") //nolint:staticcheck // likewise
	}
	return p, nil
}

// of cuts a page out of a list.
func (p paging) of(n int) (from, to int) {
	from = min(p.page*p.size, n)
	return from, min(from+p.size, n)
}
