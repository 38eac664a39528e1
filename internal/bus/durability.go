package bus

import (
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Durability says what of the stored work survives what. docs/operations.md has the table of it.
type Durability string

// The durabilities. A killed process loses nothing with any of them.
const (
	// Fast has the embedded server flush to disk once a second: a crash of the system or a power cut may cost what was stored in
	// the last second or so.
	Fast Durability = "fast"
	// Safe has the embedded server flush at each write: nothing that was acknowledged is lost as long as the disk is not.
	Safe Durability = "safe"
	// Cluster keeps three copies on three servers, which flush as they are configured: one of them may be lost with its disk.
	Cluster Durability = "cluster"
)

// ErrDurability is wrapped when the server cannot give the durability that is asked for.
var ErrDurability = errors.New("the durability cannot be had")

// ParseDurability reads a durability. Empty is none: whoever asks with it takes what is there.
func ParseDurability(text string) (Durability, error) {
	switch d := Durability(text); d {
	case "", Fast, Safe, Cluster:
		return d, nil
	}
	return "", fmt.Errorf("durability is %.20q; use %s, %s or %s", text, Fast, Safe, Cluster)
}

const clusterReplicas = 3

// replicas is how many copies a stream is made with.
func (c AssetConfig) replicas() int {
	if c.Durability == Cluster {
		return clusterReplicas
	}
	return max(1, c.Replicas)
}

// adjusted gives the settings that a stream which exists is to have, with what is to be told of each that changes once it has. It
// tells now of each difference that stays. Copies are only ever added: to take some away, or to lower what is full, is for whoever
// operates the servers.
func (b *Bus) adjusted(have, want jetstream.StreamConfig, cfg AssetConfig) (next jetstream.StreamConfig, changes []func()) {
	next = have
	switch {
	case want.Replicas == have.Replicas:
	case want.Replicas > have.Replicas && cfg.Durability == Cluster:
		next.Replicas = want.Replicas
		changes = append(changes, func() {
			b.log.Info("a stream has got more replicas, as its durability asks", "stream", have.Name, "replicas", have.Replicas, "asked", want.Replicas)
		})
	case cfg.Durability != "" || cfg.Replicas > 0:
		b.log.Warn("a stream keeps the replicas that it was made with; durability cluster raises them, and nats stream edit --replicas lowers them",
			"stream", have.Name, "replicas", have.Replicas, "asked", want.Replicas)
	}
	switch {
	case want.MaxBytes == have.MaxBytes || cfg.Limits == Limits{}:
	case cfg.Resize && have.Discard == jetstream.DiscardNew:
		next.MaxBytes = want.MaxBytes
		changes = append(changes, func() {
			b.log.Info("a stream has got another limit", "stream", have.Name, "bytes", have.MaxBytes, "asked", want.MaxBytes)
		})
	case cfg.Resize:
		// One that discards what is old would do so at once.
		b.log.Warn("a stream keeps the limit that it was made with", "stream", have.Name, "bytes", have.MaxBytes, "asked", want.MaxBytes)
	}
	return next, changes
}
