package daemon

import (
	"time"

	"github.com/spf13/pflag"
)

// NATS are the settings of the store that every daemon has.
type NATS struct {
	URL         string
	Credentials string
	NKey        string
	CA          string
	Cert, Key   string
	Wait        time.Duration
}

// FlagsOn adds the settings to a daemon's flags.
func (n *NATS) FlagsOn(flags *pflag.FlagSet) {
	flags.StringVar(&n.URL, "nats-url", "nats://127.0.0.1:4222", "NATS server or cluster, with JetStream; several URLs are separated by commas")
	flags.StringVar(&n.Credentials, "nats-creds", "", "NATS credentials file")
	flags.StringVar(&n.NKey, "nats-nkey", "", "file with the seed of an nkey, instead of a credentials file")
	flags.StringVar(&n.CA, "nats-ca", "", "file with the certificates that the server's is to be signed by (default: the system's)")
	flags.StringVar(&n.Cert, "nats-cert", "", "file with a certificate of our own, for a server that asks for one")
	flags.StringVar(&n.Key, "nats-key", "", "file with the key of --nats-cert")
	flags.DurationVar(&n.Wait, "nats-wait", 30*time.Second, "how long NATS, and for a worker its streams, may be away at the start")
}
