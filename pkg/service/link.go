package service

import (
	"fmt"
	"net/url"
	"strings"
)

const maxLinkBytes = 64 << 10

// FollowLink resolves a link or redirect that was found at pageURL and gives the URL to request. The link must lead to
// a listed host; an alias is rewritten to its host. The URL is https, except on a host that is declared insecure, where it is what
// the link says, and for an alias what the page is; user information and fragment are removed. The error wraps ErrLink and names the host.
func (d *Definition) FollowLink(pageURL, link string) (string, error) {
	if len(link) > maxLinkBytes {
		return "", fmt.Errorf("%w: it has %d bytes, at most %d", ErrLink, len(link), maxLinkBytes)
	}
	page, err := url.Parse(pageURL)
	if err != nil {
		return "", fmt.Errorf("%w: the page's own address is no URL", ErrLink)
	}
	target, err := page.Parse(link)
	if err != nil {
		return "", fmt.Errorf("%w: %.200q is no URL", ErrLink, link)
	}
	if target.Scheme != "https" && target.Scheme != "http" {
		return "", fmt.Errorf("%w: its scheme is %.20q, allowed is https", ErrLink, target.Scheme)
	}
	host, alias, ok := d.hostOf(target)
	if !ok {
		return "", fmt.Errorf("%w: it leads to the host %.100q; allowed are %s", ErrLink, target.Host, strings.Join(d.hostNames(), ", "))
	}
	target.User, target.Fragment, target.RawFragment = nil, "", ""
	target.Host = host.address(target, alias)
	// Servers behind a proxy often write http into their links. Following it in the clear would be wrong, and refusing
	// it would end a walk that https can go on with.
	switch {
	case !host.Insecure:
		target.Scheme = "https"
	case alias && hostKey(target.Host) == hostKey(page.Host):
		target.Scheme = page.Scheme // how the alias is reached says nothing of the host, and the page came from there
	}
	return target.String(), nil
}

// keepParameters puts back the named parameters of the page's URL that the link has dropped.
func keepParameters(pageURL, link string, names []string) (string, error) {
	if len(names) == 0 {
		return link, nil
	}
	page, err := url.Parse(pageURL)
	if err != nil {
		return "", fmt.Errorf("%w: the page's own address is no URL", ErrLink)
	}
	target, err := url.Parse(link)
	if err != nil {
		return "", fmt.Errorf("%w: it is no URL", ErrLink)
	}
	had, has := page.Query(), target.Query()
	var query strings.Builder
	query.WriteString(target.RawQuery)
	for _, name := range names {
		if has.Has(name) {
			continue
		}
		for _, value := range had[name] {
			writePair(&query, name, escape(value))
		}
	}
	target.RawQuery = query.String()
	return target.String(), nil
}
