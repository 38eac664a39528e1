package service

import (
	"slices"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/strictyaml"
)

// Paging says how the pages of one chunk follow each other.
type Paging struct {
	Style     PagingStyle              `yaml:"style"`          // how the next page is asked for
	Next      Source                   `yaml:"next"`           // of link and cursor: where the answer names the next page
	Send      strictyaml.Map[Template] `yaml:"send"`           // of cursor, offset and page: parameters that ask for a page
	More      Source                   `yaml:"more"`           // of cursor: whether there is a next page; overrules the cursor
	First     *int64                   `yaml:"first"`          // of offset and page: the first page's; nil: 0 and 1
	Stop      StopRule                 `yaml:"stop"`           // of offset and page: what ends the walk
	EmptyPage EmptyPageRule            `yaml:"empty_page"`     // of link and cursor: what an empty page that names a next one means
	Keep      []string                 `yaml:"keep"`           // of link: parameters put back when a next link dropped them
	MaxPages  int                      `yaml:"max_pages"`      // a longer walk fails
	Repeat    RepeatRule               `yaml:"repeat"`         // of link and cursor: what the cursor of the same page again means
	CursorTTL time.Duration            `yaml:"cursor_ttl"`     // of link and cursor: how long a cursor lives; 0: unknown
	Count     PageCount                `yaml:"count"`          // of all: numbers that the answer claims, which have to be true
	Truncated []TruncateRule           `yaml:"truncated_when"` // signs that an answer was cut off
}

// PagingStyle is a way to find the next page.
type PagingStyle string

// The styles of paging.
const (
	PagingNone   PagingStyle = "none"   // one page
	PagingLink   PagingStyle = "link"   // the answer links to the next page
	PagingCursor PagingStyle = "cursor" // the answer names a text that asks for the next page
	PagingOffset PagingStyle = "offset" // the request says how many rows to pass over
	PagingPage   PagingStyle = "page"   // the request says the number of the page
)

// Choices lists the styles.
func (PagingStyle) Choices() []string { return []string{"none", "link", "cursor", "offset", "page"} }

// isCounted tells whether requests count rows or pages by themselves, so that a rule must say where they end.
func (s PagingStyle) isCounted() bool { return s == PagingOffset || s == PagingPage }

// uses tells whether a key of paging has a meaning for the style.
func (s PagingStyle) uses(key string) bool {
	switch key {
	case "style", "count", "truncated_when":
		return true
	case "max_pages":
		return s != PagingNone
	case "next", "empty_page", "repeat", "cursor_ttl":
		return s == PagingLink || s == PagingCursor
	case "keep":
		return s == PagingLink
	case "more":
		return s == PagingCursor
	case "send":
		return s == PagingCursor || s.isCounted()
	}
	return s.isCounted() // first, stop
}

// decodeChoice reads one of the supported texts, and tells the ones of later versions from mistakes.
func decodeChoice[T ~string](n strictyaml.Node, supported, later []string) T {
	var text string
	n.Decode(&text)
	if n.Kind() != strictyaml.Scalar {
		return ""
	}
	if slices.Contains(supported, text) {
		return T(text)
	}
	problem := "unknown value %.60q; allowed are %s"
	if slices.Contains(later, text) {
		problem = "%q is not supported in this version; allowed are %s"
	}
	n.Fail(problem, text, strings.Join(supported, ", "))
	return ""
}

// EmptyPageRule tells what an empty page that names a next one means.
type EmptyPageRule string

// The rules for empty pages.
const (
	EmptyContinue EmptyPageRule = "continue"
	EmptyStop     EmptyPageRule = "stop"
	EmptyFail     EmptyPageRule = "fail"
)

// Choices lists the rules.
func (EmptyPageRule) Choices() []string { return []string{"continue", "stop", "fail"} }

// RepeatRule tells what an immediate repeat of a page's cursor means; a longer cycle always fails.
type RepeatRule string

// The rules for repeats.
const (
	RepeatFail RepeatRule = "fail"
	RepeatEnd  RepeatRule = "end" // the API marks its end so
	// RepeatEndIfEmpty ends only behind an empty page: one with rows that names itself is a failure.
	RepeatEndIfEmpty RepeatRule = "end_if_empty"
)

// Choices lists the rules.
func (RepeatRule) Choices() []string { return []string{"fail", "end", "end_if_empty"} }

// StopRule says what ends a walk by offset or page number.
type StopRule struct {
	Kind   StopKind
	Source Source // of StopTotal and StopPages
}

// StopKind is a way to know the last page.
type StopKind string

// The ways to know the last page.
const (
	StopEmptyPage StopKind = "empty_page" // a page without rows
	StopShortPage StopKind = "short_page" // a page with fewer rows than asked for, once a request behind it is empty
	StopTotal     StopKind = "total"      // so many rows have been received
	StopPages     StopKind = "pages"      // it has this number
)

// UnmarshalStrict reads empty_page, short_page, {total: SOURCE} or {pages: SOURCE}.
func (r *StopRule) UnmarshalStrict(n strictyaml.Node) {
	if n.Kind() != strictyaml.Mapping {
		r.Kind = decodeChoice[StopKind](n, []string{string(StopEmptyPage), string(StopShortPage), "{total: SOURCE}", "{pages: SOURCE}"}, nil)
		return
	}
	var rule struct {
		Total Source `yaml:"total"` // where the answer says how many rows there are
		Pages Source `yaml:"pages"` // where the answer says how many pages there are
	}
	n.Decode(&rule)
	switch {
	case n.Len() != 1:
		n.Fail("give exactly one of total, pages: where the answer says how many rows or pages there are")
	case n.Has("total"):
		r.Kind, r.Source = StopTotal, rule.Total
	case n.Has("pages"):
		r.Kind, r.Source = StopPages, rule.Pages
	}
}

// PageCount names the counts that an answer gives about itself.
type PageCount struct {
	Matched  Source `yaml:"matched"`  // rows of the whole walk
	Returned Source `yaml:"returned"` // rows of this page
}

// TruncateRule tells by which sign an answer was cut off.
type TruncateRule struct {
	At   Path   `yaml:"at"`   // in a JSON body
	Is   string `yaml:"is"`   // text that stands there
	Rows int    `yaml:"rows"` // a page of so many rows is cut off
}

func defaultPaging() Paging {
	return Paging{Style: PagingNone, EmptyPage: EmptyContinue, Repeat: RepeatFail, MaxPages: 10_000}
}

// Paging gives the rules of the walk over a chunk's pages. PageRequest and DecodePage apply all but MaxPages, CursorTTL
// and the search for longer cycles, which concern several pages.
func (c *Collection) Paging() Paging { return c.paging }

// first is the offset or number of the first page.
func (p Paging) first() int64 {
	switch {
	case p.First != nil:
		return *p.First
	case p.Style == PagingPage:
		return 1
	}
	return 0
}
