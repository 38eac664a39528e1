package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/braidhq/braid/pkg/messages"
)

// Errors of the embedded server.
var (
	ErrDirInUse = errors.New("the data directory is in use by another process")
	ErrDir      = errors.New("the data directory cannot be used")
	ErrListen   = errors.New("the address cannot be listened on")
)

// ServerConfig configures the embedded server. The zero value of each field is its default.
type ServerConfig struct {
	Dir      string // data directory, required; made when absent, mode 0700, locked against a second process
	Listen   string // host:port for workers in other processes; empty: no port at all
	MaxStore int64  // bytes that the streams may take on disk; 0: 80 % of what is free
	// Durability is Fast or Safe; empty is Safe. Cluster is refused: this server is alone.
	Durability Durability
	StartWait  time.Duration
	Log        *slog.Logger
}

// Server is an embedded NATS server with JetStream.
type Server struct {
	nats  *server.Server
	lock  *flock.Flock
	dir   string
	max   int64
	asked bool       // for max
	full  chan error // holds the first refusal for want of room
}

const minStore = 64 << 20

// StartServer locks the data directory and starts a server on it. Errors wrap ErrDir, ErrDirInUse, ErrListen, ErrDurability or
// messages.ErrStoreFull.
func StartServer(ctx context.Context, cfg ServerConfig) (*Server, error) {
	if cfg.StartWait == 0 {
		cfg.StartWait = 30 * time.Second
	}
	if cfg.Durability == Cluster {
		return nil, fmt.Errorf("%w: the server in this process is alone, and cluster needs three; use fast or safe, or a coordinator on a NATS cluster", ErrDurability)
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDir, cfg.Dir, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w; choose another with --data-dir", ErrDir, err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	s, err := start(ctx, cfg, dir)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	s.lock = lock
	return s, nil
}

func lockDir(dir string) (*flock.Flock, error) {
	path := filepath.Join(dir, "lock")
	lock := flock.New(path, flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("%w: lock %s: %w; choose another with --data-dir", ErrDir, path, err)
	}
	if locked {
		noteHolder(path)
		return lock, nil
	}
	return nil, fmt.Errorf("%w: %s%s; wait for it to end: two at once would not keep a service's cap together", ErrDirInUse, dir, holder(path))
}

func start(ctx context.Context, cfg ServerConfig, dir string) (*Server, error) {
	store := filepath.Join(dir, "jetstream")
	limit, err := storeLimit(cfg.MaxStore, dir, store)
	if err != nil {
		return nil, err
	}
	most := limit
	if cfg.MaxStore > 0 {
		// The streams' own limits hold what was asked for. The server weighs those that they still have, which may be more.
		most += 1 << 50
	}
	opts := &server.Options{
		ServerName: "braid-embedded", DontListen: cfg.Listen == "",
		JetStream: true, StoreDir: store, JetStreamMaxStore: most, JetStreamMaxMemory: 64 << 20,
		SyncAlways: cfg.Durability != Fast, SyncInterval: time.Second, NoSigs: true,
	}
	if cfg.Listen != "" {
		if opts.Host, opts.Port, err = listenAddress(ctx, cfg.Listen); err != nil {
			return nil, err
		}
	}
	if err := forgetIndexes(store); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDir, err)
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		return nil, fmt.Errorf("start the embedded NATS server in %s: %w", dir, err)
	}
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	full := make(chan error, 1)
	srv.SetLoggerV2(serverLog{log, full}, false, false, false)
	go srv.Start() // ends with Close, which waits for it
	if !srv.ReadyForConnections(cfg.StartWait) || !srv.JetStreamEnabled() {
		srv.Shutdown()
		srv.WaitForShutdown()
		return nil, fmt.Errorf("%w: JetStream did not start in %s; is it writable, and is there space?", ErrDir, dir)
	}
	return &Server{nats: srv, dir: dir, max: limit, asked: cfg.MaxStore > 0, full: full}, nil
}

// forgetIndexes makes the server read the blocks of its streams, and check them, instead of trusting what it noted of them
// when it was last stopped: a message that was damaged since is then known to be gone. A million results take it a second
// or two.
func forgetIndexes(store string) error {
	indexes, err := filepath.Glob(filepath.Join(store, "jetstream", "*", "streams", "*", "msgs", "index.db"))
	if err != nil {
		return err
	}
	for _, index := range indexes {
		if err := os.Remove(index); err != nil {
			return err
		}
	}
	return nil
}

// listenAddress finds out now, with a clear error, what the server would only log later.
func listenAddress(ctx context.Context, address string) (string, int, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("%w: %s: %w; write it as host:port", ErrListen, address, err)
	}
	number, err := strconv.Atoi(port)
	if err != nil || number < 0 || number > 65535 {
		return "", 0, fmt.Errorf("%w: %s: the port must be a number from 0 to 65535", ErrListen, address)
	}
	var lc net.ListenConfig
	probe, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return "", 0, fmt.Errorf("%w: %w; choose another address", ErrListen, err)
	}
	if err := probe.Close(); err != nil {
		return "", 0, fmt.Errorf("%w: %w", ErrListen, err)
	}
	if number == 0 {
		number = server.RANDOM_PORT
	}
	return host, number, nil
}

// ClientURL is the address for workers in other processes; empty without a port.
func (s *Server) ClientURL() string {
	if s.nats.Addr() == nil {
		return ""
	}
	return s.nats.ClientURL()
}

// Watch returns when ctx ends, or when no more can be stored: the disk or a stream is full, and a stream that could not
// write stays closed until the server is started again. Then the error wraps messages.ErrStoreFull.
func (s *Server) Watch(ctx context.Context) error {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-s.full:
			return s.fullBecause(err)
		case <-tick.C:
			if s.nats.Running() && !s.nats.JetStreamEnabled() {
				return fmt.Errorf("%w: no more can be written in %s; free some space there, then resume", messages.ErrStoreFull, s.dir)
			}
		}
	}
}

// Close stops the server, waits for it and unlocks the data directory.
func (s *Server) Close() error {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
	if err := s.lock.Unlock(); err != nil {
		return fmt.Errorf("unlock %s: %w", s.dir, err)
	}
	return nil
}

// serverLog passes on what the server warns of; the rest of its log is of no use to a person with one process. A store
// that cannot be written is told nowhere else: the publish that met it gets no answer, and the stream stays closed until
// the server is started again.
type serverLog struct {
	log  *slog.Logger
	full chan<- error
}

func (l serverLog) Noticef(string, ...any) {}
func (l serverLog) Debugf(string, ...any)  {}
func (l serverLog) Tracef(string, ...any)  {}
func (l serverLog) Warnf(f string, a ...any) {
	l.log.Warn("nats server", "message", fmt.Sprintf(f, a...))
}

func (l serverLog) Fatalf(f string, a ...any) { l.Errorf(f, a...) }

func (l serverLog) Errorf(f string, a ...any) {
	message := fmt.Sprintf(f, a...)
	l.log.Warn("nats server", "message", message)
	if strings.Contains(strings.ToLower(message), "critical write error") {
		select {
		case l.full <- fmt.Errorf("%w: %s", messages.ErrStoreFull, cause(message)):
		default:
		}
	}
}

// cause is the last part of a message, which says what the system said.
func cause(message string) string {
	return strings.TrimSpace(message[strings.LastIndex(message, ": ")+1:])
}
