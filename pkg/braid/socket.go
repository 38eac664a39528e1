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
	listener, err := listenAt(ctx, dir)
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
		short, done, err := socketAddress(dir)
		if err != nil {
			return nil, err
		}
		defer done()
		return new(net.Dialer).DialContext(ctx, "unix", short)
	}}
	return NewClient("http://127.0.0.1", WithHTTPClient(&http.Client{Transport: transport}))
}

// longestSocket is how many bytes every system takes as the address of a socket.
const longestSocket = 100

// socketAddress is by which address the socket of a data directory is reached until done is called: its path, or, where that is longer
// than an address may be, one through the open directory, or from the working directory.
func socketAddress(dir string) (address string, done func(), err error) {
	path := filepath.Join(dir, socketName)
	if len(path) <= longestSocket {
		return path, func() {}, nil
	}
	opened, err := os.Open(dir) //nolint:gosec // the data directory is whoever's who runs this
	if err != nil {
		return "", nil, err
	}
	short := fmt.Sprintf("/proc/self/fd/%d", opened.Fd())
	if info, err := os.Stat(short); err == nil && info.IsDir() {
		return filepath.Join(short, socketName), func() { _ = opened.Close() }, nil
	}
	_ = opened.Close()
	if here, err := os.Getwd(); err == nil {
		if relative, err := filepath.Rel(here, path); err == nil && len(relative) < len(path) {
			path = relative
		}
	}
	return path, func() {}, nil // what it is too long for says so
}

func listenAt(ctx context.Context, dir string) (net.Listener, error) {
	address, done, err := socketAddress(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", address)
	if err != nil {
		return nil, err
	}
	if own, is := listener.(*net.UnixListener); is {
		own.SetUnlinkOnClose(false) // the address may lead nowhere by then
	}
	return &socket{listener, filepath.Join(dir, socketName)}, nil
}

// socket removes its file when it is closed.
type socket struct {
	net.Listener
	path string
}

// Close is the listener's.
func (s *socket) Close() error {
	if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, s.Listener.Close())
	}
	return s.Listener.Close()
}
