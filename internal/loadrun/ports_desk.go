package loadrun

import (
	"context"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// Environments finds environments by the names of their services, as they stand now.
type Environments interface {
	// Environment's error wraps messages.ErrNotFound when no service has the name, and load.ErrInvalid when it has no environment or a wrong
	// one.
	Environment(name string) (*Definition, error)
	// EnvironmentNames lists the services that have an environment, sorted.
	EnvironmentNames() []string
}

// Definition is an environment with the service definition that it is from.
type Definition struct {
	Environment load.Environment
	Text        []byte // of the definition, as it is to be pinned
	Digest      string // of Text
	Adapter     string // that speaks to the service
}

// Services stores what workers need to know of services.
type Services interface {
	PutDefinition(ctx context.Context, digest string, text []byte) error
	// UpdateService changes a record by compare-and-set; edit sees nil when there is none, and returns nil to leave it.
	UpdateService(ctx context.Context, name string, edit func(*messages.Service) *messages.Service) error
}

// Observer hears what becomes of runs, to count it. Its methods are called by many at a time, and nothing waits for them.
type Observer interface {
	Started(environment string)
	Refused(environment, kind string) // a start, by its gate
	Ended(environment string, ending load.Ending)
}

// unobserved is an Observer that does not listen.
type unobserved struct{}

func (unobserved) Started(string)            {}
func (unobserved) Refused(string, string)    {}
func (unobserved) Ended(string, load.Ending) {}
