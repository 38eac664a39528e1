package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/braidhq/braid/internal/daemon"
	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
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
	inFlight    messages.InFlight
	servicesDir string
	scratchDir  string
	serviceURL  map[string]string
	durability  string
	replicas    int
	maxStore    settings.Size
	keep        settings.Age
}

func (c *config) flags(stderr io.Writer) *pflag.FlagSet {
	flags := c.Flags("coordinator", stderr)
	c.nats.FlagsOn(flags)
	flags.StringVar(&c.id, "id", "", "name of this coordinator (default: the host's name and some letters)")
	flags.StringVar(&c.listen, "listen", "127.0.0.1:8080", "host:port of the HTTP API")
	flags.BoolVar(&c.exposed, "allow-unauthenticated", false, "let other machines reach the API, where something in front of it authenticates")
	flags.StringSliceVar(&c.hosts, "hosts", nil, "host names that requests may call the API by, beside loopback's")
	flags.DurationVar(&c.leaseTTL, "lease-ttl", 30*time.Second, "a dead worker's slots are free again after this; whole seconds")
	settings.InFlightVar(flags, &c.inFlight, "in-flight", "requests in flight at each service over all workers, whatever queries ask for (default: as they and its definition say)")
	flags.StringVar(&c.servicesDir, "services-dir", "", "folder of service definitions, beside the built-in ones")
	flags.StringVar(&c.scratchDir, "scratch-dir", "", "folder for tables that do not fit into memory (default: the system's folder for temporary files)")
	flags.StringToStringVar(&c.serviceURL, "service-url", nil, "base URL of a mirror or simulator: `SERVICE=URL`; no credential is sent there")
	flags.StringVar(&c.durability, "durability", "", "what survives what: safe (one copy), cluster (three copies, on a NATS cluster), or fast; see docs/operations.md (default: as the streams are)")
	flags.IntVar(&c.replicas, "replicas", 0, "replicas of streams that do not exist yet")
	_ = flags.MarkDeprecated("replicas", "use --durability cluster") // the flag is there
	flags.Var(&c.maxStore, "max-store", "what all streams together may take, such as 20GB (default: as they were made, with no bound but the server's)")
	flags.Var(&c.keep, "keep", "how long queries that have ended are kept, such as 90d; interrupted ones stay (default: for ever)")
	return flags
}

// durable reads the durability of the streams.
func (c *config) durable() (braid.Durability, error) {
	d, err := braid.ParseDurability(c.durability)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: --durability: %w", daemon.ErrUsage, err)
	case d != "" && c.replicas > 0:
		return "", fmt.Errorf("%w: --replicas and --durability say the same thing; use --durability", daemon.ErrUsage)
	case c.replicas < 0 || c.replicas > 5:
		return "", fmt.Errorf("%w: --replicas is %d; use --durability cluster for three", daemon.ErrUsage, c.replicas)
	}
	return d, nil
}
