package service

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/strictyaml"
)

// Credential says where a secret is found and how it is sent. It holds no secret: the worker that sends a request
// resolves it, and sends it to the hosts that name it and to no other.
type Credential struct {
	ID       string                                 `yaml:"-"`
	Send     Sending                                `yaml:"send,required"` // place of the secret in a request
	From     strictyaml.OneOrMany[CredentialSource] `yaml:"from,required"` // the first that is found wins
	Required bool                                   `yaml:"required"`      // without it nothing is sent
	Signup   string                                 `yaml:"signup"`        // where a person gets one
}

// Sending is the place of a credential in a request: exactly one member is set.
type Sending struct {
	Header string `yaml:"header"` // name of the header
	Query  string `yaml:"query"`  // name of the parameter; added when the request is sent, never stored
	Basic  bool   `yaml:"basic"`  // HTTP basic authentication: the secret is USER:PASSWORD
	Bearer bool   `yaml:"bearer"` // Authorization: Bearer
}

// CredentialSource names where a secret is kept.
type CredentialSource struct {
	Kind string // env, file or keyring
	Name string // of the variable, of the file below the configuration folder, of the keyring's entry
}

// UnmarshalText reads env:NAME, file:NAME or keyring:NAME.
func (s *CredentialSource) UnmarshalText(text []byte) error {
	kind, name, _ := strings.Cut(string(text), ":")
	if !slices.Contains([]string{"env", "file", "keyring"}, kind) || name == "" {
		return fmt.Errorf("%.80q names no place of a secret; write env:NAME, file:NAME or keyring:NAME, never the secret itself", text)
	}
	if kind == "file" && (path.IsAbs(name) || name != path.Clean(name) || strings.HasPrefix(name, "..") || strings.Contains(name, `\`)) {
		return fmt.Errorf("%.80q leads out of the configuration folder", text)
	}
	s.Kind, s.Name = kind, name
	return nil
}

// String is the source as it is written in a definition.
func (s CredentialSource) String() string { return s.Kind + ":" + s.Name }

func (d *Definition) credentialIDs() []string {
	ids := make([]string, len(d.Credentials))
	for i, credential := range d.Credentials {
		ids[i] = credential.ID
	}
	return ids
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9!#$%&'*+.^_|~-]{1,100}$`)

func (c Credential) check(n strictyaml.Node) {
	ways := 0
	for _, set := range []bool{c.Send.Header != "", c.Send.Query != "", c.Send.Basic, c.Send.Bearer} {
		if set {
			ways++
		}
	}
	if ways != 1 {
		n.At("send").Fail("name exactly one of header, query, basic, bearer")
	}
	if c.Send.Header != "" && !headerName.MatchString(c.Send.Header) {
		n.At("send", "header").Fail("%.80q is not the name of a header", c.Send.Header)
	}
}
