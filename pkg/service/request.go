package service

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/braidhq/braid/pkg/strictyaml"
)

// Request is one request exactly as it is sent, except for credentials. It is the task of an item.
type Request struct {
	Method string            `json:"method"`
	URL    string            `json:"url"`
	Header map[string]string `json:"header,omitempty"`
	Body   []byte            `json:"body,omitempty"`
}

// Size is the number of bytes that limits count: the escaped URL and the body.
func (r Request) Size() int { return len(r.URL) + len(r.Body) }

// Request gives the request for the values of one chunk: parameters in the order they are declared, then the fixed
// query in the order of the file. Equal values give equal bytes. The values were checked as a whole by CheckValues;
// here only what would give a wrong request is refused: an unknown parameter, an empty list, several values where one
// is sent, an interval that has not two ends.
func (c *Collection) Request(v Values) (Request, error) {
	names := c.parameterNames()
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if !slices.Contains(names, name) {
			return Request{}, &ValueError{Parameter: name, Message: "the collection " + c.Name + " has no such parameter", Err: ErrUnknownParameter}
		}
	}
	var query strings.Builder
	for _, param := range c.params {
		values, given := v[param.Name]
		if !given {
			values = param.Default
		}
		if len(values) == 0 && !given {
			continue
		}
		if err := param.write(&query, values); err != nil {
			return Request{}, err
		}
	}
	for name, template := range c.request.Query.All() {
		writePair(&query, name, template.fill(pageRows(c.Limits)))
	}
	target := strings.TrimSuffix(c.definition.BaseURL, "/") + c.request.Path
	if query.Len() > 0 {
		target += "?" + query.String()
	}
	return c.PageRequest(Request{Method: "GET", URL: target, Header: maps.Clone(c.header)}, Walk{})
}

func (p *Parameter) write(query *strings.Builder, values []string) error {
	switch {
	case p.Type == TypeInterval && len(values) != 2:
		return p.invalid("an interval is two values, from and to, not %d", len(values))
	case p.Type == TypeInterval:
		p.writeInterval(query, values[0], values[1])
		return nil
	case len(values) == 0:
		return p.invalid("the list of values is empty")
	case len(values) > 1 && p.Many == "":
		return p.invalid("%d values in one request, and the service takes one", len(values))
	}
	for name, template := range p.Send.All() {
		if p.Many == ManyComma {
			writePair(query, name, template.fill(map[string]string{"{}": joinEscaped(values)}))
			continue
		}
		for _, value := range values {
			length := strconv.Itoa(utf8.RuneCountInString(value))
			writePair(query, name, template.fill(map[string]string{"{}": escape(value), "{len}": length}))
		}
	}
	return nil
}

func (p *Parameter) invalid(format string, args ...any) error {
	return &ValueError{Parameter: p.Name, Message: fmt.Sprintf(format, args...), Err: ErrInvalidValue}
}

// writeInterval leaves out a wire parameter that would carry nothing but an open end.
func (p *Parameter) writeInterval(query *strings.Builder, from, to string) {
	for name, template := range p.Send.All() {
		open := from == OpenEnd && !template.has("{to}") || to == OpenEnd && !template.has("{from}")
		if !open {
			writePair(query, name, template.fill(map[string]string{"{from}": escape(from), "{to}": escape(to)}))
		}
	}
}

// joinEscaped keeps the comma between values as it is: legal in a query, and a third of its escaped length.
func joinEscaped(values []string) string {
	var out strings.Builder
	for i, value := range values {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(escape(value))
	}
	return out.String()
}

func writePair(query *strings.Builder, name, escaped string) {
	if query.Len() > 0 {
		query.WriteByte('&')
	}
	query.WriteString(escape(name))
	query.WriteByte('=')
	query.WriteString(escaped)
}

// escape is HTML-form style: letters, digits and -._~ stay, a space is +, all else is percent-encoded.
func escape(text string) string { return url.QueryEscape(text) }

type requestRule struct {
	Method  requestMethod            `yaml:"method"`
	Path    string                   `yaml:"path,required"`
	Query   strictyaml.Map[Template] `yaml:"query"`
	Headers map[string]string        `yaml:"headers"`
	Body    strictyaml.Node          `yaml:"body,later"`
}

type requestMethod string

// UnmarshalStrict reads a method.
func (m *requestMethod) UnmarshalStrict(n strictyaml.Node) {
	*m = decodeChoice[requestMethod](n, []string{"GET"}, []string{"POST", "POST_IF_MANY"})
}

func (c *Collection) checkRequest(n strictyaml.Node) {
	rule := c.request
	if u, err := url.Parse(rule.Path); err != nil || !strings.HasPrefix(rule.Path, "/") || strings.HasPrefix(rule.Path, "//") ||
		u.Path != rule.Path || strings.ContainsAny(rule.Path, "{}?# ") || strings.Contains(rule.Path+"/", "/../") {
		n.At("path").Fail("%.80q is not a path below base_url; begin with / and write neither query nor placeholders", rule.Path)
	}
	if rule.Body.Kind() != strictyaml.Absent {
		n.At("body").Fail("a request body is not supported in this version; allowed are method, path, query, headers")
	}
	for name, template := range rule.Query.All() {
		if placeholder, found := template.unknown("{page_rows}"); found {
			n.At("query", name).Fail("%s has no meaning here; allowed is {page_rows}", placeholder)
		}
		if template.has("{page_rows}") && c.Limits.PageRows == 0 {
			n.At("query", name).Fail("{page_rows} needs limits.page_rows")
		}
	}
	c.checkHeaders(n.At("headers"))
	c.checkWireNames(n)
}

func (c *Collection) checkHeaders(n strictyaml.Node) {
	reserved := []string{"authorization", "cookie", "host", "content-length", "connection", "transfer-encoding", "accept-encoding"}
	for _, credential := range c.definition.Credentials {
		reserved = append(reserved, strings.ToLower(credential.Send.Header))
	}
	for name, value := range c.request.Headers {
		switch {
		case !headerName.MatchString(name) || strings.ContainsAny(value, "\r\n\x00"):
			n.At(name).Fail("%.40q is not a header", name)
		case slices.Contains(reserved, strings.ToLower(name)):
			n.At(name).Fail("the header %s is set by Braid; secrets are declared under credentials", name)
		}
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
	for name := range c.request.Query.All() {
		if other, taken := senders[name]; taken {
			n.At("query", name).Fail("is sent by the parameter %s too", other)
		}
	}
}
