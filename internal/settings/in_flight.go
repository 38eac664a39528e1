package settings

import (
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/braidhq/braid/pkg/messages"
)

// InFlightVar adds a flag for a number of requests at a time, or for none that bounds them.
func InFlightVar(flags *pflag.FlagSet, n *messages.InFlight, name, usage string) {
	flags.Var((*inFlight)(n), name, usage+"; a `NUMBER or unbounded`")
}

type inFlight messages.InFlight

// grouped is a number whose digits are grouped, as other settings that are whole numbers may be written.
var grouped = regexp.MustCompile(`^[0-9]+(?:_[0-9]+)+$`)

// Set is pflag.Value's.
func (n *inFlight) Set(text string) error {
	if grouped.MatchString(text) {
		text = strings.ReplaceAll(text, "_", "")
	}
	return (*messages.InFlight)(n).UnmarshalText([]byte(text))
}

// String is pflag.Value's.
func (n *inFlight) String() string { return messages.InFlight(*n).String() }

// Type is pflag.Value's.
func (n *inFlight) Type() string { return "inFlight" }
