package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// checkServer tells whether the server answers, is ready, and has our time.
func (a *app) checkServer(ctx context.Context) []check {
	client, err := a.client()
	if err != nil {
		return []check{{"server", broken, err.Error(), "", "correct --server, or the context"}}
	}
	ctx, cancel := context.WithTimeout(ctx, reachWait)
	defer cancel()
	if err := client.Ready(ctx); err != nil {
		return []check{{"server", broken, oneLine(err.Error()), "no command reaches it", "is it running, and is the address right? " + a.server + "/readyz tells more"}}
	}
	checks := []check{{Name: "server", Status: fine, Text: a.server + " is ready"}, a.checkClock(ctx)}
	if c, told := clockByWorkers(ctx, client, "its NATS's"); told {
		checks = append(checks, c)
	}
	if _, err := client.Statuses(ctx); err != nil {
		checks = append(checks, check{"access", broken, oneLine(err.Error()), "queries cannot be read there", "give a token: --token-file FILE, BRAID_TOKEN, or a context with one"})
	} else {
		checks = append(checks, check{Name: "access", Status: fine, Text: "queries can be read"})
	}
	return checks
}

// checkClock compares our clock with the server's, which tells it in whole seconds.
func (a *app) checkClock(ctx context.Context) check {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment}
	defer transport.CloseIdleConnections()
	if a.caFile != "" {
		pool := x509.NewCertPool()
		if pem, err := a.authorities(); err == nil { // the server has been reached with them
			pool.AppendCertsFromPEM(pem)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	sent := time.Now()
	_, header, err := head(ctx, transport, http.MethodGet, strings.TrimRight(a.server, "/")+"/healthz")
	if err != nil {
		return check{Name: "clock", Status: doubtful, Text: "the server's clock cannot be read: " + err.Error()}
	}
	its, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return check{Name: "clock", Status: doubtful, Text: "the server does not tell its time"}
	}
	ours := sent.Add(time.Since(sent) / 2)
	return clockCheck("the server's", ours.Sub(its.Add(time.Second/2)), coarseDrift)
}

// checkReach asks each service whether it can be reached.
func (a *app) checkReach(ctx context.Context) []check {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: reachWait}
	defer transport.CloseIdleConnections()
	var checks []check
	for _, name := range a.definitions().Names() {
		d, err := a.definitions().Open(name)
		if err != nil {
			continue // told already
		}
		ctx, cancel := context.WithTimeout(ctx, reachWait)
		status, _, err := head(ctx, transport, http.MethodHead, d.BaseURL)
		cancel()
		if err != nil {
			checks = append(checks, check{"reach", broken, name + ": " + err.Error(), "queries of it are interrupted", "look at the network, HTTPS_PROXY, and the service's own status page"})
			continue
		}
		checks = append(checks, check{Name: "reach", Status: fine, Text: fmt.Sprintf("%s answers at %s (%s)", name, d.BaseURL, status)})
	}
	return checks
}

// head sends one request without a credential, follows no redirect, and gives the status and the header of the answer.
func head(ctx context.Context, transport http.RoundTripper, method, url string) (status string, header http.Header, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return "", nil, err
	}
	request.Header.Set("User-Agent", "braid")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "", nil, err
	}
	return response.Status, response.Header, response.Body.Close()
}
