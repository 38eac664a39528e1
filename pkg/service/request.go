package service

import (
	"fmt"
	"maps"
	"slices"
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

// HasRequest tells whether the collection is spoken to by requests of its own definition, and not by an adapter.
func (c *Collection) HasRequest() bool { return c.request.Path != "" }

// Request gives the request for the values of one chunk: parameters in the order they are declared, then the fixed
// query in the order of the file. Equal values give equal bytes, and so do other spellings of them (see Canonical). The
// values were checked as a whole by CheckValues; here only what would give a wrong request is refused: an unknown
// parameter, an empty list, several values where one is sent, an interval or a time that cannot be read. What paging sends is
// that of the first page. Of a collection without a request it is the zero Request.
func (c *Collection) Request(v Values) (Request, error) {
	if !c.HasRequest() {
		return Request{}, nil
	}
	if err := c.checkNamesOnly(v); err != nil {
		return Request{}, err
	}
	base := c.definition.BaseURL
	out := make([]byte, 0, len(base)+len(c.request.Path)+len(c.fixedQuery)+c.room(v))
	out = append(append(out, base...), c.request.Path...)
	query := pairs{out: out, start: '?'}
	body, posts, err := c.writeParams(v, &query)
	if err != nil {
		return Request{}, err
	}
	if c.fixedQuery != "" {
		query.separate()
		query.out = append(query.out, c.fixedQuery...)
	}
	request := Request{Method: "GET", URL: string(query.out), Header: maps.Clone(c.header)}
	if posts {
		request.Method, request.Body = "POST", body
		if c.contentType != "" && (len(body) > 0 || c.request.Body.As != "") {
			request.Header["Content-Type"] = c.contentType
		}
	}
	return c.PageRequest(request, Walk{})
}

// writeParams writes what is asked to the query or to the body, and tells whether it is a POST.
func (c *Collection) writeParams(v Values, query *pairs) (body []byte, posts bool, err error) {
	switch c.request.Body.As {
	case asForm:
		form := pairs{}
		err = c.writeTo(v, &form)
		form.append(c.request.Body.With, c.Limits)
		return form.out, true, err
	case asJSON:
		members := members{}
		err = c.writeTo(v, &members)
		members.append(c.request.Body.With, c.Limits)
		return members.close(), true, err
	}
	filter := cql2Filter{many: c.request.Method == methodPostIfMany}
	err = c.writeTo(v, &splitter{pairs: query, filter: &filter})
	body = filter.body()
	return body, body != nil || c.request.Method == methodPost, err
}

// carrier takes what parameters send.
type carrier interface {
	// list takes the values of a parameter, as they are sent.
	list(p *Parameter, values []string)
	// interval takes the ends of an interval, one of which may be OpenEnd; single is its one text, if it is no pair.
	interval(p *Parameter, from, to, single string)
}

func (c *Collection) writeTo(v Values, carrier carrier) error {
	for i := range c.params {
		p := &c.params[i]
		values, given := p.sent(v)
		if len(values) == 0 && !given {
			continue
		}
		if p.Type == TypeInterval {
			interval, err := ParseInterval(p.Of, values)
			if err != nil {
				return p.invalid("%s", err)
			}
			from, to := interval.ends()
			single := ""
			if interval.Single || interval.Unit == UnitDuration {
				single = from
			}
			carrier.interval(p, from, to, single)
			continue
		}
		if err := p.checkSendable(values); err != nil {
			return err
		}
		if values = p.sentList(values); len(values) > 0 {
			carrier.list(p, values)
		}
	}
	return nil
}

// checkSendable refuses values that would give a wrong request.
func (p *Parameter) checkSendable(values []string) error {
	switch {
	case len(values) == 0:
		return p.invalid("the list of values is empty")
	case len(values) > 1 && p.Many == "" && p.Type != TypeCQL2Text:
		return p.invalid("%d values in one request, and the service takes one", len(values))
	case p.Type == TypeDate || p.Type == TypeTimestamp:
		for _, value := range values {
			if problem := p.checkType(value); problem != "" {
				return p.invalid("the value %.80q %s", value, problem)
			}
		}
	}
	return nil
}

func (p *Parameter) invalid(format string, args ...any) error {
	return &ValueError{Parameter: p.Name, Message: fmt.Sprintf(format, args...), Err: ErrInvalidValue}
}

// checkNamesOnly refuses the first unknown parameter in the order of the alphabet.
func (c *Collection) checkNamesOnly(v Values) error {
	for name := range v {
		if _, known := c.names[name]; known {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if _, known := c.names[name]; !known {
				return &ValueError{Parameter: name, Message: "the collection " + c.Name + " has no such parameter", Err: ErrUnknownParameter}
			}
		}
	}
	return nil
}

// room guesses the bytes that the values take in a request.
func (c *Collection) room(v Values) int {
	room := 0
	for name, values := range v {
		room += len(name) + 16
		for _, value := range values {
			room += len(value) + len(value)/8 + 1
		}
	}
	return room
}
