package simulator

import (
	"net/http"
	"strconv"
	"strings"
)

// links says where a page of features stands.
type links struct {
	at    position  // of the page itself
	start position  // of the query's first row
	next  *position // of the following page, nil at the end
}

// closeFeatures writes what follows the features: their numbers, nil for those the service leaves out, and the links.
func (c *call) closeFeatures(b []byte, returned int, matched *int64, l links) []byte {
	b = append(b, ']')
	if frontOf(c.request.URL.Path).service != serviceNGWMN {
		if c.entry.Fault == FaultWrongCount {
			returned++
		}
		b = append(b, `,"numberReturned":`...)
		b = strconv.AppendInt(b, int64(returned), 10)
	}
	if matched != nil {
		b = append(b, `,"numberMatched":`...)
		b = strconv.AppendInt(b, *matched, 10)
	}
	b = append(b, `,"links":[`...)
	self := c.origin() + c.url
	b = appendLink(b, "self", self)
	if next := c.nextURL(self, l); next != "" {
		b = append(b, ',')
		b = appendLink(b, "next", next)
	}
	return append(b, "]}"...)
}

func appendLink(b []byte, rel, href string) []byte {
	b = append(b, `{"rel":"`+rel+`","type":"application/geo+json","href":`...)
	b = appendText(b, href)
	return append(b, '}')
}

// nextURL is the complete URL of the following page, empty at the end.
func (c *call) nextURL(self string, l links) string {
	if c.entry.Fault == FaultRepeatedNext {
		return self
	}
	next := l.next
	switch c.entry.Fault {
	case FaultCyclicNext:
		if next == nil || l.at.series != l.start.series || l.at.day != l.start.day {
			next = &l.start // A, B, A, B
		}
	case FaultForeignNext, FaultAliasNext, FaultBadLink:
		if next == nil {
			next = &l.at
		}
	case FaultTrailingNext:
		if next == nil {
			next = &position{series: behindAll}
		}
	default:
	}
	if next == nil {
		return ""
	}
	return c.linkTo(c.withCursor("cursor", c.stamp(*next).String()))
}

// behindAll is the unit of a page behind the last row.
const behindAll = maxSeries + 1

// withCursor is the request's path and query, with another cursor.
func (c *call) withCursor(name, cursor string) string {
	u := c.request.URL
	var query strings.Builder
	for piece := range strings.SplitSeq(u.RawQuery, "&") {
		if piece != "" && !strings.HasPrefix(piece, name+"=") {
			query.WriteString(piece)
			query.WriteByte('&')
		}
	}
	return u.EscapedPath() + "?" + query.String() + name + "=" + cursor
}

// linkTo makes an absolute URL of a path and query, or what a fault makes of it.
func (c *call) linkTo(uri string) string {
	switch c.entry.Fault {
	case FaultForeignNext:
		return strings.Replace(c.origin(), c.request.Host, c.config.ForeignHost, 1) + uri
	case FaultAliasNext:
		return strings.Replace(c.origin(), c.request.Host, c.config.AliasHost, 1) + uri
	case FaultBadLink:
		return "http://[::1" + uri // no closing bracket: not a URL
	default:
		return c.origin() + uri
	}
}

// cursorGone refuses a cursor that is too old.
func (c *call) cursorGone() {
	c.refuse(http.StatusBadRequest, "InvalidParameterValue", "cursor: expired; start the query again")
}

// overServerLimits refuses a query that matches too many rows.
func (c *call) overServerLimits(rows int64) {
	c.refuse(http.StatusForbidden, "Forbidden", "Request exceeding server limits: "+strconv.FormatInt(rows, 10)+
		" rows, at most "+strconv.FormatInt(c.config.MaxQueryRows, 10))
}

// refuse answers an error in the words of the service that was asked.
func (c *call) refuse(status int, code, description string) {
	switch frontOf(c.request.URL.Path).service {
	case serviceNWDC:
		c.out.json(status, map[string]string{"detail": description})
	case serviceOpenHydro:
		c.out.json(status, map[string]string{"error": description})
	default:
		c.out.serviceError(status, code, description)
	}
}
