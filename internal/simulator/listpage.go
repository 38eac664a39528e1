package simulator

import (
	"fmt"
	"strconv"
	"strings"
)

// mark is a place in a list of rows, as cursors and offsets of the services without features carry it.
type mark struct {
	at          int
	behindEmpty bool // the page before this place was empty by a fault
}

// String is the mark as a client sends it back.
func (m mark) String() string { return strconv.Itoa(m.at) + pick(m.behindEmpty, "e", "") }

func parseMark(text string) (mark, error) {
	digits, empty := strings.CutSuffix(text, "e")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || strconv.Itoa(n) != digits {
		return mark{}, fmt.Errorf("%q was not made by this service", clip(text))
	}
	return mark{n, empty}, nil
}

// listPage is the part of a list that one page holds.
type listPage struct {
	from, to int
	next     *mark // nil at the end
}

// cutPage works out a page of a list, and what a fault makes of it and of the way to the next one.
func (c *call) cutPage(total int, at mark, limit int) listPage {
	if c.entry.Fault == FaultEmptyPage && at.behindEmpty {
		c.entry.Fault = "" // one empty page is a fault, a chain of them would never end
	}
	from := min(at.at, total)
	p := listPage{from: from, to: min(total, from+c.clamp(limit))}
	if p.to < total {
		p.next = &mark{at: p.to}
	}
	switch c.entry.Fault {
	case FaultEmptyPage:
		p.to, p.next = from, &mark{at.at, true}
	case FaultRepeatedNext:
		p.next = &at
	case FaultCyclicNext:
		if at.at > 0 || p.next == nil {
			p.next = &mark{}
		}
	case FaultTrailingNext:
		if p.next == nil {
			p.next = &mark{at: total}
		}
	case FaultForeignNext, FaultAliasNext, FaultBadLink:
		if p.next == nil {
			p.next = &at
		}
	default:
	}
	return p
}

// total is the number of rows that an answer tells.
func (c *call) total(n int) int {
	if c.entry.Fault == FaultWrongTotal {
		return n + 1
	}
	return n
}

// headerNext sets a Link header to the next page.
func (c *call) headerNext(href string) {
	link := "<" + href + `>; rel="next"`
	if c.entry.Fault == FaultBadLink {
		link = "<" + href + `; rel="next`
	}
	c.out.w.Header().Set("Link", link)
}
