package httpapi_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/httpapi"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// pair gives a certificate and its key, in PEM.
func (a *authority) pair(t *testing.T, serial int64) (cert, key []byte) {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "braid"}, DNSNames: []string{"localhost", "braid.example.org"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &private.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

func writeFile(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// secured is an API over TLS that asks for tokens.
type secured struct {
	authority *authority
	files     httpapi.TLSFiles
	tls       *httpapi.TLS
	address   string
	log       *locked
}

func secure(t *testing.T, withClientCA bool) *secured {
	t.Helper()
	dir := t.TempDir()
	s := &secured{authority: newAuthority(t), files: httpapi.TLSFiles{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}, log: &locked{}}
	cert, key := s.authority.pair(t, 10)
	writeFile(t, s.files.Cert, cert)
	writeFile(t, s.files.Key, key)
	if withClientCA {
		s.files.ClientCA = filepath.Join(dir, "ca.pem")
		writeFile(t, s.files.ClientCA, s.authority.pem())
	}
	log := slog.New(slog.NewTextHandler(s.log, nil))
	var err error
	if s.tls, err = httpapi.OpenTLS(s.files, log); err != nil {
		t.Fatal(err)
	}
	tokens := filepath.Join(dir, "tokens.yaml")
	writeTokens(t, tokens, people(t)...)
	who, err := httpapi.OpenAccess(httpapi.AccessConfig{Tokens: tokens})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := httpapi.Address{Addr: "127.0.0.1:0", Authenticated: true, TLS: s.tls}.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() {
		done <- httpapi.Serve(ctx, listener, (&desk{}).handler(httpapi.Config{Access: who, Hosts: []string{"braid.example.org"}}), log)
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	s.address = listener.Addr().String()
	return s
}

// ask asks over a connection of its own.
func (s *secured) ask(t *testing.T, method, path, body string, config *tls.Config, edit ...func(*http.Request)) (*http.Response, string, error) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), method, "https://"+s.address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, e := range edit {
		e(request)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response, string(text), err
}

func TestTheAPIIsServedOverTLSAndHTTP2(t *testing.T) {
	s := secure(t, false)
	trusted := &tls.Config{RootCAs: s.authority.pool()}
	response, body, err := s.ask(t, "GET", "/v1/whoami", "", trusted, bearer(tokenOf(t, adminSeed)))
	if err != nil || response.StatusCode != 200 || response.ProtoMajor != 2 || response.TLS.Version < tls.VersionTLS12 {
		t.Fatalf("%v: %+v %s", err, response, body)
	}
	if got := response.Header.Get("Strict-Transport-Security"); got != "" {
		t.Errorf("this machine's own name is bound to TLS for all of its ports: %s", got)
	}
	response, body, err = s.ask(t, "GET", "/healthz", "", trusted, func(r *http.Request) { r.Host = "braid.example.org" })
	if err != nil || response.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("%v: %v %s", err, response, body)
	}
	response, body, err = s.ask(t, "POST", "/login", `{"token":"`+tokenOf(t, adminSeed)+`"}`, trusted)
	if err != nil || len(response.Cookies()) != 1 || !response.Cookies()[0].Secure || response.Cookies()[0].Name != "__Host-braid_session" {
		t.Fatalf("%v: %v %s", err, response, body)
	}
	cookie := response.Cookies()[0]
	if response, body, err = s.ask(t, "GET", "/v1/whoami", "", trusted, with(cookie)); err != nil || !strings.Contains(body, `"ada"`) {
		t.Errorf("%v: %v %s", err, response, body)
	}
	cookie.Name = "braid_session" // one that plain HTTP could have set
	if response, body, err = s.ask(t, "GET", "/v1/whoami", "", trusted, with(cookie)); err != nil || response.StatusCode != 401 {
		t.Errorf("%v: %v %s", err, response, body)
	}
}

func TestWhatIsNotSafeIsNotSpoken(t *testing.T) {
	s := secure(t, false)
	if _, _, err := s.ask(t, "GET", "/healthz", "", &tls.Config{RootCAs: s.authority.pool(), MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
	if _, _, err := s.ask(t, "GET", "/healthz", "", &tls.Config{RootCAs: newAuthority(t).pool()}); err == nil {
		t.Error("the test trusts anybody")
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.address+"/healthz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil || response.StatusCode != http.StatusBadRequest {
		t.Errorf("plain HTTP is answered: %v, %v", response, err)
	}
	if response != nil {
		_ = response.Body.Close()
	}
}

func TestACertificateIsReadAgain(t *testing.T) {
	s := secure(t, false)
	serial := func() int64 {
		response, _, err := s.ask(t, "GET", "/healthz", "", &tls.Config{RootCAs: s.authority.pool()})
		if err != nil {
			t.Fatal(err)
		}
		return response.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	cert, key := s.authority.pair(t, 11)
	writeFile(t, s.files.Cert, cert)
	s.tls.Refresh() // the certificate is there, its key is not yet
	s.tls.Refresh()
	if told := strings.Count(s.log.String(), "cannot be used"); serial() != 10 || told != 1 {
		t.Errorf("half of a pair is shown, or told of %d times", told)
	}
	writeFile(t, s.files.Key, key)
	s.tls.Refresh()
	if serial() != 11 {
		t.Error("the new one is not shown")
	}
	if err := os.Remove(s.files.Key); err != nil {
		t.Fatal(err)
	}
	s.tls.Refresh()
	if serial() != 11 {
		t.Error("without a key nothing is shown any more")
	}
}

func TestWhereClientsNeedACertificateNobodyElseIsAnswered(t *testing.T) {
	s := secure(t, true)
	if _, _, err := s.ask(t, "GET", "/healthz", "", &tls.Config{RootCAs: s.authority.pool()}); err == nil {
		t.Error("a client without certificate is answered")
	}
	show := func(a *authority) *tls.Config {
		cert, key := a.pair(t, 20)
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		return &tls.Config{RootCAs: s.authority.pool(), Certificates: []tls.Certificate{pair}}
	}
	if _, _, err := s.ask(t, "GET", "/healthz", "", show(newAuthority(t))); err == nil {
		t.Error("a certificate of somebody else is taken")
	}
	if response, body, err := s.ask(t, "GET", "/v1/queries", "", show(s.authority)); err != nil || response.StatusCode != 401 {
		t.Errorf("a certificate stands for no token: %v, %v %s", err, response, body)
	}
	if response, body, err := s.ask(t, "GET", "/v1/queries", "", show(s.authority), bearer(tokenOf(t, readerSeed))); err != nil || response.StatusCode != 200 {
		t.Errorf("%v, %v %s", err, response, body)
	}
}

func TestFilesThatAreNoCertificateAreRefused(t *testing.T) {
	dir := t.TempDir()
	cert, key := newAuthority(t).pair(t, 1)
	other, _ := newAuthority(t).pair(t, 2)
	for name, data := range map[string][]byte{"cert": cert, "key": key, "other": other, "empty": nil, "both": bytes.Join([][]byte{cert, key}, nil)} {
		writeFile(t, filepath.Join(dir, name), data)
	}
	at := func(name string) string {
		if name == "" {
			return ""
		}
		return filepath.Join(dir, name)
	}
	for _, c := range []struct {
		cert, key, clientCA string
		ok                  bool
	}{
		{"cert", "key", "", true},
		{"both", "both", "", true},
		{"cert", "key", "cert", true},
		{"cert", "", "", false},
		{"", "key", "", false},
		{"other", "key", "", false},
		{"key", "cert", "", false},
		{"empty", "key", "", false},
		{"cert", "none", "", false},
		{"cert", "key", "empty", false},
		{"cert", "key", "none", false},
	} {
		if _, err := httpapi.OpenTLS(httpapi.TLSFiles{Cert: at(c.cert), Key: at(c.key), ClientCA: at(c.clientCA)}, nil); (err == nil) != c.ok {
			t.Errorf("%q, %q, %q: %v", c.cert, c.key, c.clientCA, err)
		}
	}
}

func TestTokensAllowOtherMachines(t *testing.T) {
	// The wildcard is opened and closed at once; nothing is served there.
	listener, err := httpapi.Address{Addr: ":0", Authenticated: true}.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
}
