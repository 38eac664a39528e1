package braid

import (
	"crypto/rand"
	"fmt"
	"os"
	"strings"
)

// queryID is eight letters and digits without those that are easily confused: short enough to type, and a taken one is
// refused by the store, so that it need not be unique by chance.
func queryID() string { return strings.ToLower(rand.Text()[:8]) }

// processID names a process for people, and is unique.
func processID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return fmt.Sprintf("%s-%s", hostName(host), strings.ToLower(rand.Text()[:6]))
}

// hostName writes a host's name as it may stand in names of ours.
func hostName(host string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, host)
	return strings.Trim(name[:min(len(name), 32)], "-")
}
