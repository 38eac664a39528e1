package simulator

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// pageBuffer is how many bytes of rows are gathered before they are sent.
const pageBuffer = 64 << 10

func cursorEncoding() *base64.Encoding { return base64.RawURLEncoding }

// page is one answer of rows under way.
type page struct {
	call  *call
	query *dailyQuery
	buf   []byte
	rows  int
	next  *position // where the following page begins
}

// answerDaily answers a request for daily values and returns the number of rows sent.
func answerDaily(c *call, buffers *sync.Pool) int64 {
	q, err := parseDaily(c.request.URL.RawQuery, c.record, c.config.PageRows)
	if err != nil {
		c.out.serviceError(http.StatusBadRequest, "InvalidParameterValue", err.Error())
		return 0
	}
	if most := c.config.MaxQueryRows; most > 0 && q.span() > most {
		c.out.serviceError(http.StatusForbidden, "Forbidden",
			"Request exceeding server limits: "+strconv.FormatInt(q.span(), 10)+" rows, at most "+strconv.FormatInt(most, 10))
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
	s := &series{record: p.call.record}
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

// close writes what follows the rows: their number and the links.
func (p *page) close() {
	number := p.rows
	if p.call.entry.Fault == FaultWrongCount {
		number++
	}
	p.buf = append(p.buf, `],"numberReturned":`...)
	p.buf = strconv.AppendInt(p.buf, int64(number), 10)
	p.buf = append(p.buf, `,"links":[`...)
	self := p.call.origin() + p.call.url
	p.link("self", self)
	if next := p.nextURL(self); next != "" {
		p.buf = append(p.buf, ',')
		p.link("next", next)
	}
	p.buf = append(p.buf, "]}"...)
}

// nextURL is the complete URL of the following page, empty at the end.
func (p *page) nextURL(self string) string {
	origin := p.call.origin()
	switch p.call.entry.Fault {
	case FaultRepeatedNext:
		return self
	case FaultForeignNext:
		origin = strings.Replace(origin, p.call.request.Host, p.call.config.ForeignHost, 1)
		if p.next == nil {
			p.next = &p.query.from
		}
	default:
	}
	if p.next == nil {
		return ""
	}
	u := p.call.request.URL
	var query strings.Builder
	for piece := range strings.SplitSeq(u.RawQuery, "&") {
		if piece != "" && !strings.HasPrefix(piece, "cursor=") {
			query.WriteString(piece)
			query.WriteByte('&')
		}
	}
	return origin + u.EscapedPath() + "?" + query.String() + "cursor=" + p.next.String()
}

func (p *page) link(rel, href string) {
	p.buf = append(p.buf, `{"rel":"`+rel+`","type":"application/geo+json","href":`...)
	p.buf = appendText(p.buf, href)
	p.buf = append(p.buf, '}')
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
