package main

import (
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/braidhq/braid/internal/daemon"
)

// config is all that can be set. Each flag is a variable BRAID_… and a key of the settings file too.
type config struct {
	daemon.Common
	nats        daemon.NATS
	id          string
	concurrency int
	grace       time.Duration
	holdBack    int64
	configDir   string
	health      string
}

func (c *config) flags(stderr io.Writer) *pflag.FlagSet {
	flags := c.Flags("worker", stderr)
	c.nats.FlagsOn(flags)
	flags.StringVar(&c.id, "id", "", "name of this worker (default: the host's name and some letters)")
	flags.IntVar(&c.concurrency, "concurrency", 32, "most chunks at once")
	flags.DurationVar(&c.grace, "grace", 20*time.Second, "after a stop, how long chunks in hand may take to finish before they are handed back")
	flags.Int64Var(&c.holdBack, "hold-back", 0, "units of each quota that this worker never spends, beside what definitions and queries say")
	flags.StringVar(&c.configDir, "config-dir", "", "folder of credential files that service definitions name")
	flags.StringVar(&c.health, "health", "", "host:port of /healthz, /readyz and /metrics (default: none)")
	return flags
}
