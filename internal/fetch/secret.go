package fetch

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/service"
)

// secret is a credential that was found, on its way to a host that may see it.
type secret struct {
	credential service.Credential
	value      string
}

type secrets []secret

// secretsFor finds what may be sent along with a request to the URL, and names the credentials that have no secret. A
// required one without a secret is an error before anything is sent.
func (c *Client) secretsFor(rawURL string) (found secrets, absent []service.Credential, err error) {
	for _, credential := range c.definition.CredentialsFor(rawURL) {
		value, ok, err := c.cfg.Credentials(credential)
		switch {
		case err != nil:
			return nil, nil, authError(credential, "cannot be read", err)
		case !ok && credential.Required:
			return nil, nil, authError(credential, "is required and was not found", nil)
		case !ok:
			absent = append(absent, credential)
			continue
		case !isSendable(value):
			return nil, nil, authError(credential, "is not a line of text; it must hold the secret and nothing else", nil)
		case isExposed(rawURL):
			return nil, nil, authError(credential, "is not sent over http to another machine; use https", nil)
		}
		found = append(found, secret{credential, value})
	}
	return found, absent, nil
}

func authError(credential service.Credential, problem string, cause error) error {
	message := "the credential " + credential.ID + " " + problem
	if cause != nil {
		message += ": " + cause.Error()
	}
	return &service.ResponseError{Class: service.ClassAuth, Message: message + whereToGet(credential), Err: cause}
}

// whereToGet says where a secret is looked for and where a person gets one.
func whereToGet(credential service.Credential) string {
	sources := make([]string, len(credential.From))
	for i, source := range credential.From {
		sources[i] = source.String()
	}
	text := " (looked for in " + strings.Join(sources, ", ") + ")"
	if credential.Signup != "" {
		text += "; get one at " + credential.Signup
	}
	return text
}

func isSendable(value string) bool {
	return value != "" && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// isExposed tells whether a request would show its secrets on a network.
func isExposed(rawURL string) bool {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme == "https" {
		return err != nil
	}
	address, err := netip.ParseAddr(u.Hostname())
	return !strings.EqualFold(u.Hostname(), "localhost") && (err != nil || !address.IsLoopback())
}

// addTo gives the URL with the secrets that are sent in the query.
func (s secrets) addTo(rawURL string) string {
	for _, secret := range s {
		if name := secret.credential.Send.Query; name != "" {
			separator := "?"
			if strings.Contains(rawURL, "?") {
				separator = "&"
			}
			rawURL += separator + url.QueryEscape(name) + "=" + url.QueryEscape(secret.value)
		}
	}
	return rawURL
}

func (s secrets) setHeader(header http.Header) {
	for _, secret := range s {
		switch send := secret.credential.Send; {
		case send.Header != "":
			header.Set(send.Header, secret.value)
		case send.Bearer:
			header.Set("Authorization", "Bearer "+secret.value)
		case send.Basic:
			header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(secret.value)))
		}
	}
}

// withoutSecrets takes out of a URL that a server gave what must not be stored or sent elsewhere: parameters that carry
// a credential by their name, and those that carry a secret that was sent. A secret in another place is an error.
func (c *Client) withoutSecrets(rawURL string, sent secrets) (string, error) {
	base, query, has := strings.Cut(rawURL, "?")
	if has {
		pairs := slices.DeleteFunc(strings.Split(query, "&"), func(pair string) bool { return c.carriesSecret(pair, sent) })
		rawURL = base
		if len(pairs) > 0 {
			rawURL += "?" + strings.Join(pairs, "&")
		}
	}
	if sent.in(rawURL) {
		return "", badLink("the link that the server gave has a secret in it", service.ErrLink)
	}
	return rawURL, nil
}

func (c *Client) carriesSecret(pair string, sent secrets) bool {
	name, value, _ := strings.Cut(pair, "=")
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	for _, credential := range c.definition.Credentials {
		if credential.Send.Query != "" && strings.EqualFold(credential.Send.Query, name) {
			return true
		}
	}
	if plain, err := url.QueryUnescape(value); err == nil {
		value = plain
	}
	return slices.ContainsFunc(sent, func(s secret) bool { return s.value == value }) || sent.in(value)
}

// A short text stands anywhere by chance. In a message that costs a word; in rows or a link, the walk. Of fewer bytes than
// shortest a secret is not looked for; of fewer than shortestWithin, in rows, cursors and links only as a word.
const (
	shortest       = 4
	shortestWithin = 8
)

// texts are what must not be told of the secrets.
func (s secrets) texts() []string {
	var texts []string
	for _, secret := range s {
		texts = append(texts, secret.value)
		if secret.credential.Send.Basic {
			_, password, _ := strings.Cut(secret.value, ":")
			texts = append(texts, password)
		}
		texts = append(texts, base64.RawStdEncoding.EncodeToString([]byte(secret.value)), base64.RawURLEncoding.EncodeToString([]byte(secret.value)))
	}
	return slices.DeleteFunc(slices.Compact(texts), func(text string) bool { return len(text) < shortest })
}

// in tells whether a text has a secret in it, in whatever spelling.
func (s secrets) in(text string) bool {
	if len(s) == 0 {
		return false
	}
	found := plainOf(text).text
	return slices.ContainsFunc(s.texts(), func(secret string) bool {
		// The end of one that is not escaped may look like an escape together with what follows.
		return holds([]byte(text), []byte(secret)) || holds(found, plainOf(secret).text)
	})
}

// holds tells whether a secret stands in the text; a short one as a word.
func holds(text, secret []byte) bool {
	for begin := 0; ; begin++ {
		at := bytes.Index(text[begin:], secret)
		if at < 0 {
			return false
		}
		begin += at
		if len(secret) >= shortestWithin || !endsInWord(text[:begin]) && !beginsWithWord(text[begin+len(secret):]) {
			return true
		}
	}
}

// controlEscape is the escape of a control character in JSON, which plainOf takes for its letter.
var controlEscape = regexp.MustCompile(`\\[bfnrt]$`)

func endsInWord(text []byte) bool {
	return len(text) > 0 && isWordByte(text[len(text)-1]) && !controlEscape.Match(text[max(0, len(text)-2):])
}

func beginsWithWord(text []byte) bool { return len(text) > 0 && isWordByte(text[0]) }

func isWordByte(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

// inRows is in for a text that may be very long: it looks closely only where the part of a secret stands that no spelling
// changes. So it overlooks a secret of which characters are escaped that need not be.
func (s secrets) inRows(rows []byte) bool {
	for _, secret := range s.texts() {
		part, span := []byte(anchor(secret)), 64+16*len(secret)
		if len(part) == 0 {
			if s.in(string(rows)) {
				return true
			}
			continue
		}
		for from := 0; from < len(rows); {
			at := bytes.Index(rows[from:], part)
			if at < 0 {
				break
			}
			at += from
			if s.in(string(rows[max(0, at-span):min(len(rows), at+4*span)])) {
				return true
			}
			from = at + 3*span
		}
	}
	return false
}

const hidden = "[hidden]"

// hide takes the secrets out of a text, in whatever spelling, also the beginning of one where the text was cut off.
func (s secrets) hide(text string) string {
	for _, secret := range s.texts() {
		text = hideOne(strings.ReplaceAll(text, secret, hidden), plainOf(secret).text)
	}
	return text
}

// Hide takes secrets out of a text, in whatever spelling, also the beginning of one where the text was cut off. Of one that is USER:PASSWORD
// give the password beside it.
func Hide(text string, values ...string) string { return secretsOf(values).hide(text) }

// Holds tells whether one of the secrets stands in a text, in whatever spelling. For rows, which may be long, it looks as closely as
// is affordable.
func Holds(rows []byte, values ...string) bool { return secretsOf(values).inRows(rows) }

func secretsOf(values []string) secrets {
	all := make(secrets, 0, len(values))
	for _, value := range values {
		if value != "" {
			all = append(all, secret{value: value})
		}
	}
	return all
}

// LoginSecret finds the secret of a credential that may be used at the URL: one that a host of the definition names, and that is not
// shown to a network. The error is a *service.ResponseError of class auth.
func LoginSecret(d *service.Definition, id, rawURL string, find func(service.Credential) (string, bool, error)) (string, error) {
	for _, credential := range d.CredentialsFor(rawURL) {
		if credential.ID != id {
			continue
		}
		value, ok, err := find(credential)
		switch {
		case err != nil:
			return "", authError(credential, "cannot be read", err)
		case !ok:
			return "", authError(credential, "was not found", nil)
		case !isSendable(value):
			return "", authError(credential, "is not a line of text; it must hold the secret and nothing else", nil)
		case isExposed(rawURL):
			return "", authError(credential, "is not sent over http to another machine; use https", nil)
		}
		return value, nil
	}
	if d.Rebased {
		return "", &service.ResponseError{Class: service.ClassAuth, Message: "the credential " + id + " is not sent to another address than the definition's own; declare a service of that address"}
	}
	return "", &service.ResponseError{Class: service.ClassAuth, Message: "the credential " + id + " is not bound to the host; name it under the credentials of the host of base_url"}
}

func hideOne(text string, secret []byte) string {
	p := plainOf(text)
	var out strings.Builder
	kept := 0
	for at := 0; at < len(p.text); at++ {
		if n := matched(p.text[at:], secret, shortest); n > 0 {
			out.WriteString(text[kept:p.from[at]])
			out.WriteString(hidden)
			at += n - 1
			kept = p.from[at+1]
		}
	}
	if kept == 0 {
		return text
	}
	return out.String() + text[kept:]
}
