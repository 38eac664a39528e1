//go:build unix

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Guarded is a user whom the server asks for a password. Everybody else is let in.
const Guarded = "guarded"

const patience = 60 * time.Second

// Server is a running server.
type Server struct {
	Dir   string // also of its socket
	cmd   *exec.Cmd
	stdin io.Closer
	as    *syscall.Credential
	bin   string // folder of its programs
}

// Start starts a server, to be stopped by Stop. When this process dies the server ends too.
func Start() (*Server, error) {
	dir, err := os.MkdirTemp(socketFolder(), "braid-pg-")
	if err != nil {
		return nil, fmt.Errorf("folder for PostgreSQL: %w", err)
	}
	s := &Server{Dir: dir}
	if err := s.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start PostgreSQL for the tests: %w", err), s.Stop())
	}
	return s, nil
}

// socketFolder is where the path of a socket is short enough.
func socketFolder() string {
	if dir := os.TempDir(); len(dir) < 60 {
		return dir
	}
	return "/tmp"
}

func (s *Server) start() error {
	if err := s.becomeAllowed(); err != nil {
		return err
	}
	bin, err := s.binaries()
	if err != nil {
		return err
	}
	data := filepath.Join(s.Dir, "data")
	initdb := s.command(filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	s.bin = bin
	hba := "local all " + Guarded + " scram-sha-256\nlocal all all trust\n"
	if err := os.WriteFile(filepath.Join(data, "pg_hba.conf"), []byte(hba), 0o644); err != nil {
		return err
	}
	return s.launch()
}

// launch runs the server on its folder.
func (s *Server) launch() error {
	// The shell reads from a pipe that closes when this process dies, however it does.
	s.cmd = s.command("/bin/sh", "-c", `"$@" </dev/null & child=$!; read -r _; kill -QUIT $child; wait $child`, "sh",
		filepath.Join(s.bin, "postgres"), "-D", filepath.Join(s.Dir, "data"), "-k", s.Dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "full_page_writes=off",
		"-c", "synchronous_commit=off", "-c", "shared_buffers=32MB", "-c", "max_connections=60", "-c", "autovacuum=off")
	log, err := os.OpenFile(filepath.Join(s.Dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the child has its own
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	return s.awaitReady()
}

func (s *Server) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, s.URL("postgres", "postgres"))
		if err == nil {
			_, err = conn.Exec(ctx, "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '"+Guarded+"') THEN CREATE ROLE "+Guarded+" LOGIN PASSWORD 'open sesame'; END IF; END $$")
			return errors.Join(err, conn.Close(ctx))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			text, _ := os.ReadFile(filepath.Join(s.Dir, "log"))
			return fmt.Errorf("it is not ready: %w\n%s", err, text)
		}
	}
}

// Stop ends the server and removes its folder.
func (s *Server) Stop() error {
	if s.stdin != nil {
		_ = s.stdin.Close()
		_ = s.cmd.Wait() // it is ended by a signal
	}
	return os.RemoveAll(s.Dir)
}

// URL is the connection string of a user and a database.
func (s *Server) URL(userName, database string) string {
	at := url.URL{Scheme: "postgres", User: url.User(userName), Path: "/" + database, RawQuery: url.Values{"host": {s.Dir}}.Encode()}
	return at.String()
}

// Database makes a database of the test's own and gives its name.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	conn := s.Connect(t, "postgres")
	var n int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_database").Scan(&n); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("t%d_%d", n, time.Now().UnixNano())
	if _, err := conn.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return name
}

// Connect gives a connection of the superuser that ends with the test.
func (s *Server) Connect(t testing.TB, database string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL("postgres", database))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// becomeAllowed finds whom to run the server as: it refuses to run as root.
func (s *Server) becomeAllowed() error {
	if os.Geteuid() != 0 {
		return nil
	}
	var other *user.User
	var err error
	for _, name := range []string{"postgres", "nobody"} {
		if other, err = user.Lookup(name); err == nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("PostgreSQL does not run as root, and there is no user postgres or nobody to run it as: %w", err)
	}
	uid, uidErr := strconv.ParseUint(other.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(other.Gid, 10, 32)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return err
	}
	s.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(s.Dir, int(uid), int(gid))
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), name, args...)
	cmd.Dir = s.Dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC", "HOME=" + s.Dir}
	if s.as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	}
	return cmd
}
