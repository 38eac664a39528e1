package service

import (
	"fmt"
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// Schema is the version of the language that this build reads.
const Schema = "service/v1"

// MaxDefinitionBytes bounds the text of a definition.
const MaxDefinitionBytes = 4 << 20

// Definition is all that Braid knows about one service.
type Definition struct {
	Name        string
	Title       string
	Docs        string // where people read about the service
	Adapter     string // name of the compiled-in adapter that speaks to the service; empty: its requests are declared
	BaseURL     string // without a slash at its end
	Rebased     bool   // BaseURL is not the declared one: a mirror's, or a simulator's
	Hosts       []Host
	Credentials []Credential
	Quotas      []Quota
	Limits      Limits
	Timeouts    Timeouts
	Retry       Retry
	Responses   []ResponseRule
	Collections []*Collection // in the order of the file

	environment *load.Environment // nil: the definition describes none
}

type definitionRule struct {
	Schema      string                          `yaml:"schema,required"`      // version of this language: service/v1
	Name        string                          `yaml:"name,required"`        // the service's name, as queries write it
	Title       string                          `yaml:"title"`                // for people: what it is
	Docs        string                          `yaml:"docs"`                 // for people: where it is described
	Adapter     string                          `yaml:"adapter"`              // name of a compiled-in adapter that speaks to the service
	BaseURL     string                          `yaml:"base_url,required"`    // https URL below which all requests lie
	Hosts       []Host                          `yaml:"hosts"`                // hosts that requests and links may lead to; default: that of base_url
	Credentials strictyaml.Map[Credential]      `yaml:"credentials"`          // id → a secret's place and way
	Quotas      strictyaml.Map[Quota]           `yaml:"quotas"`               // pool → a quota
	Limits      strictyaml.Node                 `yaml:"limits"`               // of requests and answers
	Timeouts    Timeouts                        `yaml:"timeouts"`             // of one request
	Retry       Retry                           `yaml:"retry"`                // of transient errors
	Responses   []ResponseRule                  `yaml:"responses"`            // rules that say what an answer means; the first that fits decides
	Environment *environmentRule                `yaml:"environment"`          // where load runs go; with adapter: superset
	Defaults    strictyaml.Node                 `yaml:"defaults"`             // keys of a collection that all collections share
	Collections strictyaml.Map[strictyaml.Node] `yaml:"collections,required"` // name → a collection
}

// Parse reads a definition. The error reports everything that is wrong, as strictyaml.Errors; the file's name is only
// for messages.
func Parse(file string, data []byte) (*Definition, error) {
	doc, err := strictyaml.Parse(file, data, strictyaml.Bounds{Bytes: MaxDefinitionBytes})
	if err != nil {
		return nil, err
	}
	root := doc.Root()
	rule := definitionRule{Timeouts: defaultTimeouts(), Retry: defaultRetry()}
	root.Decode(&rule)
	if rule.Schema != Schema && root.Has("schema") {
		root.At("schema").Fail("%.40q is not read by this version; write %s", rule.Schema, Schema)
	}
	d := newDefinition(rule)
	d.check(rule, root)
	d.setEnvironment(rule.Environment, root)
	for name, n := range rule.Collections.All() {
		d.Collections = append(d.Collections, d.newCollection(name, n.Merge(rule.Defaults), rule.Limits))
	}
	if err := doc.Err(); err != nil {
		return nil, err
	}
	return d, nil
}

func newDefinition(rule definitionRule) *Definition {
	d := &Definition{
		Name:      rule.Name,
		Title:     rule.Title,
		Docs:      rule.Docs,
		Adapter:   rule.Adapter,
		BaseURL:   strings.TrimSuffix(rule.BaseURL, "/"),
		Hosts:     rule.Hosts,
		Limits:    decodeLimits(rule.Limits),
		Timeouts:  rule.Timeouts,
		Retry:     rule.Retry,
		Responses: rule.Responses,
	}
	for id, credential := range rule.Credentials.All() {
		credential.ID = id
		d.Credentials = append(d.Credentials, credential)
	}
	for pool, quota := range rule.Quotas.All() {
		quota.Pool = pool
		d.Quotas = append(d.Quotas, quota)
	}
	return d
}

func (d *Definition) check(rule definitionRule, root strictyaml.Node) {
	if root.Has("name") {
		checkName(root.At("name"), d.Name)
	}
	if root.Has("adapter") {
		checkName(root.At("adapter"), d.Adapter)
	}
	for _, credential := range d.Credentials {
		at := root.At("credentials", credential.ID)
		checkName(at, credential.ID)
		credential.check(at)
		if !slices.ContainsFunc(d.Hosts, func(h Host) bool { return slices.Contains(h.Credentials, credential.ID) }) {
			at.Fail("no host may see it; name it under the credentials of a host")
		}
	}
	for _, quota := range d.Quotas {
		checkName(root.At("quotas", quota.Pool), quota.Pool)
	}
	d.checkHosts(root.At("hosts"))
	if root.Has("base_url") {
		d.checkBase(root.At("base_url"))
	}
	d.Timeouts.check(root.At("timeouts"))
	d.Retry.check(root.At("retry"))
	for i, response := range d.Responses {
		response.check(root.At("responses", i))
	}
	if len(rule.Collections) == 0 && root.Has("collections") {
		root.At("collections").Fail("has no collection; declare at least one")
	}
}

// Collection finds a collection. The error wraps ErrUnknownCollection and offers the nearest name.
func (d *Definition) Collection(name string) (*Collection, error) {
	names := make([]string, len(d.Collections))
	for i, c := range d.Collections {
		if c.Name == name {
			return c, nil
		}
		names[i] = c.Name
	}
	return nil, fmt.Errorf("%w: the service %s has no %.100q%s", ErrUnknownCollection, d.Name, name, strictyaml.DidYouMean(name, names))
}
