package simulator

import (
	"errors"
	"maps"
	"net/http"
	"strings"
)

// answerItems answers a request for the items of a collection and returns the number of rows sent.
func (o *ogcCollection) answerItems(c *call) int64 {
	q, err := o.parseItems(c)
	var sel selection
	if err == nil {
		sel, err = o.selectFrom(q.filter, c.world)
	}
	switch {
	case errors.Is(err, errFilter):
		c.refuse(http.StatusInternalServerError, "NoApplicableCode", err.Error())
		return 0
	case err != nil:
		c.refuse(http.StatusBadRequest, "InvalidParameterValue", err.Error())
		return 0
	case c.expired(q.from.issued):
		c.cursorGone()
		return 0
	}
	p := &itemsPage{call: c, collection: o, query: q, table: o.open(c.world, sel)}
	if most := c.config.MaxQueryRows; most > 0 && p.table.size() > most {
		c.overServerLimits(p.table.size())
		return 0
	}
	if !p.place() {
		c.refuse(http.StatusBadRequest, "InvalidParameterValue", "cursor: does not belong to this query")
		return 0
	}
	p.write()
	return int64(p.rows)
}

// itemsPage is one answer of features under way.
type itemsPage struct {
	call       *call
	collection *ogcCollection
	query      *itemsQuery
	table      table
	start      position
	row        tableRow
	buf        []byte
	rows       int
}

// place puts the page where the query begins, or checks the place that the cursor names.
func (p *itemsPage) place() bool {
	if p.table.units > 0 {
		first, _ := p.table.span(0)
		p.start = position{day: first}
	}
	at := &p.query.from
	switch {
	case !p.query.continued:
		*at = p.start
	case at.series == behindAll:
		at.day = 0
	case at.series >= p.table.units:
		return false
	default:
		first, end := p.table.span(at.series)
		return at.day >= first && at.day < end
	}
	return true
}

func (p *itemsPage) write() {
	c := p.call
	if c.entry.Fault == FaultEmptyPage && p.query.from.behindEmpty {
		c.entry.Fault = "" // one empty page is a fault, a chain of them would never end
	}
	c.out.start(http.StatusOK, "application/geo+json")
	p.buf = append(p.buf, `{"type":"FeatureCollection","features":[`...)
	l := links{at: p.query.from, start: p.start}
	if c.entry.Fault == FaultEmptyPage {
		behind := p.query.from
		behind.behindEmpty = true
		l.next = &behind
	} else {
		l.next = p.walk(c.clamp(p.query.limit))
	}
	p.buf = c.closeFeatures(p.buf, p.rows, p.matched(), l)
	_, _ = c.out.Write(p.buf) // the response keeps the error
}

// walk writes rows until the page is full or the rows are over, and returns the place of the first that found no room.
func (p *itemsPage) walk(limit int) *position {
	var next *position
	p.each(p.query.from, func(at position) bool {
		if p.rows == limit {
			next = &at
			return false
		}
		if p.rows > 0 {
			p.buf = append(p.buf, ',')
		}
		if p.call.entry.Fault == FaultHugeNumber && p.rows == 0 {
			enlarge(p.row.cells, p.collection.Columns)
		}
		p.feature()
		p.rows++
		if len(p.buf) >= pageBuffer {
			_, _ = p.call.out.Write(p.buf) // the response keeps the error
			p.buf = p.buf[:0]
		}
		return p.call.out.err == nil
	})
	return next
}

// each reads the rows that match, from a place on, until visit has seen enough.
func (p *itemsPage) each(from position, visit func(position) bool) {
	for unit := from.series; unit < p.table.units; unit++ {
		first, end := p.table.span(unit)
		if unit == from.series {
			first = from.day
		}
		for number := first; number < end; number++ {
			if !p.read(unit, number) {
				continue
			}
			if !visit(position{series: unit, day: number}) {
				return
			}
		}
	}
}

func (p *itemsPage) read(unit, number int) bool {
	if p.row.cells == nil {
		p.row.cells = map[string]cell{}
	}
	clear(p.row.cells)
	if !p.table.read(unit, number, &p.row) {
		return false
	}
	described := false
	holds := p.query.filter.holds(func(property string) cell {
		if c, known := p.row.cells[property]; known {
			return c
		}
		if property == "id" {
			return textCell(p.row.id)
		}
		if p.row.site != "" && !described { // the site is asked for what the row does not tell of it
			described = true
			own := p.row.cells
			p.row.cells = map[string]cell{}
			p.call.world.siteOf(p.row.site).describe(p.row.cells)
			maps.Copy(p.row.cells, own)
		}
		return p.row.cells[property]
	})
	return holds == isTrue && p.inBox()
}

func (p *itemsPage) inBox() bool {
	box := p.query.box
	if box == nil {
		return true
	}
	if p.row.site == "" || !p.collection.Geometry {
		return false
	}
	x, y, placed := placeOf(p.call.world.values.Seed, p.row.site)
	return placed && x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3]
}

// feature writes the row at hand.
func (p *itemsPage) feature() {
	p.buf = append(p.buf, `{"type":"Feature","id":`...)
	if p.collection.NumericID {
		p.buf = append(p.buf, p.row.id...)
	} else {
		p.buf = appendText(p.buf, p.row.id)
	}
	ngwmn := p.collection.Service == serviceNGWMN
	switch {
	case p.collection.Geometry && !p.query.skipGeometry:
		p.buf = append(p.buf, `,"geometry":`...)
		p.buf = appendGeometry(p.buf, p.call.world.values.Seed, p.row.site)
	case !ngwmn:
		p.buf = append(p.buf, `,"geometry":null`...)
	}
	p.buf = append(p.buf, `,"properties":{`...)
	for i, column := range p.query.columns {
		if i > 0 {
			p.buf = append(p.buf, ',')
		}
		name := column.Name
		if ngwmn && !p.call.config.SnakeColumns {
			name = wireName(name)
		}
		p.buf = append(p.buf, `"`+name+`":`...)
		p.buf = p.row.cells[column.Name].appendJSON(p.buf)
	}
	p.buf = append(p.buf, "}}"...)
}

// matched counts the rows of the whole query, when the service is to tell it.
func (p *itemsPage) matched() *int64 {
	fault := p.call.entry.Fault == FaultWrongTotal
	if p.collection.Service == serviceNGWMN || !fault && !p.call.config.CountMatched {
		return nil
	}
	var n int64
	p.each(p.start, func(position) bool { n++; return true })
	if fault {
		n++
	}
	return &n
}

// clamp is how many rows a page holds of the many asked for.
func (c *call) clamp(limit int) int {
	if c.entry.Fault != FaultClampedLimit {
		return limit
	}
	if c.draw.fault.Rows > 0 {
		return min(limit, c.draw.fault.Rows)
	}
	return max(1, limit/2)
}

// hugeNumber is one that no number type of a machine holds.
func hugeNumber() string { return "9" + strings.Repeat("0", 400) }

// enlarge makes every number of a row huge.
func enlarge(cells map[string]cell, columns []Column) {
	for _, column := range columns {
		c := cells[column.Name]
		switch column.Type {
		case TypeDecimal, TypeNumber, TypeInteger, typeOddNumber:
			c.text = hugeNumber()
			cells[column.Name] = c
		default:
		}
	}
}
