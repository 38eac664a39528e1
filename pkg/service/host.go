package service

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/strictyaml"
)

// Host is a host that requests may be sent to.
type Host struct {
	Host        string   `yaml:"host,required"` // host, which stands for all its ports, or exactly host:port
	Aliases     []string `yaml:"aliases"`       // hosts that links may name and that are rewritten to host
	Credentials []string `yaml:"credentials"`   // ids of the credentials that may be sent here
	Insecure    bool     `yaml:"insecure"`      // allows http
}

// CredentialsFor gives the credentials that may be sent with a request to the URL: those bound to exactly its host, and
// none without TLS unless the host is declared insecure.
func (d *Definition) CredentialsFor(rawURL string) []Credential {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil
	}
	host, alias, ok := d.hostOf(u)
	if !ok || alias || u.Scheme != "https" && (u.Scheme != "http" || !host.Insecure) {
		return nil
	}
	var allowed []Credential
	for _, credential := range d.Credentials {
		if slices.Contains(host.Credentials, credential.ID) {
			allowed = append(allowed, credential)
		}
	}
	return allowed
}

func (d *Definition) hostOf(u *url.URL) (host Host, alias, ok bool) {
	for _, host = range d.Hosts {
		if hostKey(host.Host) == hostKey(u.Host) {
			return host, false, true
		}
	}
	for _, host = range d.Hosts {
		if covers(host.Host, u) {
			return host, false, true
		}
	}
	for _, host = range d.Hosts {
		if slices.ContainsFunc(host.Aliases, func(alias string) bool { return covers(alias, u) }) {
			return host, true, true
		}
	}
	return Host{}, false, false
}

// covers tells whether a declared host, which without a port stands for all its ports, is that of the URL.
func covers(declared string, u *url.URL) bool {
	own := url.URL{Host: declared}
	return hostKey(declared) == hostKey(u.Host) || own.Port() == "" && own.Hostname() != "" && strings.EqualFold(own.Hostname(), u.Hostname())
}

// address is the host to request for a link to the host or to one of its aliases. The port stays that of the link, except
// where the link is not to be believed: when it names an alias, when the host is known to be named wrongly, or when it is
// by http and followed by https.
func (h Host) address(link *url.URL, alias bool) string {
	if h.Insecure && !alias {
		return link.Host
	}
	own := url.URL{Host: h.Host}
	port := link.Port()
	if alias || len(h.Aliases) > 0 || link.Scheme != "https" || port == "" || port == "443" || port == "80" || own.Port() != "" {
		return h.Host
	}
	return h.Host + ":" + port
}

func (d *Definition) hostNames() []string {
	names := make([]string, len(d.Hosts))
	for i, host := range d.Hosts {
		names[i] = host.Host
	}
	return names
}

// hostKey compares hosts: case and the default ports of http and https do not count.
func hostKey(host string) string {
	host = strings.ToLower(host)
	host = strings.TrimSuffix(host, ":443")
	return strings.TrimSuffix(strings.TrimSuffix(host, ":80"), ":")
}

func isHost(text string) bool {
	u, err := url.Parse("https://" + text + "/")
	return err == nil && text != "" && u.Host == text && u.Hostname() != "" && !strings.ContainsAny(text, " *%") && len(text) <= 255
}

func isLoopback(hostname string) bool {
	if strings.EqualFold(hostname, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(hostname)
	return err == nil && address.IsLoopback()
}

func (d *Definition) checkHosts(n strictyaml.Node) {
	seen := make(map[string]bool)
	once := func(n strictyaml.Node, name string) {
		switch key := hostKey(name); {
		case !isHost(name):
			n.Fail("%.80q is not a host; write host or host:port, without scheme and path", name)
		case seen[key]:
			n.Fail("the host %s stands twice", name)
		default:
			seen[key] = true
		}
	}
	for i, host := range d.Hosts {
		once(n.At(i, "host"), host.Host)
		for j, alias := range host.Aliases {
			once(n.At(i, "aliases", j), alias)
		}
		for j, id := range host.Credentials {
			if ids := d.credentialIDs(); !slices.Contains(ids, id) {
				n.At(i, "credentials", j).Fail("the credential %q is not declared%s", id, strictyaml.DidYouMean(id, ids))
			}
		}
	}
}

func (d *Definition) checkBase(n strictyaml.Node) {
	u, err := parseBase(d.BaseURL)
	if err != nil {
		n.Fail("%s", err)
		return
	}
	if len(d.Hosts) == 0 {
		d.Hosts = []Host{{Host: u.Host}}
	}
	host, alias, ok := d.hostOf(u)
	switch {
	case !ok || alias:
		n.Fail("the host %s is not listed under hosts", u.Host)
	case u.Scheme == "http" && !host.Insecure:
		n.Fail("http is not allowed; use https, or declare `insecure: true` for the host %s", u.Host)
	}
}
