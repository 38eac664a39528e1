package httpapi

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
)

// TLSFiles name the files of the server's certificate, in PEM.
type TLSFiles struct {
	Cert     string // its certificate, and those of the authorities between it and the root
	Key      string
	ClientCA string // authorities of clients' certificates: whoever has none of theirs is not answered; empty: clients need none
}

// TLS is the server's side of TLS: at least version 1.2, and HTTP/2. It reads its files again when they change; connections that are
// open stay as they are. It is safe for concurrent use.
type TLS struct {
	files   TLSFiles
	log     *slog.Logger
	current atomic.Pointer[tls.Config]

	mu   sync.Mutex
	read [sha256.Size]byte // digest of what was read last, good or not
}

// OpenTLS reads the files.
func OpenTLS(files TLSFiles, log *slog.Logger) (*TLS, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if files.Cert == "" || files.Key == "" {
		return nil, errors.New("TLS needs both a certificate and its key")
	}
	t := &TLS{files: files, log: log}
	if info, err := os.Stat(files.Key); err == nil && (readByOthers(info) || hasModes() && info.Mode().Perm()&0o033 != 0) {
		log.Warn("others may read or write the key of the certificate; chmod 600 it, or 640 where it is root's and its group this server's", "file", files.Key, "mode", fmt.Sprintf("%04o", info.Mode().Perm()))
	}
	contents, err := t.readFiles()
	if err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	config, err := t.configOf(contents)
	if err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	t.read = contents.digest()
	t.current.Store(config)
	return t, nil
}

type tlsContents struct{ cert, key, clientCA []byte }

func (c tlsContents) digest() [sha256.Size]byte {
	return sha256.Sum256(bytes.Join([][]byte{c.cert, c.key, c.clientCA}, []byte{0}))
}

func (t *TLS) readFiles() (contents tlsContents, err error) {
	if contents.cert, err = os.ReadFile(t.files.Cert); err != nil {
		return contents, err
	}
	if contents.key, err = os.ReadFile(t.files.Key); err != nil {
		return contents, err
	}
	if t.files.ClientCA != "" {
		contents.clientCA, err = os.ReadFile(t.files.ClientCA)
	}
	return contents, err
}

func (t *TLS) configOf(contents tlsContents) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(contents.cert, contents.key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", t.files.Cert, t.files.Key, err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if t.files.ClientCA != "" {
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(contents.clientCA) {
			return nil, fmt.Errorf("%s has no certificate in PEM", t.files.ClientCA)
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}

// Refresh reads the files again. Of ones that cannot be used the log is told, and what was read before holds on.
func (t *TLS) Refresh() {
	t.mu.Lock()
	defer t.mu.Unlock()
	contents, err := t.readFiles()
	seen := contents.digest()
	if err != nil {
		seen = sha256.Sum256([]byte(err.Error()))
	}
	if seen == t.read {
		return
	}
	t.read = seen
	var config *tls.Config
	if err == nil {
		config, err = t.configOf(contents)
	}
	if err != nil {
		t.log.Error("the files of the certificate cannot be used; the one before is shown on", "error", err)
		return
	}
	t.current.Store(config)
	t.log.Info("the files of the certificate were read again", "file", t.files.Cert)
}

// config gives each connection the files as they are when it begins.
func (t *TLS) config() *tls.Config {
	first := t.current.Load()
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: slices.Clone(first.NextProtos),
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return t.current.Load(), nil },
	}
}
