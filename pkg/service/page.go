package service

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// DecodePage decodes the body of an answer that Classify called ok: the page of a walk that stands at at, got from
// pageURL. Rows keep the server's values byte for byte, white space between JSON tokens aside, and its order of members;
// the columns that are read elsewhere in the item come behind them. Next is an absolute URL that leads to a host that the
// definition lists, or a text for PageRequest. An error is a *ResponseError:
//
//   - transient: the body is not what the collection's format says, such as an HTML page of a proxy;
//   - too_large: the body or its rows are over the limits, or a sign of truncation is set;
//   - bad_page: the answer decodes and contradicts itself or the definition;
//   - bad_link: the next page's link leads where it must not;
//   - cursor_gone: the walk's cursor is none of this collection.
func (c *Collection) DecodePage(at Walk, pageURL string, header map[string][]string, body []byte) (Page, error) {
	if int64(len(body)) > c.Limits.ResponseBytes {
		return Page{}, &ResponseError{Class: ClassTooLarge, Message: fmt.Sprintf("the page has %d bytes, at most %d", len(body), c.Limits.ResponseBytes)}
	}
	text, err := decodeCharset(c.rows.format, header, body)
	if err != nil {
		return Page{}, err
	}
	a := answer{at: at, url: pageURL, header: header}
	page, err := c.decodeRows(text, &a)
	if err != nil {
		return Page{}, err
	}
	page.Bytes = int64(len(body))
	if err := c.checkCounts(page, a); err != nil {
		return Page{}, err
	}
	if err := c.finish(&page, a); err != nil {
		return Page{}, err
	}
	return page, nil
}

func (c *Collection) decodeRows(text []byte, a *answer) (page Page, err error) {
	writer := newRowWriter(&c.rows, len(text))
	switch c.rows.format {
	case formatJSON, formatGeoJSON:
		if a.doc, err = parseJSON(text); err == nil {
			err = writer.writeList(a.doc)
		}
	case formatJSONL:
		err = writer.writeLines(text)
	case formatCSV:
		err = writer.writeTable(text)
	}
	if err != nil {
		return Page{}, err
	}
	return Page{Rows: writer.out, Count: writer.rows, Columns: writer.columns}, nil
}

var htmlTitle = regexp.MustCompile(`(?is)<title[^>]{0,200}>\s*(.{0,200}?)\s*</title>`)

const excerptBytes = 4 << 10

// notRows is the error of a body that is not in the format. It says what came instead: it is the first thing that a person
// asks. The problem is what the reader found.
func notRows(format rowFormat, body []byte, problem string, cause error) error {
	start := bytes.TrimSpace(body)
	start = start[:min(len(start), excerptBytes)]
	name := format.title()
	message := fmt.Sprintf("not %s: %s: %.120q", name, problem, start)
	switch { // what came instead matters more than where a reader stopped
	case len(start) == 0:
		message = "an empty body, not " + name
	case isHTML(start):
		message = "HTML, not " + name
		if title := htmlTitle.FindSubmatch(start); title != nil {
			message += ": " + strings.ToValidUTF8(strings.Join(strings.Fields(string(title[1])), " "), "\uFFFD")
		}
	case !format.isJSON() || !utf8.Valid(start):
	case start[0] != '{' && start[0] != '[':
		message = fmt.Sprintf("not JSON: %.120q", start)
	default:
		message = fmt.Sprintf("JSON that is damaged or cut off after %d bytes: %s", len(body), problem)
	}
	return &ResponseError{Class: ClassTransient, Message: message, Err: cause}
}

func isHTML(start []byte) bool {
	lower := bytes.ToLower(start)
	return bytes.HasPrefix(lower, []byte("<!doctype html")) || bytes.Contains(lower, []byte("<html"))
}
