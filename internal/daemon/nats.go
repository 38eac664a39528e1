package daemon

import (
	"time"

	"github.com/spf13/pflag"
)

// NATS are the settings of the store that every daemon has.
type NATS struct {
	URL         string
	Credentials string
	Replicas    int
	Wait        time.Duration
}

// FlagsOn adds the settings to a daemon's flags.
func (n *NATS) FlagsOn(flags *pflag.FlagSet) {
	flags.StringVar(&n.URL, "nats-url", "nats://127.0.0.1:4222", "NATS server or cluster, with JetStream; several URLs are separated by commas")
	flags.StringVar(&n.Credentials, "nats-creds", "", "NATS credentials file")
	flags.IntVar(&n.Replicas, "replicas", 1, "replicas of streams that do not exist yet: 1, or 3 on a cluster")
	flags.DurationVar(&n.Wait, "nats-wait", 30*time.Second, "how long NATS may be away at the start")
}
