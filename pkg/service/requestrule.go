package service

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/strictyaml"
)

type requestRule struct {
	Method  requestMethod            `yaml:"method"`        // of the request
	Path    string                   `yaml:"path,required"` // below base_url
	Query   strictyaml.Map[Template] `yaml:"query"`         // name → fixed text, in which {page_rows} is replaced
	Headers map[string]string        `yaml:"headers"`       // name → text
	Body    bodyRule                 `yaml:"body"`          // of a POST: parameters travel in it
}

type requestMethod string

const (
	methodGet        requestMethod = "GET"
	methodPost       requestMethod = "POST"
	methodPostIfMany requestMethod = "POST_IF_MANY" // a GET while no filter is needed to say what is asked
)

// Choices lists the methods.
func (requestMethod) Choices() []string { return []string{"GET", "POST", "POST_IF_MANY"} }

// bodyRule says that parameters travel in the body instead of the URL.
type bodyRule struct {
	As   bodyStyle                `yaml:"as"`   // its form
	With strictyaml.Map[Template] `yaml:"with"` // what every body has
}

type bodyStyle string

const (
	asForm bodyStyle = "form"
	asJSON bodyStyle = "json"
)

// Choices lists the forms of a body.
func (bodyStyle) Choices() []string { return []string{"form", "json"} }

// fixed gives the texts that stand beside the parameters in every request, and the key that declares them.
func (r requestRule) fixed() (pairs strictyaml.Map[Template], key string) {
	if r.Body.As != "" {
		return r.Body.With, "body.with"
	}
	return r.Query, "query"
}

// setRequest checks the request and prepares what is the same in all requests.
func (c *Collection) setRequest(n strictyaml.Node) {
	rule := c.request
	if u, err := url.Parse(rule.Path); err != nil || !strings.HasPrefix(rule.Path, "/") || strings.HasPrefix(rule.Path, "//") ||
		u.Path != rule.Path || strings.ContainsAny(rule.Path, "{}?# ") || strings.Contains(rule.Path+"/", "/../") {
		n.At("path").Fail("%.80q is not a path below base_url; begin with / and write neither query nor placeholders", rule.Path)
	}
	c.checkFixed(rule.Query, n.At("query"))
	c.checkFixed(rule.Body.With, n.At("body", "with"))
	c.checkHeaders(n.At("headers"))
	c.checkMethod(n)
	c.checkWireNames(n)
	c.setFixedQuery()
	c.contentType = c.bodyType()
}

// setFixedQuery prepares what is fixed in the query of all requests; it depends on the rows of a page.
func (c *Collection) setFixedQuery() {
	fixed := pairs{}
	fixed.append(c.request.Query, c.Limits)
	c.fixedQuery = string(fixed.out)
}

func (c *Collection) checkFixed(fixed strictyaml.Map[Template], n strictyaml.Node) {
	for name, template := range fixed.All() {
		if placeholder, found := template.unknown("{page_rows}"); found {
			n.At(name).Fail("%s has no meaning here; allowed is {page_rows}", placeholder)
		}
		if template.has("{page_rows}") && c.Limits.PageRows == 0 {
			n.At(name).Fail("{page_rows} needs limits.page_rows")
		}
	}
}

// bodyType is the media type of a body, unless the definition names one.
func (c *Collection) bodyType() string {
	for name := range c.request.Headers {
		if strings.EqualFold(name, "Content-Type") {
			return ""
		}
	}
	switch c.request.Body.As {
	case asForm:
		return "application/x-www-form-urlencoded"
	case asJSON:
		return "application/json"
	}
	return "application/query-cql-json"
}

// checkMethod sees that the method, the body and the parameters that travel in it fit.
func (c *Collection) checkMethod(n strictyaml.Node) {
	rule := c.request
	hasBody := n.Has("body")
	switch {
	case hasBody && rule.Body.As == "":
		n.At("body").Fail("needs `as`: form or json")
	case hasBody && rule.Method == methodPostIfMany:
		n.At("body").Fail("the body of POST_IF_MANY is a filter in CQL2-JSON; remove it, or write `method: POST`")
	case hasBody && rule.Method != methodPost:
		n.At("body").Fail("a GET has no body; write `method: POST`")
	}
	predicates, documents := 0, 0
	for _, param := range c.params {
		at := n.At("method")
		if param.Many == ManyCQL2In {
			predicates++
			if rule.Method != methodPostIfMany {
				at.Fail("the parameter %q has many: cql2_in, which needs `method: POST_IF_MANY`", param.Name)
			}
		}
		if param.Type != TypeCQL2JSON {
			continue
		}
		documents++
		switch {
		case rule.Method == "" || rule.Method == methodGet:
			at.Fail("the parameter %q is the body of a POST; write `method: POST_IF_MANY` or `method: POST`", param.Name)
		case hasBody:
			n.At("body").Fail("the parameter %q is the body already", param.Name)
		case documents > 1:
			at.Fail("the parameter %q is a second filter in CQL2-JSON, and a request has one body", param.Name)
		}
	}
	if rule.Method == methodPostIfMany && predicates+documents == 0 {
		n.At("method").Fail("POST_IF_MANY needs a parameter with many: cql2_in or of the type cql2_json")
	}
}

func (c *Collection) checkHeaders(n strictyaml.Node) {
	reserved := []string{"authorization", "cookie", "host", "content-length", "connection", "transfer-encoding", "accept-encoding"}
	for _, credential := range c.definition.Credentials {
		reserved = append(reserved, strings.ToLower(credential.Send.Header))
	}
	seen := make(map[string]bool, len(c.request.Headers))
	for _, name := range slices.Sorted(maps.Keys(c.request.Headers)) {
		value, lower := c.request.Headers[name], strings.ToLower(name)
		switch {
		case !headerName.MatchString(name) || strings.ContainsAny(value, "\r\n\x00"):
			n.At(name).Fail("%.40q is not a header", name)
		case slices.Contains(reserved, lower):
			n.At(name).Fail("the header %s is set by Braid; secrets are declared under credentials", name)
		case seen[lower]:
			n.At(name).Fail("the header %s stands twice; case does not count", name)
		}
		seen[lower] = true
	}
}

// checkWireNames refuses two senders of one name, except for alternatives of which a query gives one.
func (c *Collection) checkWireNames(n strictyaml.Node) {
	senders := make(map[string]string)
	for _, param := range c.params {
		for name := range param.Send.All() {
			other, taken := senders[name]
			if taken && (!slices.Contains(c.exactlyOne, other) || !slices.Contains(c.exactlyOne, param.Name)) {
				n.Fail("the parameters %s and %s are both sent as %q", other, param.Name, name)
			}
			senders[name] = param.Name
		}
	}
	fixed, key := c.request.fixed()
	for name := range fixed.All() {
		if other, taken := senders[name]; taken {
			at := n
			for step := range strings.SplitSeq(key, ".") {
				at = at.At(step)
			}
			at.At(name).Fail("is sent by the parameter %s too", other)
		}
	}
}
