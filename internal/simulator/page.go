package simulator

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"
)

// pageBuffer is how many bytes of rows are gathered before they are sent.
const pageBuffer = 64 << 10

// page is one answer of rows under way.
type page struct {
	call  *call
	query *dailyQuery
	buf   []byte
	rows  int
	next  *position // where the following page begins
}

// answerDaily answers a request for daily values and returns the number of rows sent. What the fast path does not know
// (a body, a filter, a place, other queryables, faults inside rows) is answered the general way, with the same rows.
func (o *ogcCollection) answerDaily(c *call, buffers *sync.Pool) int64 {
	q, err := parseDaily(c.request.URL.RawQuery, c.world.record, c.config.PageRows)
	if err != nil || c.request.Method != http.MethodGet || c.config.CountMatched || c.draw.fault.Kind.strikesRows() {
		return o.answerItems(c)
	}
	if c.expired(q.from.issued) {
		c.cursorGone()
		return 0
	}
	if most := c.config.MaxQueryRows; most > 0 && q.span() > most {
		c.overServerLimits(q.span())
		return 0
	}
	shared, ok := buffers.Get().(*[]byte)
	if !ok {
		shared = new([]byte)
	}
	defer buffers.Put(shared)
	p := &page{call: c, query: q, buf: (*shared)[:0]}
	c.out.start(http.StatusOK, "application/geo+json")
	p.write()
	*shared = p.buf
	return int64(p.rows)
}

func (p *page) write() {
	p.buf = append(p.buf, `{"type":"FeatureCollection","features":[`...)
	if p.call.draw.fault.Kind == FaultEmptyPage && p.query.from.behindEmpty {
		p.call.entry.Fault = "" // one empty page is a fault, a chain of them would never end
	}
	if p.call.entry.Fault == FaultEmptyPage {
		behind := p.query.from
		behind.behindEmpty = true
		p.next = &behind
	} else {
		p.walk()
	}
	p.close()
	_, _ = p.call.out.Write(p.buf) // the response keeps the error
}

// walk writes rows from the query's position until the page is full or the rows are over.
func (p *page) walk() {
	q := p.query
	s := &series{record: p.call.world.record}
	t := &template{}
	day := q.from.day
	for i := q.from.series; i < q.size(); i++ {
		site, parameter, statistic := q.names(i)
		if s.record.hasData(site) {
			s.become(site, parameter, statistic)
			t.fill(q, s, site, parameter, statistic)
			if stopped, full := p.walkSeries(s, t, day); full {
				p.next = &position{series: i, day: stopped}
				return
			}
		}
		if p.call.out.err != nil {
			return
		}
		day = q.first
	}
}

// walkSeries writes the rows of one series from a day on. When the page is full before the rows are over, stopped
// is the day of the first row that found no room.
func (p *page) walkSeries(s *series, t *template, day int) (stopped int, full bool) {
	for ; day <= p.query.last; day++ {
		if s.missing(day) {
			continue
		}
		if p.rows == p.query.limit {
			return day, true
		}
		if p.rows > 0 {
			p.buf = append(p.buf, ',')
		}
		p.buf = t.appendRow(p.buf, s, s.row(day))
		p.rows++
		if len(p.buf) >= pageBuffer {
			if _, err := p.call.out.Write(p.buf); err != nil {
				return 0, false
			}
			p.buf = p.buf[:0]
		}
	}
	return 0, false
}

// close writes what follows the rows.
func (p *page) close() {
	p.buf = p.call.closeFeatures(p.buf, p.rows, nil, links{at: p.query.from, start: position{day: p.query.first}, next: p.next})
}

// appendText writes a text of the client's as JSON, & unescaped as the service leaves it.
func appendText(b []byte, text string) []byte {
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		return append(b, `""`...) // a string can always be encoded
	}
	return append(b, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
}
