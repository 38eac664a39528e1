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
	tokens      string
	metricsOpen bool
	auditFile   string
	tls         braid.TLSFiles
	hosts       []string
	health      string
	leaseTTL    time.Duration
	inFlight    messages.InFlight
	servicesDir string
	scratchDir  string
	serviceURL  map[string]string
	durability  string
	replicas    int
	maxStore    settings.Size
	keep        settings.Age
	ledger      string
	ledgerPass  string // file
	getenv      func(string) string
}

func (c *config) flags(stderr io.Writer) *pflag.FlagSet {
	flags := c.Flags("coordinator", stderr)
	c.nats.FlagsOn(flags)
	flags.StringVar(&c.id, "id", "", "name of this coordinator (default: the host's name and some letters)")
	flags.StringVar(&c.listen, "listen", "127.0.0.1:8080", "host:port of the HTTP API")
	flags.StringVar(&c.tokens, "tokens", "", "file of the tokens that the API asks for; braid token new makes one (default: none, and the API listens on loopback alone)")
	flags.StringVar(&c.tls.Cert, "tls-cert", "", "file of the API's certificate, in PEM; it is read again when it changes (default: plain HTTP)")
	flags.StringVar(&c.tls.Key, "tls-key", "", "file of the certificate's key, in PEM")
	flags.StringVar(&c.tls.ClientCA, "tls-client-ca", "", "file of the authorities of which every client must have a certificate, in PEM (default: clients need none)")
	flags.StringVar(&c.auditFile, "audit-file", "", "file to which it is written who changes what; nothing is changed while that is not possible (default: the log alone)")
	flags.BoolVar(&c.metricsOpen, "metrics-open", false, "let everybody read /metrics, even when there are tokens")
	flags.BoolVar(&c.exposed, "allow-unauthenticated", false, "let other machines reach the API without tokens, where something in front of it authenticates")
	flags.StringSliceVar(&c.hosts, "hosts", nil, "host names that requests may call the API by, beside loopback's")
	flags.StringVar(&c.health, "health", "", "host:port of /healthz, /readyz and /metrics without tokens, for probes and Prometheus alone (default: beside the API only)")
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
	flags.StringVar(&c.ledger, "ledger", "", "PostgreSQL in which the ledger is kept, such as postgres://braid@db/braid, without a password; the variable BRAID_LEDGER_URL may hold one (default: as that says, else there is no ledger)")
	flags.StringVar(&c.ledgerPass, "ledger-password-file", "", "file of the ledger's password; it is read again at each connection")
	return flags
}

// checkDoor refuses settings of which one is of no use without another.
func (c *config) checkDoor() error {
	switch {
	case (c.tls.Cert == "") != (c.tls.Key == ""):
		return fmt.Errorf("%w: --tls-cert and --tls-key go together", daemon.ErrUsage)
	case c.tls.ClientCA != "" && c.tls.Cert == "":
		return fmt.Errorf("%w: --tls-client-ca needs --tls-cert and --tls-key", daemon.ErrUsage)
	}
	return nil
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
