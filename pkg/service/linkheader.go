package service

import (
	"fmt"
	"slices"
	"strings"
)

// Link is one link of a Link header (RFC 8288).
type Link struct {
	Target string   // as sent: absolute or relative
	Rel    []string // relation types, as sent
}

const (
	maxLinkHeaderBytes = 64 << 10
	maxLinks           = 256
)

// ParseLinks reads the values of the Link headers of one response. A link that is malformed ends the reading of its
// value; a link with an anchor speaks about another resource and is left out.
func ParseLinks(values []string) []Link {
	links, _ := parseLinks(values)
	return links
}

// parseLinks gives what could not be read too: from the last separator on.
func parseLinks(values []string) (links []Link, unread []string) {
	for _, value := range values {
		p := linkParser{rest: value}
		for {
			rest := p.rest
			if strings.Trim(rest, linkSpace+",") == "" {
				break
			}
			link, anchored, ok := p.link()
			if !ok || len(value) > maxLinkHeaderBytes || len(links) == maxLinks {
				unread = append(unread, rest)
				break
			}
			if !anchored {
				links = append(links, link)
			}
		}
	}
	return links, unread
}

// findLink gives the target of the first link with the relation type. A header that cannot be read and may name one is an
// error: taken for none, it would end a walk too early.
func findLink(values []string, rel string) (target string, ok bool, err error) {
	links, unread := parseLinks(values)
	if target, ok = relation(links, rel); ok {
		return target, true, nil
	}
	for _, text := range unread {
		if strings.Contains(text, rel) {
			return "", false, fmt.Errorf("the header Link is malformed: %.100q", text)
		}
	}
	return "", false, nil
}

// relation gives the target of the first link with the relation type, written as it is here: a definition names the
// type as its service sends it.
func relation(links []Link, rel string) (target string, ok bool) {
	for _, link := range links {
		if slices.Contains(link.Rel, rel) {
			return link.Target, true
		}
	}
	return "", false
}

type linkParser struct{ rest string }

const linkSpace = " \t"

// take skips white space and consumes token if it is next.
func (p *linkParser) take(token string) bool {
	p.rest = strings.TrimLeft(p.rest, linkSpace)
	rest, ok := strings.CutPrefix(p.rest, token)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *linkParser) link() (link Link, anchored, ok bool) {
	for p.take(",") { // empty members of a list are allowed
	}
	if !p.take("<") {
		return link, false, false
	}
	link.Target, p.rest, ok = strings.Cut(p.rest, ">")
	link.Target = strings.Trim(link.Target, linkSpace)
	hasRel := false
	for ok && p.take(";") {
		name, value, valid := p.param()
		switch {
		case !valid:
			return link, false, false
		case name == "rel" && !hasRel: // further ones are ignored, says the RFC
			hasRel = true
			link.Rel = strings.Fields(value)
		case name == "anchor":
			anchored = true
		}
	}
	p.rest = strings.TrimLeft(p.rest, linkSpace)
	return link, anchored, ok && (p.rest == "" || p.rest[0] == ',')
}

// param reads name=value, name="value", a lone name, or nothing.
func (p *linkParser) param() (name, value string, ok bool) {
	p.rest = strings.TrimLeft(p.rest, linkSpace)
	end := strings.IndexAny(p.rest, linkSpace+"=;,")
	if end < 0 {
		end = len(p.rest)
	}
	name, p.rest = strings.ToLower(p.rest[:end]), p.rest[end:]
	if !p.take("=") {
		return name, "", true
	}
	if p.take(`"`) {
		value, ok = p.quoted()
		return name, value, ok
	}
	if end = strings.IndexAny(p.rest, linkSpace+";,"); end < 0 {
		end = len(p.rest)
	}
	value, p.rest = p.rest[:end], p.rest[end:]
	return name, value, true
}

// quoted reads up to the closing quote; a backslash keeps the character behind it.
func (p *linkParser) quoted() (value string, ok bool) {
	var text strings.Builder
	for i := 0; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '"':
			p.rest = p.rest[i+1:]
			return text.String(), true
		case c == '\\' && i+1 < len(p.rest):
			i++
			text.WriteByte(p.rest[i])
		default:
			text.WriteByte(c)
		}
	}
	return "", false
}
