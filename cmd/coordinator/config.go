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
	listen      string
	exposed     bool
	hosts       []string
	leaseTTL    time.Duration
	inFlight    int
	servicesDir string
	scratchDir  string
	serviceURL  map[string]string
}

func (c *config) flags(stderr io.Writer) *pflag.FlagSet {
	flags := c.Flags("coordinator", stderr)
	c.nats.FlagsOn(flags)
	flags.StringVar(&c.id, "id", "", "name of this coordinator (default: the host's name and some letters)")
	flags.StringVar(&c.listen, "listen", "127.0.0.1:8080", "host:port of the HTTP API")
	flags.BoolVar(&c.exposed, "allow-unauthenticated", false, "let other machines reach the API, where something in front of it authenticates")
	flags.StringSliceVar(&c.hosts, "hosts", nil, "host names that requests may call the API by, beside loopback's")
	flags.DurationVar(&c.leaseTTL, "lease-ttl", 30*time.Second, "a dead worker's slots are free again after this; whole seconds")
	flags.IntVar(&c.inFlight, "in-flight", 0, "requests in flight at each service over all workers (default: as its definition says)")
	flags.StringVar(&c.servicesDir, "services-dir", "", "folder of service definitions, beside the built-in ones")
	flags.StringVar(&c.scratchDir, "scratch-dir", "", "folder for tables that do not fit into memory (default: the system's folder for temporary files)")
	flags.StringToStringVar(&c.serviceURL, "service-url", nil, "base URL of a mirror or simulator: `SERVICE=URL`; no credential is sent there")
	return flags
}
