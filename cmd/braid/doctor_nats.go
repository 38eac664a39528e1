package main

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/settings"
)

// natsFlagsOn adds the flags of the NATS server that other processes use, named as theirs are. They are no settings here: a
// machine with a worker's settings has a server of its own all the same.
func natsFlagsOn(flags *pflag.FlagSet, nats *bus.Config) {
	flags.StringVar(&nats.URL, "nats-url", "", "check this NATS server or cluster too; several URLs are separated by commas")
	names := []string{"nats-url"}
	for _, file := range []struct {
		path        *string
		name, usage string
	}{
		{&nats.Credentials, "nats-creds", "NATS credentials file, with --nats-url"},
		{&nats.NKey, "nats-nkey", "file with the seed of an nkey, instead of a credentials file"},
		{&nats.CA, "nats-ca", "file with the certificates that NATS's is to be signed by (default: the system's)"},
		{&nats.Cert, "nats-cert", "file with a certificate of our own, for a NATS server that asks for one"},
		{&nats.Key, "nats-key", "file with the key of --nats-cert"},
	} {
		flags.StringVar(file.path, file.name, "", file.usage)
		names = append(names, file.name)
	}
	settings.OnlyFlags(flags, names...)
}

// checkNATS tells whether a NATS server can be reached, has JetStream, and has our time.
func checkNATS(ctx context.Context, nats bus.Config) []check {
	nats.Name, nats.Timeout = "braid doctor", reachWait
	ctx, cancel := context.WithTimeout(ctx, reachWait)
	defer cancel()
	b, err := bus.Connect(ctx, nats)
	if err != nil {
		return []check{{"nats", broken, oneLine(err.Error()), "no coordinator and no worker reaches it from here", "is it running, and are address and credentials right?"}}
	}
	defer b.Close()
	checks := []check{{Name: "nats", Status: fine, Text: "it is reached, and has JetStream"}}
	before, err := b.Drift(ctx)
	if err != nil {
		return append(checks, check{
			"clock", doubtful, "NATS's clock cannot be read: " + oneLine(err.Error()), "a difference would not be seen", "start a coordinator once: it makes the streams",
		})
	}
	return append(checks, clockCheck("NATS's", before, fineDrift))
}
