package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// pageCursor is what Page.Next holds when it is no link: where the next page begins, in the words of the paging style.
// It is written as one line of JSON. What a service named for its next page stands in it alone, so that a service that
// goes in a circle gives equal texts.
type pageCursor struct {
	Cursor string `json:"cursor,omitempty"` // of style cursor
	Offset int64  `json:"offset,omitempty"` // of style offset
	Page   int64  `json:"page,omitempty"`   // of style page
}

const (
	maxCursorBytes = 16 << 10
	maxCount       = int64(1) << 53 // beyond it numbers in JSON are not exact everywhere
)

var errPageCursor = errors.New("not a cursor of this collection")

func (p pageCursor) encode() string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil {
		return "" // cannot be: there is nothing in it that JSON does not hold
	}
	return string(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
}

// decodePageCursor reads a cursor of the style, and judges it: it was stored in between.
func decodePageCursor(style PagingStyle, text string) (pageCursor, error) {
	var p pageCursor
	if len(text) > 2*maxCursorBytes+64 { // escaping makes it longer
		return p, fmt.Errorf("%w: it has %d bytes", errPageCursor, len(text))
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil || p.encode() != text {
		return p, fmt.Errorf("%w: it is damaged", errPageCursor)
	}
	fits := map[PagingStyle]bool{
		PagingCursor: p.Cursor != "" && p.Offset == 0 && p.Page == 0,
		PagingOffset: p.Offset > 0 && p.Cursor == "" && p.Page == 0,
		PagingPage:   p.Page > 0 && p.Cursor == "" && p.Offset == 0,
	}
	if !fits[style] {
		return p, fmt.Errorf("%w: its style is not %s", errPageCursor, style)
	}
	if len(p.Cursor) > maxCursorBytes || max(p.Offset, p.Page) > maxCount {
		return p, fmt.Errorf("%w: it is out of bounds", errPageCursor)
	}
	return p, nil
}

// standing gives where a walk by offset or page number stands, also on its first page.
func (c *Collection) standing(at Walk) (pageCursor, error) {
	first := c.paging.first()
	if at.Rows < 0 || at.Pages < 0 || max(at.Rows, int64(at.Pages)) > maxCount {
		return pageCursor{}, fmt.Errorf("%w: the walk has %d rows and %d pages", errPageCursor, at.Rows, at.Pages)
	}
	if at.Cursor == "" {
		return pageCursor{Offset: first, Page: first}, nil
	}
	p, err := decodePageCursor(c.paging.Style, at.Cursor)
	switch {
	case err != nil:
		return p, err
	case c.paging.Style == PagingOffset && p.Offset != first+at.Rows:
		return p, fmt.Errorf("%w: it is at %d, and the walk has %d rows", errPageCursor, p.Offset, at.Rows)
	case c.paging.Style == PagingPage && p.Page <= first:
		return p, fmt.Errorf("%w: the page %d is not behind the first", errPageCursor, p.Page)
	}
	return p, nil
}

// EndsUnserved tells whether a walk may end at a request that was answered with no data. Where a page before named this one
// it may not, and neither where pages before said of more rows than have come: that is a *ResponseError of class bad_page.
// It may where the walk looks for its end by itself, at the page without rows.
func (c *Collection) EndsUnserved(at Walk) error {
	if at.Cursor == "" {
		return nil
	}
	if _, err := c.standing(at); c.paging.Style.isCounted() && err != nil {
		return goneCursor(err)
	}
	stop := c.paging.Stop.Kind
	switch {
	case at.Claimed.Rows > at.Rows:
		return unsteady(at, "the service has no data after %d of %d rows", at.Rows, at.Claimed.Rows)
	case !c.paging.Style.isCounted(), stop != StopEmptyPage && stop != StopShortPage:
		return unsteady(at, "the service has no data at page %d, and the page before it says that there is one", at.Pages+1)
	}
	return nil
}
