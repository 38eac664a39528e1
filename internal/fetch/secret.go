package fetch

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
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

// A secret that is too short is found anywhere. In a message a wrong hit costs a word; in a link, the walk.
const (
	shortestHidden = 4
	shortestFound  = 8
)

// forms are the ways in which secrets may be written, of so many bytes at least, longest first.
func (s secrets) forms(shortest int) []string {
	var forms []string
	for _, secret := range s {
		plain := []string{secret.value}
		if secret.credential.Send.Basic {
			_, password, _ := strings.Cut(secret.value, ":")
			plain = append(plain, password, base64.StdEncoding.EncodeToString([]byte(secret.value)))
		}
		for _, text := range plain {
			quoted := fmt.Sprintf("%q", text)
			forms = append(forms, text, url.QueryEscape(text), url.PathEscape(text), quoted[1:len(quoted)-1])
			if inJSON, err := json.Marshal(text); err == nil {
				inner := string(inJSON[1 : len(inJSON)-1])
				forms = append(forms, inner, strings.ReplaceAll(inner, "/", `\/`))
			}
		}
	}
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	return slices.DeleteFunc(slices.Compact(forms), func(form string) bool { return len(form) < shortest })
}

// in tells whether a text has a secret in it.
func (s secrets) in(text string) bool {
	return slices.ContainsFunc(s.forms(shortestFound), func(form string) bool { return strings.Contains(text, form) })
}

const hidden = "[hidden]"

// hide takes the secrets out of a text, also the beginning of one where the text was cut off.
func (s secrets) hide(text string) string {
	forms := s.forms(shortestHidden)
	for _, form := range forms {
		text = strings.ReplaceAll(text, form, hidden)
	}
	body := strings.TrimRight(text, `"…`)
	for _, form := range forms {
		for n := len(form) - 1; n >= shortestHidden; n-- {
			if before, cut := strings.CutSuffix(body, form[:n]); cut {
				return before + hidden + text[len(body):]
			}
		}
	}
	return text
}
