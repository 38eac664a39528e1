package braid

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
)

// socketName is the file in a data directory through which other processes of the same user speak to the one that has it.
const socketName = "api.sock"

// OpenSocket makes the API reachable for processes of the same user by a socket in the data directory. Only the process
// that has locked the directory may call it: a socket that is there already was left by one that has ended.
func (l *Local) OpenSocket(ctx context.Context, dir string, cfg APIConfig) (*API, error) {
	path := filepath.Join(dir, socketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("socket: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("socket: %w", err), listener.Close())
	}
	cfg.Hosts = nil
	return l.api(listener, cfg, door{}), nil // who may open the file may do everything
}

// NewSocketClient makes a client of the process that has the data directory. The error wraps ErrServer when there is none
// to speak to.
func NewSocketClient(dir string) (*Client, error) {
	path := filepath.Join(dir, socketName)
	if info, err := os.Stat(path); err != nil || info.Mode()&fs.ModeSocket == 0 {
		return nil, fmt.Errorf("%w: %s is no socket", ErrServer, path)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	return NewClient("http://127.0.0.1", WithHTTPClient(&http.Client{Transport: transport}))
}
