//go:build unix && !linux

package chaos

import (
	"errors"
	"testing"
)

var errNoNetwork = errors.New("networks are made on Linux alone")

func inNetwork(run func() int) int { return run() }

type network struct{ main, island string }

func newNetwork(*testing.T) (*network, error) { return nil, errNoNetwork }

func (n *network) address(int) string { return "" }

func (n *network) upstream() string { return "" }

func (n *network) newHost() (*host, error) { return nil, errNoNetwork }

type host struct {
	net     *network
	address string
	enter   []string
}

func (h *host) plug(string) error { return errNoNetwork }
