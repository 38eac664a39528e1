package service

import (
	"fmt"
	"net/url"
	"strings"
)

// Rebase points the definition at a mirror or simulator: base replaces the base URL, its host becomes the only one that
// may be spoken to, and neither credentials nor aliases remain. Plain http is accepted for a loopback host, or when the
// definition declares one of its hosts insecure. The error wraps ErrUnsafeBase. Rebase before the definition is shared.
func (d *Definition) Rebase(base string) error {
	u, err := parseBase(base)
	if err != nil {
		return fmt.Errorf("rebase %s: %w: %w", d.Name, ErrUnsafeBase, err)
	}
	insecure := false
	for _, host := range d.Hosts {
		insecure = insecure || host.Insecure
	}
	if u.Scheme == "http" && !insecure && !isLoopback(u.Hostname()) {
		return fmt.Errorf("rebase %s: %w: %s is reached by http; use https, or a loopback address", d.Name, ErrUnsafeBase, u.Host)
	}
	d.Rebased = true
	d.BaseURL = strings.TrimSuffix(base, "/")
	d.Hosts = []Host{{Host: u.Host, Insecure: u.Scheme == "http"}}
	d.Credentials = nil
	return nil
}

func parseBase(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%.200q is not a URL", base)
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || !isHost(u.Host):
		return nil, fmt.Errorf("%.200q is not an http or https URL with a host", u.Redacted())
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, fmt.Errorf("%.200q has a user, query or fragment; leave them out", u.Redacted())
	case len(base) > 2000:
		return nil, fmt.Errorf("the URL has %d bytes, at most 2000", len(base))
	}
	return u, nil
}
