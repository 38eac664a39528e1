package service

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// PageRequest gives the request for the page of a walk that stands at at, made of the request of the walk's first page,
// whose method, header and body stay. Equal arguments give equal bytes, and what is already in the request is not added
// again. The error is a *ResponseError: bad_link when the page's link leads where it must not, cursor_gone when the cursor
// is none that DecodePage gave for this collection.
func (c *Collection) PageRequest(first Request, at Walk) (Request, error) {
	switch c.paging.Style {
	case PagingCursor, PagingOffset, PagingPage:
	case PagingLink:
		if at.Cursor == "" {
			return first, nil
		}
		target, err := c.definition.followCursor(at.Cursor)
		first.URL = target
		return first, err
	default:
		if at.Cursor != "" {
			return first, goneCursor(fmt.Errorf("%w: it has one page", errPageCursor))
		}
		return first, nil
	}
	substitutes, err := c.pageSubstitutes(at)
	if err != nil {
		return first, goneCursor(err)
	}
	for name, template := range c.paging.Send.All() {
		if c.paging.Style == PagingCursor && at.Cursor == "" && template.has("{}") {
			continue // the first page has no cursor
		}
		moves := template.has("{}") || template.has("{offset}") || template.has("{page}")
		if !moves && c.hasParameter(first, name) {
			continue // it may ask for fewer rows than the definition
		}
		if first, err = setParameter(first, c.bodyKind(), name, template, substitutes); err != nil {
			return first, err
		}
	}
	return first, nil
}

func goneCursor(err error) error {
	return &ResponseError{Class: ClassCursorGone, Message: "the cursor that was kept for the next page is " + err.Error(), Err: err}
}

// followCursor judges a link that was stored in between.
func (d *Definition) followCursor(cursor string) (string, error) {
	u, err := url.Parse(cursor)
	if err != nil || !u.IsAbs() {
		return "", &ResponseError{Class: ClassBadLink, Message: "the cursor is no absolute URL", Err: ErrLink}
	}
	target, err := d.FollowLink(d.BaseURL, cursor)
	if err != nil {
		return "", &ResponseError{Class: ClassBadLink, Message: "the cursor: " + err.Error(), Err: err}
	}
	return target, nil
}

// pageSubstitutes gives the texts of the placeholders, unescaped.
func (c *Collection) pageSubstitutes(at Walk) (map[string]string, error) {
	texts := pageRows(c.Limits)
	if c.paging.Style == PagingCursor {
		if at.Cursor == "" {
			return texts, nil
		}
		p, err := decodePageCursor(PagingCursor, at.Cursor)
		texts["{}"] = p.Cursor
		return texts, err
	}
	p, err := c.standing(at)
	texts["{offset}"], texts["{page}"] = strconv.FormatInt(p.Offset, 10), strconv.FormatInt(p.Page, 10)
	return texts, err
}

// hasParameter tells whether a request has a parameter, wherever its parameters travel.
func (c *Collection) hasParameter(r Request, name string) bool {
	where := string(r.Body)
	switch c.bodyKind() {
	case bodyJSON:
		found := false
		gjson.Parse(where).ForEach(func(key, _ gjson.Result) bool {
			found = key.Str == name
			return !found
		})
		return found
	case bodyForm:
	default:
		_, where, _ = strings.Cut(r.URL, "?")
	}
	for pair := range strings.SplitSeq(where, "&") {
		key, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(key); err == nil && pair != "" && plain == name {
			return true
		}
	}
	return false
}

// setParameter sets a parameter of a request where its parameters travel: in a form, in a JSON object, or in the query.
func setParameter(r Request, kind bodyKind, name string, template Template, texts map[string]string) (Request, error) {
	escaped := make(map[string]string, len(texts))
	for placeholder, text := range texts {
		escaped[placeholder] = escape(text)
	}
	switch kind {
	case bodyForm:
		r.Body = []byte(setPair(string(r.Body), name, template.fill(escaped)))
		return r, nil
	case bodyJSON:
		return r.setMember(name, template.jsonValue(texts))
	case bodyOther:
	}
	base, query, _ := strings.Cut(r.URL, "?")
	r.URL = base + "?" + setPair(query, name, template.fill(escaped))
	return r, nil
}

// setPair sets a parameter of a query or form in its place, or at the end, and leaves all other bytes as they are.
func setPair(query, name, escaped string) string {
	var out strings.Builder
	set := false
	for pair := range strings.SplitSeq(query, "&") {
		key, _, _ := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(key)
		switch {
		case pair == "":
		case err != nil || plain != name:
			if out.Len() > 0 {
				out.WriteByte('&')
			}
			out.WriteString(pair)
		case !set:
			set = true
			writePair(&out, name, escaped)
		}
	}
	if !set {
		writePair(&out, name, escaped)
	}
	return out.String()
}

type bodyKind int

const (
	bodyOther bodyKind = iota // none, or one that holds no parameters
	bodyForm
	bodyJSON
)

// bodyKind tells whether the parameters of a request travel in its body.
func (c *Collection) bodyKind() bodyKind {
	switch c.request.Body.As {
	case asForm:
		return bodyForm
	case asJSON:
		return bodyJSON
	}
	return bodyOther
}

// setMember sets a member of the JSON object in the body in its place, or at the end.
func (r Request) setMember(name, value string) (Request, error) {
	body := strings.TrimSpace(string(r.Body))
	if body == "" {
		body = "{}"
	}
	if !gjson.Valid(body) || body[0] != '{' {
		return r, &ResponseError{Class: ClassBadRequest, Message: "the request's body is no JSON object, and the paging's parameters belong into it"}
	}
	var out strings.Builder
	set := false
	write := func(key, value string) {
		if out.Len() > 0 {
			out.WriteByte(',')
		}
		out.WriteString(key + ":" + value)
	}
	gjson.Parse(body).ForEach(func(key, member gjson.Result) bool {
		switch {
		case key.Str != name:
			write(key.Raw, member.Raw)
		case !set:
			set = true
			write(key.Raw, value)
		}
		return true
	})
	if !set {
		write(jsonText(name), value)
	}
	r.Body = []byte("{" + out.String() + "}")
	return r, nil
}

// jsonValue writes a template as a JSON value: a number where it is a number's placeholder and nothing else.
func (t Template) jsonValue(texts map[string]string) string {
	if len(t.parts) == 1 && t.parts[0].placeholder && t.parts[0].text != "{}" {
		return texts[t.parts[0].text]
	}
	var out strings.Builder
	for _, part := range t.parts {
		if part.placeholder {
			out.WriteString(texts[part.text])
		} else {
			out.WriteString(part.text)
		}
	}
	return jsonText(out.String())
}

// jsonText writes a text as JSON, as Go does and without escapes for HTML.
func jsonText(text string) string {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		return `""` // cannot be: every text is JSON
	}
	return strings.TrimSuffix(out.String(), "\n")
}
