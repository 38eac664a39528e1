//go:build unix

package postgres

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Kill ends the server at once and without a word, as a machine that fails. Restart has it back.
func (s *Server) Kill() error {
	text, err := os.ReadFile(filepath.Join(s.Dir, "data", "postmaster.pid"))
	if err != nil {
		return fmt.Errorf("find the server to be killed: %w", err)
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	pid, err := strconv.Atoi(string(bytes.TrimSpace(first)))
	if err != nil {
		return fmt.Errorf("find the server to be killed: %w", err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the server: %w", err)
	}
	_ = s.stdin.Close()
	_ = s.cmd.Wait() // it was ended by a signal
	return nil
}

// Halt stops the server in an orderly way, and its clients' connections with it. Restart has it back.
func (s *Server) Halt() error {
	_ = s.stdin.Close()
	_ = s.cmd.Wait() // it is ended by a signal
	return nil
}

// Restart starts a server again that was killed or halted, on what it had.
func (s *Server) Restart() error { return s.launch() }
