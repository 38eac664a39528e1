package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

const maxJSONDepth = 64

// DecodePage decodes the body of an answer that Classify called ok. Rows keep the server's values byte for byte, white
// space between tokens aside, and its order of members; the columns that are read elsewhere in the item come behind
// them. Next is absolute and leads to a host that the definition lists. An error is a *ResponseError:
//
//   - transient: the body is not what the collection's format says, such as an HTML page of a proxy;
//   - too_large: the body or its rows are over the limits, or a sign of truncation is set;
//   - bad_page: the answer decodes and contradicts itself or the definition;
//   - bad_link: the next page's link leads where it must not.
func (c *Collection) DecodePage(pageURL string, header map[string][]string, body []byte) (Page, error) {
	if int64(len(body)) > c.Limits.ResponseBytes {
		return Page{}, &ResponseError{Class: ClassTooLarge, Message: fmt.Sprintf("the page has %d bytes, at most %d", len(body), c.Limits.ResponseBytes)}
	}
	doc, err := parseJSON(body)
	if err != nil {
		return Page{}, err
	}
	page, err := c.decodeRows(doc)
	if err != nil {
		return Page{}, err
	}
	page.Bytes = int64(len(body))
	if page.Next, err = c.nextLink(pageURL, header, doc); err != nil {
		return Page{}, err
	}
	if err := c.checkCounts(header, doc, page); err != nil {
		return Page{}, err
	}
	if page.Count > 0 || page.Next == "" {
		return page, nil
	}
	switch c.paging.EmptyPage {
	case EmptyFail:
		return Page{}, badPage("the page is empty and names a next one")
	case EmptyStop:
		page.Next = ""
	case EmptyContinue:
	}
	return page, nil
}

func parseJSON(body []byte) (gjson.Result, error) {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(body) {
		return gjson.Result{}, notJSON(body, errors.New("it is not UTF-8"))
	}
	if depth(body) > maxJSONDepth {
		return gjson.Result{}, badPage("the JSON is nested deeper than %d levels", maxJSONDepth)
	}
	var compact bytes.Buffer
	compact.Grow(len(body))
	if err := json.Compact(&compact, body); err != nil {
		return gjson.Result{}, notJSON(body, err)
	}
	return gjson.Parse(compact.String()), nil
}

// depth is the deepest nesting of objects and lists; it reads anything and judges nothing else.
func depth(body []byte) int {
	level, deepest, quoted := 0, 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}

var htmlTitle = regexp.MustCompile(`(?is)<title[^>]{0,200}>\s*(.{0,200}?)\s*</title>`)

// notJSON says what came instead: it is the first thing that a person asks.
func notJSON(body []byte, cause error) error {
	start := bytes.TrimSpace(body[:min(len(body), 4<<10)])
	message := fmt.Sprintf("not JSON: %.120q", start)
	switch lower := bytes.ToLower(start); {
	case len(bytes.TrimSpace(body)) == 0:
		message = "an empty body, not JSON"
	case bytes.HasPrefix(lower, []byte("<!doctype html")) || bytes.Contains(lower, []byte("<html")):
		message = "HTML, not JSON"
		if title := htmlTitle.FindSubmatch(start); title != nil {
			message += ": " + strings.ToValidUTF8(strings.Join(strings.Fields(string(title[1])), " "), "\uFFFD")
		}
	case start[0] == '{' || start[0] == '[':
		message = fmt.Sprintf("JSON that is damaged or cut off after %d bytes: %s", len(body), cause)
	}
	return &ResponseError{Class: ClassTransient, Message: message, Err: cause}
}

func (c *Collection) decodeRows(doc gjson.Result) (Page, error) {
	list, ok := c.rows.list.first(doc)
	if !ok || !list.IsArray() && list.Type != gjson.Null {
		// Valid JSON without the list is an error told with status 200, not an empty page: no row may be lost by it.
		return Page{}, &ResponseError{Class: ClassTransient, Message: fmt.Sprintf("JSON without a list at %s: %.200s", c.rows.list, doc.Raw)}
	}
	writer := newRowWriter(&c.rows, len(list.Raw))
	var err error
	if list.IsArray() {
		list.ForEach(func(_, item gjson.Result) bool {
			err = writer.write(item)
			return err == nil
		})
	}
	if err != nil {
		return Page{}, err
	}
	return Page{Rows: writer.out, Count: writer.rows, Columns: writer.columns}, nil
}

func (c *Collection) nextLink(pageURL string, header map[string][]string, doc gjson.Result) (string, error) {
	if c.paging.Style != PagingLink {
		return "", nil
	}
	link, ok, err := c.paging.Next.read(header, doc)
	if err != nil {
		return "", badPage("the next page's link is not a text: %s", err)
	}
	if !ok || link == "" {
		return "", nil
	}
	next, err := c.definition.FollowLink(pageURL, link)
	if err == nil {
		next, err = keepParameters(pageURL, next, c.paging.Keep)
	}
	if err != nil {
		return "", &ResponseError{Class: ClassBadLink, Message: "the next page's link: " + err.Error(), Err: err}
	}
	return next, nil
}

// checkCounts compares the page with what it says about itself. A contradiction is not transient: the answer came
// through whole, so asking again would most probably give the same, and taking it would lose rows in silence.
func (c *Collection) checkCounts(header map[string][]string, doc gjson.Result, page Page) error {
	for _, rule := range c.paging.Truncated {
		if rule.holds(doc, page.Count) {
			return &ResponseError{Class: ClassTooLarge, Message: fmt.Sprintf("the answer with %d rows was cut off by the service", page.Count)}
		}
	}
	if returned, ok := c.paging.Count.Returned.number(header, doc); ok && returned != page.Count {
		return badPage("the answer says that it returns %d rows and has %d", returned, page.Count)
	}
	matched, ok := c.paging.Count.Matched.number(header, doc)
	switch {
	case ok && matched < page.Count:
		return badPage("the answer says that %d rows match and has %d", matched, page.Count)
	case ok && c.paging.Style == PagingNone && matched > page.Count:
		return &ResponseError{Class: ClassTooLarge, Message: fmt.Sprintf("%d rows match and the one page has %d", matched, page.Count)}
	}
	return nil
}
