package braid

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/braidhq/braid/pkg/access"
)

// ErrToken is wrapped by NewClient when a token cannot be used, or would travel where others can read it.
var ErrToken = errors.New("the token is not sent")

// errCA is wrapped by ErrURL: the authority is a part of how the server is reached.
var errCA = errors.New("the authority's certificate cannot be used")

// WithToken lets the Client say by a token who it is. White space around it, such as the end of a file's line, belongs to
// nothing. It is sent over HTTPS, and over plain HTTP to this machine alone; see WithPlainToken.
func WithToken(token string) ClientOption {
	return func(client *Client) { client.token = strings.TrimSpace(token) }
}

// WithPlainToken lets the token travel over plain HTTP to other machines, where whoever is in between can read it.
func WithPlainToken() ClientOption {
	return func(client *Client) { client.plainToken = true }
}

// WithCA lets the Client take a server for what it says it is when one of these authorities does, given as certificates in PEM,
// instead of those that the system trusts. It goes with no WithHTTPClient.
func WithCA(pem []byte) ClientOption {
	return func(client *Client) { client.ca = pem }
}

// secure carries out the options about who is who.
func (c *Client) secure(address *url.URL, own *http.Transport) error {
	if c.ca != nil {
		pool := x509.NewCertPool()
		switch {
		case c.http.Transport != own:
			return fmt.Errorf("%w: %w: it goes with no HTTP client of one's own", ErrURL, errCA)
		case !pool.AppendCertsFromPEM(c.ca):
			return fmt.Errorf("%w: %w: there is none in PEM in it", ErrURL, errCA)
		}
		own.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	if c.token == "" {
		return nil
	}
	if _, err := access.ParseToken(c.token); err != nil {
		return fmt.Errorf("%w: %w", ErrToken, err)
	}
	if address.Scheme == "https" || c.plainToken || isThisMachine(address.Hostname()) {
		return nil
	}
	return fmt.Errorf("%w: %s is plain HTTP to another machine, and whoever is in between could read it; use https://", ErrToken, c.base)
}

func isThisMachine(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// Whoami tells as whom the server knows this client, and what that permits.
func (c *Client) Whoami(ctx context.Context) (*access.Identity, error) {
	return call(ctx, c, http.MethodGet, apiPath+"whoami", nil, maxAnswerBytes, func(data []byte) (*access.Identity, error) {
		var identity access.Identity
		if err := json.Unmarshal(data, &identity); err != nil {
			return nil, fmt.Errorf("decode identity: %w", err)
		}
		return &identity, nil
	})
}
