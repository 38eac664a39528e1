package service

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/braidhq/braid/pkg/strictyaml"
)

// Paging says how the pages of one chunk follow each other.
type Paging struct {
	Style     PagingStyle    `yaml:"style"`
	Next      Source         `yaml:"next"`       // of style link: where the next page's link stands
	EmptyPage EmptyPageRule  `yaml:"empty_page"` // what an empty page with a next link means
	Keep      []string       `yaml:"keep"`       // parameters put back when a next link dropped them
	MaxPages  int            `yaml:"max_pages"`  // a longer walk fails
	Repeat    RepeatRule     `yaml:"repeat"`     // what a link to the same page again means
	CursorTTL time.Duration  `yaml:"cursor_ttl"` // how long a cursor lives; 0: unknown
	Count     PageCount      `yaml:"count"`
	Truncated []TruncateRule `yaml:"truncated_when"`
	First     int            `yaml:"first,later"`
	Send      laterKey       `yaml:"send,later"`
	More      laterKey       `yaml:"more,later"`
	Stop      laterKey       `yaml:"stop,later"`
}

// laterKey is a key of the language that no paging style of this version uses.
type laterKey struct{}

// UnmarshalStrict refuses the key.
func (*laterKey) UnmarshalStrict(n strictyaml.Node) {
	n.Fail("belongs to cursor, offset and page paging, which are not supported in this version; allowed are none, link")
}

// PagingStyle is a way to find the next page.
type PagingStyle string

// The styles of paging.
const (
	PagingNone PagingStyle = "none" // one page
	PagingLink PagingStyle = "link" // the answer links to the next page
)

// UnmarshalStrict reads a style.
func (s *PagingStyle) UnmarshalStrict(n strictyaml.Node) {
	*s = decodeChoice[PagingStyle](n, []string{"none", "link"}, []string{"cursor", "offset", "page"})
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

// EmptyPageRule tells what an empty page with a next link means.
type EmptyPageRule string

// The rules for empty pages.
const (
	EmptyContinue EmptyPageRule = "continue"
	EmptyStop     EmptyPageRule = "stop"
	EmptyFail     EmptyPageRule = "fail"
)

// Choices lists the rules.
func (EmptyPageRule) Choices() []string { return []string{"continue", "stop", "fail"} }

// RepeatRule tells what an immediate repeat of a page's link means; a longer cycle always fails.
type RepeatRule string

// The rules for repeats.
const (
	RepeatFail RepeatRule = "fail"
	RepeatEnd  RepeatRule = "end" // the API marks its end so
)

// Choices lists the rules.
func (RepeatRule) Choices() []string { return []string{"fail", "end"} }

// PageCount names the counts that an answer gives about itself.
type PageCount struct {
	Matched  Source `yaml:"matched"`  // rows of the whole walk
	Returned Source `yaml:"returned"` // rows of this page
}

// TruncateRule tells by which sign an answer was cut off.
type TruncateRule struct {
	At   Path   `yaml:"at"`
	Is   string `yaml:"is"`
	Rows int    `yaml:"rows"` // a page of so many rows is cut off
}

func defaultPaging() Paging {
	return Paging{Style: PagingNone, EmptyPage: EmptyContinue, Repeat: RepeatFail, MaxPages: 10_000}
}

// Paging gives the rules of the walk over a chunk's pages. DecodePage has applied all but MaxPages and Repeat, which
// concern several pages, and Count.Matched when a walk has more than one.
func (c *Collection) Paging() Paging { return c.paging }

func (p Paging) check(n strictyaml.Node) {
	checkRange(n.At("max_pages"), int64(p.MaxPages), 1, 1_000_000)
	if p.Style == PagingLink && p.Next.IsZero() {
		n.Fail("style link needs next: where the answer names the next page, such as '$.links[?rel=next].href' or 'header:Link[rel=next]'")
	}
	if p.Style == PagingNone && !p.Next.IsZero() {
		n.At("next").Fail("is not used with style none; remove it or write `style: link`")
	}
	if p.First != 0 {
		n.At("first").Fail("belongs to page paging, which is not supported in this version; allowed are none, link")
	}
	for i, rule := range p.Truncated {
		at := n.At("truncated_when", i)
		if rule.At.IsZero() == (rule.Rows == 0) || rule.At.IsZero() == at.Has("is") || rule.Rows < 0 {
			at.Fail("give at with is, or rows of at least 1")
		}
	}
}

func (r TruncateRule) holds(doc gjson.Result, rows int) bool {
	if r.Rows > 0 {
		return rows >= r.Rows
	}
	value, ok := r.At.first(doc)
	return ok && textOf(value) == r.Is
}

// number reads a count that a response may give.
func (s Source) number(header map[string][]string, doc gjson.Result) (n int, ok bool) {
	if s.IsZero() {
		return 0, false
	}
	text, ok, err := s.read(header, doc)
	if !ok || err != nil {
		return 0, false
	}
	n, err = strconv.Atoi(text)
	return n, err == nil
}
