package service

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/braidhq/braid/pkg/cql2"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// ResponseRule maps facts of an answer to its class. All conditions that are given must hold.
type ResponseRule struct {
	When      Condition   `yaml:"when,required"` // all parts must hold
	Then      RuleClass   `yaml:"then,required"` // what becomes of the chunk
	GivesUpAs GiveUpClass `yaml:"gives_up_as"`   // of transient: what it counts as when its tries are used up
}

// Condition is what a ResponseRule looks at.
type Condition struct {
	Status []int                     `yaml:"status"` // one of this list
	Body   *regexp.Regexp            `yaml:"body"`   // looked for in the first 4 KiB
	Header map[string]*regexp.Regexp `yaml:"header"` // name → regular expression, each is found
	At     Path                      `yaml:"at"`     // in a JSON body
	Is     string                    `yaml:"is"`     // one of the values there has this text
}

// RuleClass is a class that a rule can give.
type RuleClass string

// Choices lists the classes.
func (RuleClass) Choices() []string {
	return []string{
		string(ClassOK), string(ClassNoData), string(ClassQuota), string(ClassTransient), string(ClassTooLarge),
		string(ClassCursorGone), string(ClassBadRequest), string(ClassAuth),
	}
}

// GiveUpClass is what a transient error can become: service means that the service is interrupted.
type GiveUpClass string

// Choices lists the classes.
func (GiveUpClass) Choices() []string {
	return []string{"service", string(ClassTooLarge), string(ClassBadRequest)}
}

func (c GiveUpClass) class() Class {
	if c == "service" {
		return ""
	}
	return Class(c)
}

// Classify tells what an answer means, and what a transient error becomes when its attempts are used up (empty: the
// service is interrupted). The definition's rules are asked in order, then the built-in ones.
func (c *Collection) Classify(status int, header map[string][]string, body []byte) (class, givesUpAs Class) {
	document := sync.OnceValue(func() gjson.Result {
		text := bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
		if cql2.Depth(text) > maxJSONDepth || !json.Valid(text) {
			return gjson.Result{}
		}
		return gjson.ParseBytes(text)
	})
	for _, rule := range c.definition.Responses {
		if rule.When.holds(status, header, body, document) {
			return Class(rule.Then), rule.GivesUpAs.class()
		}
	}
	return classifyStatus(status)
}

func classifyStatus(status int) (class, givesUpAs Class) {
	switch {
	case status == 204:
		return ClassNoData, ""
	case status >= 200 && status < 300:
		return ClassOK, ""
	case status >= 300 && status < 400:
		return ClassBadLink, "" // a redirect that could be followed is not seen here
	case status == 429:
		return ClassQuota, ""
	case status == 413, status == 414:
		return ClassTooLarge, ""
	case status == 401, status == 403:
		return ClassAuth, ""
	case status == 504:
		return ClassTransient, ClassTooLarge
	case status == 408, status < 400, status >= 500 && status < 600:
		return ClassTransient, ""
	}
	return ClassBadRequest, ""
}

const conditionBodyBytes = 4 << 10

// holds asks for the document, which no path selects anything of when the body is no JSON, only when all else holds.
func (c Condition) holds(status int, header map[string][]string, body []byte, document func() gjson.Result) bool {
	if len(c.Status) > 0 && !slices.Contains(c.Status, status) {
		return false
	}
	if c.Body != nil && !c.Body.Match(body[:min(len(body), conditionBodyBytes)]) {
		return false
	}
	for name, pattern := range c.Header {
		if !slices.ContainsFunc(headerValues(header, name), pattern.MatchString) {
			return false
		}
	}
	return c.At.IsZero() || c.At.says(document(), c.Is)
}

func (r ResponseRule) check(n strictyaml.Node) {
	when := r.When
	if len(when.Status) == 0 && when.Body == nil && len(when.Header) == 0 && when.At.IsZero() {
		n.At("when").Fail("has no condition; give status, body, header, or at with is")
	}
	for i, status := range when.Status {
		checkRange(n.At("when", "status", i), int64(status), 100, 599)
	}
	if when.At.IsZero() == n.At("when").Has("is") {
		n.At("when").Fail("at and is belong together")
	}
	if r.GivesUpAs != "" && Class(r.Then) != ClassTransient {
		n.At("gives_up_as").Fail("only a transient answer is tried again and given up; remove the key or write `then: transient`")
	}
}
