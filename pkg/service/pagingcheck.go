package service

import (
	"slices"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/strictyaml"
)

const (
	maxFirst     = 1_000_000_000
	maxCursorTTL = 366 * 24 * time.Hour
)

// setPaging takes the rules of paging and checks them, alone and against what the collection says elsewhere.
func (c *Collection) setPaging(paging Paging, collection strictyaml.Node) {
	c.paging = paging
	if !collection.Has("paging") {
		return
	}
	n := collection.At("paging")
	paging.check(n, c.definition.Adapter != "")
	c.checkSend(n.At("send"))
	c.checkPageRows(n)
	if c.rows.format == "" || c.rows.format.isJSON() { // without rows an adapter reads the answer
		return
	}
	sources := map[string]Source{"next": paging.Next, "more": paging.More, "stop": paging.Stop.Source}
	for key, value := range n.Entries() {
		if !sources[key].Path.IsZero() {
			c.failPath(value)
		}
	}
	for key, value := range n.At("count").Entries() {
		if source := map[string]Source{"matched": paging.Count.Matched, "returned": paging.Count.Returned}[key]; !source.Path.IsZero() {
			c.failPath(value)
		}
	}
	for i, rule := range paging.Truncated {
		if !rule.At.IsZero() {
			c.failPath(n.At("truncated_when", i, "at"))
		}
	}
}

func (c *Collection) failPath(n strictyaml.Node) {
	n.Fail("a path needs a JSON body, and rows.format is %s; name a header: header:NAME", c.rows.format)
}

// check judges the rules by themselves. An adapter walks in its own way, and needs no style to say how far and how long.
func (p Paging) check(n strictyaml.Node, adapter bool) {
	if p.Style == "" {
		return // was refused already
	}
	for key, value := range n.Entries() {
		ofAnyWalk := key == "max_pages" || key == "cursor_ttl"
		if !p.Style.uses(key) && !(adapter && ofAnyWalk) {
			value.Fail("is not used with style %s; remove it, here or under defaults", p.Style)
		}
	}
	checkRange(n.At("max_pages"), int64(p.MaxPages), 1, 1_000_000)
	if p.CursorTTL < 0 || p.CursorTTL > maxCursorTTL || n.Has("cursor_ttl") && p.CursorTTL < time.Second {
		n.At("cursor_ttl").Fail("%s is out of bounds, want 1s to 366d", p.CursorTTL)
	}
	if p.First != nil {
		checkRange(n.At("first"), *p.First, 0, maxFirst)
	}
	switch {
	case p.Style == PagingLink && p.Next.IsZero():
		n.Fail("style link needs next: where the answer names the next page, such as '$.links[?rel=next].href' or 'header:Link[rel=next]'")
	case p.Style == PagingCursor && p.Next.IsZero():
		n.Fail("style cursor needs next: where the answer names the next page's cursor, such as '$.meta.next_cursor'")
	case p.Style.isCounted() && !n.Has("stop"):
		n.Fail("style %s needs stop, which says what ends the walk: empty_page, short_page, {total: SOURCE} or {pages: SOURCE}", p.Style)
	}
	for i, rule := range p.Truncated {
		at := n.At("truncated_when", i)
		if rule.At.IsZero() == (rule.Rows == 0) || rule.At.IsZero() == at.Has("is") || rule.Rows < 0 {
			at.Fail("give at with is, or rows of at least 1")
		}
	}
}

// placeholder is what a parameter that asks for a page must have in it.
func (s PagingStyle) placeholder() string {
	switch s {
	case PagingOffset:
		return "{offset}"
	case PagingPage:
		return "{page}"
	case PagingCursor:
		return "{}"
	case PagingNone, PagingLink:
	}
	return ""
}

func (c *Collection) checkSend(n strictyaml.Node) {
	p, want := c.paging, c.paging.Style.placeholder()
	if want == "" {
		return
	}
	asks := 0
	for name, template := range p.Send.All() {
		at := n.At(name)
		if other, found := template.unknown(want, "{page_rows}"); found {
			at.Fail("%s has no meaning here; allowed are %s, {page_rows}", other, want)
		}
		if template.has(want) {
			asks++
		}
		c.checkSendName(at, name, template.has(want))
	}
	if asks != 1 {
		n.Fail("style %s needs send with exactly one parameter that has %s in it, such as {%s: '%s'}", p.Style, want, p.Style, want)
	}
}

// checkSendName refuses a name that something else sends, or that would be taken out of links as a credential. The
// fixed query may begin a walk by cursor, as in cursor=*.
func (c *Collection) checkSendName(n strictyaml.Node, name string, asks bool) {
	if name == "" || len(name) > 200 {
		n.Fail("a parameter's name has 1 to 200 bytes")
	}
	for _, param := range c.params {
		if slices.Contains(param.Send.Keys(), name) {
			n.Fail("is sent by the parameter %s too", param.Name)
		}
	}
	fixed, key := c.request.fixed()
	if slices.Contains(fixed.Keys(), name) && (!asks || c.paging.Style != PagingCursor) {
		n.Fail("is sent by request.%s too", key)
	}
	for _, credential := range c.definition.Credentials {
		if strings.EqualFold(credential.Send.Query, name) {
			n.Fail("is the parameter of the credential %s", credential.ID)
		}
	}
}

// checkPageRows refuses rules that compare with the rows asked per page where none are asked.
func (c *Collection) checkPageRows(n strictyaml.Node) {
	if c.Limits.PageRows > 0 {
		return
	}
	for name, template := range c.paging.Send.All() {
		if template.has("{page_rows}") {
			n.At("send", name).Fail("{page_rows} needs limits.page_rows")
		}
	}
	if c.paging.Stop.Kind == StopShortPage {
		n.At("stop").Fail("short_page needs limits.page_rows: the rows asked per page")
	}
}
