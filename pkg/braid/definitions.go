package braid

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// Definitions finds service definitions: those in Dir first, then the built-in ones.
type Definitions struct {
	Dir  string            // folder of NAME.yaml files; empty or absent: none
	Base map[string]string // service name → base URL of a mirror or simulator that replaces the definition's own

	Library *service.Library // keeps what was opened; nil: each is opened anew
}

// Pinned gives the definition of a service as a query keeps it. An unknown name is an error that wraps
// ErrUnknownService and names the nearest ones.
func (d Definitions) Pinned(name string) ([]byte, error) {
	file, text, err := d.text(name)
	if err != nil {
		return nil, err
	}
	return d.Library.Pin(service.Pinned{File: file, Text: string(text), BaseURL: d.Base[name]})
}

// Open reads the definition of a service, at its own address or at the one that replaces it. Errors are those of Pinned.
func (d Definitions) Open(name string) (*service.Definition, error) {
	pinned, err := d.Pinned(name)
	if err != nil {
		return nil, err
	}
	return d.Library.Open(pinned)
}

// Text gives the definition of a service as it stands in its file, and the file's name. The error wraps ErrUnknownService
// when there is none.
func (d Definitions) Text(name string) (file string, text []byte, err error) { return d.text(name) }

// Names lists the services that there are.
func (d Definitions) Names() []string {
	names := map[string]bool{}
	for _, name := range service.BuiltinNames() {
		names[name] = true
	}
	if d.Dir != "" {
		files, _ := filepath.Glob(filepath.Join(d.Dir, "*.yaml")) // the pattern is well formed
		for _, file := range files {
			names[trimExt(filepath.Base(file))] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func (d Definitions) text(name string) (file string, text []byte, err error) {
	if err := messages.CheckName(name); err != nil {
		return "", nil, fmt.Errorf("service: %w", err)
	}
	if d.Dir != "" {
		file = filepath.Join(d.Dir, name+".yaml")
		text, err = readBounded(file, service.MaxDefinitionBytes)
		if err == nil {
			return file, text, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", nil, fmt.Errorf("service definition: %w", err)
		}
	}
	text, have := service.Builtin(name)
	if !have {
		return "", nil, fmt.Errorf("%w: there is no service %q%s", ErrUnknownService, name, strictyaml.DidYouMean(name, d.Names()))
	}
	return name + ".yaml (built in)", text, nil
}

// ErrUnknownService reports a service that has no definition.
var ErrUnknownService = errors.New("unknown service")

func trimExt(name string) string { return name[:len(name)-len(filepath.Ext(name))] }

func readBounded(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a folder", path)
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes, at most %d", path, info.Size(), limit)
	}
	return os.ReadFile(path)
}

// PlanConfig configures Plan. The zero value of each field is its default.
type PlanConfig struct {
	Definitions Definitions
	InFlight    messages.InFlight // requests at a time, whatever the query asks for; 0: nothing is set
	// DefaultInFlight holds where the query asks for no number, whatever the definition says; 0: nothing is set.
	DefaultInFlight messages.InFlight
	Lanes           int                 // most chunks at a time that all workers together take; 0: not known
	Getenv          func(string) string // where credentials are looked for
	ConfigDir       string              // folder of credential files
	Now             time.Time

	NamedAdapters map[string]Adapter // by the name that definitions give

	// Quotas tells how the pools stand, read only when the query's service has one; Unknown says why it cannot. Nil: it is not known.
	Quotas func() ([]messages.QuotaStanding, messages.Unknown)
}

// Plan checks and plans a query in this process: nothing is stored or sent. Credentials are looked for, because the quota
// depends on whether there is one, and are neither used nor told.
func Plan(cfg PlanConfig, spec *query.Spec) (*messages.PlanSummary, error) {
	return coordinator.Plan(cfg.Definitions, spec, coordinator.PlanOptions{
		InFlight: cfg.InFlight, DefaultInFlight: cfg.DefaultInFlight, Lanes: cfg.Lanes, Now: cfg.Now, HasKey: func(d *service.Definition) bool { return len(cfg.keys(d)) > 0 },
		Adapters: planning(cfg.NamedAdapters), Library: cfg.Definitions.Library, Standing: cfg.standing(),
	})
}

// standing finds the account to which requests of this process would be charged.
func (c PlanConfig) standing() func(*service.Definition, string) (*messages.QuotaStanding, messages.Unknown) {
	if c.Quotas == nil {
		return nil
	}
	read := sync.OnceValues(c.Quotas)
	return func(d *service.Definition, pool string) (*messages.QuotaStanding, messages.Unknown) {
		all, why := read()
		if why != "" {
			return nil, why
		}
		host, err := os.Hostname()
		if err != nil {
			host = "unknown"
		}
		charged, err := pools{fetch.CredentialSources{Getenv: c.Getenv, Dir: c.ConfigDir}.Resolve, hostName(host)}.of(d)()
		if err != nil {
			return nil, "the credential that it belongs to cannot be read"
		}
		for _, cfg := range charged {
			for i := range all {
				if cfg.Pool == pool && all[i].Pool == pool && all[i].Owner == cfg.Owner {
					return &all[i], ""
				}
			}
		}
		return nil, coordinator.NeverSpent
	}
}

// keys gives the credentials of a definition that are found and would be sent.
func (c PlanConfig) keys(d *service.Definition) []service.Credential {
	sources := fetch.CredentialSources{Getenv: c.Getenv, Dir: c.ConfigDir}
	return slices.DeleteFunc(d.CredentialsFor(d.BaseURL), func(credential service.Credential) bool {
		_, found, err := sources.Resolve(credential)
		return err != nil || !found
	})
}

// MissingKeys gives the credentials that a service demands and that are not found.
func (c PlanConfig) MissingKeys(d *service.Definition) []service.Credential {
	var missing []service.Credential
	found := c.keys(d)
	for _, credential := range d.CredentialsFor(d.BaseURL) {
		have := slices.ContainsFunc(found, func(k service.Credential) bool { return k.ID == credential.ID })
		if credential.Required && !have {
			missing = append(missing, credential)
		}
	}
	return missing
}
