package braid_test

import (
	"bytes"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/httpapi"
	"github.com/braidhq/braid/pkg/access"
	"github.com/braidhq/braid/pkg/braid"
)

func tokenOf(t *testing.T, seed byte) string {
	t.Helper()
	token, err := access.NewToken(bytes.NewReader(bytes.Repeat([]byte{seed}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// guardedHandler is an API that knows one token, a reader's.
func guardedHandler(t *testing.T, d *desk, token string) http.Handler {
	t.Helper()
	digest, err := access.ParseToken(token)
	if err != nil {
		t.Fatal(err)
	}
	roster, err := access.NewRoster([]access.Entry{{Name: "rita", Role: access.Reader, SHA256: digest}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(file, roster.Encode(), 0o600); err != nil {
		t.Fatal(err)
	}
	who, err := httpapi.OpenAccess(httpapi.AccessConfig{Tokens: file})
	if err != nil {
		t.Fatal(err)
	}
	return httpapi.New(httpapi.Config{Access: who}, httpapi.Ports{Commands: d, Views: d, Tables: d})
}

func TestAClientSaysWhoItIsOverTLS(t *testing.T) {
	d := &desk{}
	server := httptest.NewUnstartedServer(guardedHandler(t, d, tokenOf(t, 1)))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it would tell of the client that does not trust it
	server.StartTLS()
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	client, err := braid.NewClient(server.URL, braid.WithToken(tokenOf(t, 1)+"\n"), braid.WithCA(ca))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	who, err := client.Whoami(t.Context())
	if err != nil || who.Name != "rita" || who.Role != access.Reader || !who.Auth {
		t.Errorf("got %+v, %v", who, err)
	}
	if _, err := client.Statuses(t.Context()); err != nil {
		t.Errorf("reading: %v", err)
	}
	_, err = client.Cancel(t.Context(), "q1")
	var refusal *braid.ServerError
	if !errors.Is(err, access.ErrForbidden) || !errors.As(err, &refusal) || refusal.Status != 403 || refusal.RequestID == "" || !strings.Contains(err.Error(), "queries:control-own") {
		t.Errorf("changing: %v", err)
	}
	stranger, err := braid.NewClient(server.URL, braid.WithToken(tokenOf(t, 2)), braid.WithCA(ca))
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	if _, err := stranger.Statuses(t.Context()); !errors.Is(err, access.ErrUnauthenticated) {
		t.Errorf("with another token: %v", err)
	}
	if _, err := stranger.Statuses(t.Context()); err == nil || strings.Contains(err.Error(), tokenOf(t, 2)[:20]) {
		t.Errorf("the error shows the token: %v", err)
	}
	trusting, err := braid.NewClient(server.URL, braid.WithToken(tokenOf(t, 1)))
	if err != nil {
		t.Fatal(err)
	}
	defer trusting.Close()
	if _, err := trusting.Statuses(t.Context()); !errors.Is(err, braid.ErrServer) {
		t.Errorf("a server of an unknown authority is trusted: %v", err)
	}
}

func TestATokenIsSentOnlyWhereNobodyReadsIt(t *testing.T) {
	token := tokenOf(t, 1)
	for url, want := range map[string]error{
		"https://braid.example.org": nil, "http://127.0.0.1:1": nil, "http://[::1]:1": nil, "http://LOCALHOST:1": nil, "http://127.9.9.9": nil,
		"http://braid.example.org": braid.ErrToken, "http://localhost.example.org": braid.ErrToken, "http://192.0.2.1": braid.ErrToken, "http://127.0.0.1.example.org": braid.ErrToken,
	} {
		_, err := braid.NewClient(url, braid.WithToken(token))
		if !errors.Is(err, want) || err != nil && (strings.Contains(err.Error(), token[:20]) || !strings.Contains(err.Error(), "https://")) {
			t.Errorf("%s: %v", url, err)
		}
		if _, err := braid.NewClient(url, braid.WithToken(token), braid.WithPlainToken()); err != nil {
			t.Errorf("%s, allowed: %v", url, err)
		}
	}
	for _, wrong := range []string{token[:54], "hunter2-a-password", token + " " + token} {
		if _, err := braid.NewClient("https://braid.example.org", braid.WithToken(wrong)); !errors.Is(err, braid.ErrToken) || strings.Contains(err.Error(), wrong[:7]) && wrong[:6] != "braid_" || strings.Contains(err.Error(), token[:20]) {
			t.Errorf("%v", err)
		}
	}
	if _, err := braid.NewClient("https://ana:secret@braid.example.org"); !errors.Is(err, braid.ErrURL) || !strings.Contains(err.Error(), "BRAID_TOKEN") || strings.Contains(err.Error(), "secret") {
		t.Errorf("a password: %v", err)
	}
}

func TestAnAuthorityThatIsNoneIsRefused(t *testing.T) {
	for name, options := range map[string][]braid.ClientOption{
		"text":                       {braid.WithCA([]byte("no PEM"))},
		"empty":                      {braid.WithCA([]byte{})},
		"with a client of one's own": {braid.WithHTTPClient(&http.Client{}), braid.WithCA([]byte("x"))},
	} {
		if _, err := braid.NewClient("https://braid.example.org", options...); !errors.Is(err, braid.ErrURL) || !strings.Contains(err.Error(), "authority") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARedirectDoesNotLeadTheTokenAway(t *testing.T) {
	var got []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = append(got, r.Header.Get("Authorization")) }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	client, err := braid.NewClient(server.URL, braid.WithToken(tokenOf(t, 1)))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Statuses(t.Context()); !errors.Is(err, braid.ErrServer) || len(got) > 0 {
		t.Errorf("%v; elsewhere got %d requests", err, len(got))
	}
}
