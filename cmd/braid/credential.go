package main

import (
	"crypto/tls"
	"crypto/x509"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/braid"
)

// tokenVariable holds a server's token itself. There is no flag for it: other users of a machine see the flags of processes.
const tokenVariable = "BRAID_TOKEN"

const maxTokenBytes = 4 << 10

// token is what we are known by at the server; empty: nothing. A token is sent only where its owner meant it to go: that of a
// context to the server of the context, that of the settings file to the server of the settings file.
func (a *app) token() (string, error) {
	direct := strings.TrimSpace(a.getenv(tokenVariable))
	from := a.origins["token-file"]
	switch {
	case a.tokenFile != "" && from == settings.FromFile && a.origins["server"] != settings.FromFile:
		return direct, nil
	case direct != "" && from == settings.FromEnv:
		return "", usage("%s and %s are both set; use one of them", tokenVariable, settings.Variable("token-file"))
	case a.tokenFile != "" && (direct == "" || from == settings.FromFlag || a.picked.from == settings.FromFlag):
		return a.readToken(a.tokenFile)
	}
	return direct, nil
}

// readToken reads a token's file, and tells when others can read it too.
func (a *app) readToken(path string) (string, error) {
	path = a.expandHome(path)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", usage("token file: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxTokenBytes:
		return "", usage("token file: %s is no file with one token in it", path)
	}
	if mode, open := openToOthers(path); open {
		a.line("warning", "%s has mode %04o, so others can read the token; run: chmod 600 %s", path, mode, quoteArg(path))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", usage("token file: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return "", usage("token file: %s holds no token; write it there alone, on one line", path)
	}
	return token, nil
}

// openToOthers tells whether other users of the machine can read a file.
func openToOthers(path string) (fs.FileMode, bool) {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" {
		return 0, false
	}
	mode := info.Mode().Perm()
	return mode, mode&0o077 != 0
}

// clientOptions is how the server is spoken to.
func (a *app) clientOptions() ([]braid.ClientOption, error) {
	token, err := a.token()
	if err != nil || token == "" && a.caFile == "" {
		return nil, err
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: reachWait, ForceAttemptHTTP2: true}
	if a.caFile != "" {
		if transport.TLSClientConfig, err = a.authorities(); err != nil {
			return nil, err
		}
	}
	if token != "" && strings.HasPrefix(a.server, "http://") && !isLoopback(a.server) {
		return nil, usage("the token is not sent to %s: it is plain HTTP to another machine; use https://", a.server)
	}
	return []braid.ClientOption{braid.WithHTTPClient(&http.Client{Transport: bearer{transport, token}})}, nil
}

func isLoopback(server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// authorities reads the certificates that the server's is to be signed by.
func (a *app) authorities() (*tls.Config, error) {
	data, err := readFile(a.expandHome(a.caFile))
	if err != nil {
		return nil, usage("--ca-file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, usage("--ca-file: there is no certificate in PEM in %s", a.caFile)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// bearer sends a token with each request. Its client follows no redirect.
type bearer struct {
	next  http.RoundTripper
	token string
}

// RoundTrip is http.RoundTripper's.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.next.RoundTrip(r)
}
