package service

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// answer is a response of which the rows have been read.
type answer struct {
	at     Walk
	url    string
	header map[string][]string
	doc    gjson.Result // of a JSON body
}

// claims are the numbers that an answer gives of the whole walk.
type claims struct {
	total int64 // rows
	known bool
	pages int64 // for StopPages
}

// finish sets what follows the page: the cursor of the next one, or the end of the walk. A contradiction between the
// rows and what the answer says of them is an error and never a shorter table.
func (c *Collection) finish(page *Page, a answer) error {
	said, err := c.claims(a)
	if err != nil {
		return err
	}
	received, before := a.at.Rows+int64(page.Count), a.at.Claimed
	switch {
	case said.known && said.total < before.Rows:
		return unsteady(a.at, "the rows that match have become fewer while their pages were read: %d, and %d before", said.total, before.Rows)
	case c.paging.Stop.Kind == StopPages && said.pages < before.Pages:
		return unsteady(a.at, "the pages have become fewer while they were read: %d, and %d before", said.pages, before.Pages)
	case !said.known && before.Rows > 0 && received <= before.Rows:
		said.total, said.known = before.Rows, true
	}
	page.Claimed = Claims{Rows: max(before.Rows, said.total), Pages: max(before.Pages, said.pages)}
	if said.known && said.total < received {
		return unsteady(a.at, "the answer says that %d rows match, and %d have come", said.total, received)
	}
	switch c.paging.Style {
	case PagingLink:
		page.Next, err = c.nextLink(a)
	case PagingCursor:
		page.Next, err = c.nextCursor(a)
	case PagingOffset, PagingPage:
		page.Next, err = c.nextPosition(page.Count, a, said)
	case PagingNone:
	}
	if err != nil {
		return err
	}
	ends := c.paging.Repeat == RepeatEnd || c.paging.Repeat == RepeatEndIfEmpty && page.Count == 0
	if ends && (page.Next == a.at.Cursor || page.Next == a.url) {
		page.Next = ""
	}
	if err := c.emptyPage(page); err != nil || page.Next != "" {
		return err
	}
	switch {
	case said.known && received < said.total && c.paging.Style == PagingNone:
		return &ResponseError{Class: ClassTooLarge, Message: fmt.Sprintf("%d rows match and the one page has %d", said.total, received)}
	case said.known && received < said.total:
		return unsteady(a.at, "the answer says that %d rows match, and the pages end after %d", said.total, received)
	}
	page.Doubted = c.isDoubted(*page, said)
	return nil
}

// isDoubted tells whether nothing but the lack of a next page says that a full page is the last one.
func (c *Collection) isDoubted(last Page, said claims) bool {
	if c.Limits.PageRows == 0 || last.Count != c.Limits.PageRows || said.known {
		return false
	}
	return c.paging.Style == PagingNone || c.paging.Style == PagingLink || c.paging.Style == PagingCursor && c.paging.More.IsZero()
}

// emptyPage applies the rule for an empty page that names a next one.
func (c *Collection) emptyPage(page *Page) error {
	if page.Count > 0 || page.Next == "" || c.paging.Style.isCounted() {
		return nil
	}
	switch c.paging.EmptyPage {
	case EmptyFail:
		return badPage("the page is empty and names a next one")
	case EmptyStop:
		page.Next = ""
	case EmptyContinue:
	}
	return nil
}

func (c *Collection) claims(a answer) (said claims, err error) {
	if said.total, said.known, err = c.paging.Count.Matched.count(a); err != nil {
		return said, err
	}
	stop := c.paging.Stop
	if stop.Kind != StopTotal && stop.Kind != StopPages {
		return said, nil
	}
	number, known, err := stop.Source.count(a)
	switch {
	case err != nil:
		return said, err
	case !known:
		return said, badPage("the answer does not say at %s how many %s there are, which ends the walk", stop.Source, map[StopKind]string{StopTotal: "rows", StopPages: "pages"}[stop.Kind])
	case stop.Kind == StopPages:
		said.pages = number
	case said.known && said.total != number:
		return said, badPage("the answer says %d rows at %s and %d at %s", said.total, c.paging.Count.Matched, number, stop.Source)
	default:
		said.total, said.known = number, true
	}
	return said, nil
}

func (c *Collection) nextLink(a answer) (string, error) {
	link, ok, err := c.paging.Next.read(a.header, a.doc)
	kind := c.paging.Next.typeIn(a.doc)
	switch {
	case err != nil:
		return "", badPage("the next page's link is not a text that can be followed: %s", err)
	case !ok, link == "", kind == gjson.False: // some services write false where there is none
		return "", nil
	case kind == gjson.Number, kind == gjson.True:
		return "", badPage("the next page's link at %s is not a text: %.40s", c.paging.Next, link)
	}
	next, err := c.definition.FollowLink(a.url, link)
	if err == nil {
		next, err = keepParameters(a.url, next, c.paging.Keep)
	}
	if err != nil {
		return "", &ResponseError{Class: ClassBadLink, Message: "the next page's link: " + err.Error(), Err: err}
	}
	return next, nil
}

// nextCursor gives the cursor of the next page as the answer names it, a text or a number.
func (c *Collection) nextCursor(a answer) (string, error) {
	cursor, ok, err := c.paging.Next.read(a.header, a.doc)
	kind := c.paging.Next.typeIn(a.doc)
	switch {
	case err != nil:
		return "", badPage("the next page's cursor is not a text: %s", err)
	case kind == gjson.False: // some services write false where there is none
		ok = false
	case kind == gjson.True:
		return "", badPage("the next page's cursor at %s is true, not a text", c.paging.Next)
	case len(cursor) > maxCursorBytes:
		return "", badPage("the next page's cursor has %d bytes, at most %d", len(cursor), maxCursorBytes)
	case !utf8.ValidString(cursor):
		return "", badPage("the next page's cursor is not UTF-8")
	}
	ok = ok && cursor != ""
	more, told, err := c.paging.More.truth(a)
	switch {
	case err != nil:
		return "", err
	case told && !more, !ok && !told:
		return "", nil
	case !ok:
		return "", badPage("the answer says at %s that there is more, and names no cursor at %s", c.paging.More, c.paging.Next)
	}
	return pageCursor{Cursor: cursor}.encode(), nil
}

// nextPosition gives the cursor of the next page in a walk by offset or page number. It advances by the rows received,
// so that a service that gives fewer than asked for loses none.
func (c *Collection) nextPosition(rows int, a answer, said claims) (string, error) {
	here, err := c.standing(a.at)
	if err != nil {
		return "", goneCursor(err)
	}
	received := a.at.Rows + int64(rows)
	ended := rows == 0
	switch c.paging.Stop.Kind {
	case StopShortPage:
		// A page with fewer rows than asked for may be the last one, or all that the service gives at once: the request
		// behind it tells, unless the total does.
		ended = ended || said.known && received == said.total
	case StopTotal:
		ended = ended || received == said.total
	case StopPages:
		number := here.Page - c.paging.first() + 1
		if c.paging.Style == PagingOffset {
			number = int64(a.at.Pages) + 1
		}
		if rows > 0 && number > said.pages {
			return "", unsteady(a.at, "the answer says that there are %d pages, and page %d has %d rows", said.pages, number, rows)
		}
		ended = number >= said.pages
		if ended || c.paging.Style == PagingPage {
			break
		}
		if rows == 0 {
			return "", unsteady(a.at, "page %d of %d is empty, and the offset of the next one cannot be known", number, said.pages)
		}
	case StopEmptyPage:
	}
	if ended {
		return "", nil
	}
	next := pageCursor{}
	if c.paging.Style == PagingPage {
		next.Page = here.Page + 1
	} else {
		next.Offset = here.Offset + int64(rows)
	}
	return next.encode(), nil
}

// checkCounts compares the page with what it says about itself. A contradiction is not transient: the answer came
// through whole, so asking again would most probably give the same, and taking it would lose rows in silence.
func (c *Collection) checkCounts(page Page, a answer) error {
	for _, rule := range c.paging.Truncated {
		if rule.holds(a.doc, page.Count) {
			return &ResponseError{Class: ClassTooLarge, Message: fmt.Sprintf("the answer with %d rows was cut off by the service", page.Count)}
		}
	}
	returned, known, err := c.paging.Count.Returned.count(a)
	if err == nil && known && returned != int64(page.Count) {
		err = badPage("the answer says that it returns %d rows and has %d", returned, page.Count)
	}
	return err
}

func (r TruncateRule) holds(doc gjson.Result, rows int) bool {
	if r.Rows > 0 {
		return rows >= r.Rows
	}
	return r.At.says(doc, r.Is)
}

// count reads a number of rows or pages, as a number or a text. A response that has none there, or the word that OGC
// services write for it, says nothing; anything else that is not a count is an error.
func (s Source) count(a answer) (n int64, known bool, err error) {
	if s.IsZero() {
		return 0, false, nil
	}
	text, ok, err := s.read(a.header, a.doc)
	text = strings.TrimSpace(text)
	if err == nil && (!ok || text == "" || strings.EqualFold(text, "unknown")) {
		return 0, false, nil
	}
	if err == nil && !strings.ContainsFunc(text, isNoDigit) {
		var number float64
		if number, err = strconv.ParseFloat(text, 64); err == nil && number >= 0 && number <= float64(maxCount) && number == math.Trunc(number) {
			return int64(number), true, nil
		}
	}
	return 0, false, badPage("what the answer says at %s is not a number of rows or pages: %.40q", s, text)
}

// isNoDigit tells what no number in decimal has: strconv reads more than services mean.
func isNoDigit(r rune) bool { return !strings.ContainsRune("0123456789.eE+-", r) }

// truth reads a truth value. A response that has none there says nothing.
func (s Source) truth(a answer) (value, told bool, err error) {
	if s.IsZero() {
		return false, false, nil
	}
	text, ok, err := s.read(a.header, a.doc)
	if err == nil {
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "":
			return false, false, nil
		case "true", "1", "yes":
			return true, ok, nil
		case "false", "0", "no":
			return false, ok, nil
		}
	}
	return false, false, badPage("what the answer says at %s is neither true nor false: %.40q", s, text)
}

// typeIn is the type of what a JSON body has there; Null where it has nothing.
func (s Source) typeIn(doc gjson.Result) gjson.Type {
	value, _ := s.Path.first(doc)
	return value.Type
}
