package braid

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// Definitions finds service definitions: those in Dir first, then the built-in ones.
type Definitions struct {
	Dir  string            // folder of NAME.yaml files; empty or absent: none
	Base map[string]string // service name → base URL of a mirror or simulator that replaces the definition's own
}

// Pinned gives the definition of a service as a query keeps it. An unknown name is an error that wraps
// ErrUnknownService and names the nearest ones.
func (d Definitions) Pinned(name string) ([]byte, error) {
	file, text, err := d.text(name)
	if err != nil {
		return nil, err
	}
	return service.Pinned{File: file, Text: string(text), BaseURL: d.Base[name]}.Encode()
}

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

// Plan checks and plans a query in this process: nothing is stored or sent.
func Plan(d Definitions, spec *query.Spec, now time.Time) (*messages.PlanSummary, error) {
	return coordinator.Plan(d, spec, 0, now)
}
