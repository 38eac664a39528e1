package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/pkg/access"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
	"github.com/braidhq/braid/pkg/strictyaml"
)

func TestFieldsThatMustNotComeAreNoInternalError(t *testing.T) {
	err := fmt.Errorf("table of q: %w: 1 that no field declares (surplus)", query.ErrTable)
	if code := exitCode(t.Context(), err); code != exitIncomplete {
		t.Errorf("exit code %d, want %d", code, exitIncomplete)
	}
}

type coded struct {
	err  error
	code int
}

// codes is the exit code of every sentinel of the packages that a command can get errors from.
func codes() map[string]coded {
	return map[string]coded{
		"access.ErrForbidden": {access.ErrForbidden, exitCredentials}, "access.ErrUnauthenticated": {access.ErrUnauthenticated, exitCredentials},
		"access.ErrUnknown": {access.ErrUnknown, exitCredentials}, "access.ErrExpired": {access.ErrExpired, exitCredentials}, "access.ErrMalformed": {access.ErrMalformed, exitCredentials},
		"braid.ErrServer": {braid.ErrServer, exitInternal}, "braid.ErrAuthority": {braid.ErrAuthority, exitInternal}, "braid.ErrURL": {braid.ErrURL, exitUsage}, "braid.ErrToken": {braid.ErrToken, exitUsage},
		"braid.ErrUnknownService": {braid.ErrUnknownService, exitUsage}, "braid.ErrNoLeader": {braid.ErrNoLeader, exitInternal},
		"bus.ErrDurability": {bus.ErrDurability, exitUsage}, "bus.ErrIdentity": {bus.ErrIdentity, exitCredentials}, "bus.ErrDenied": {bus.ErrDenied, exitCredentials},
		"bus.ErrNoStreams": {bus.ErrNoStreams, exitInternal}, "bus.ErrDirInUse": {bus.ErrDirInUse, exitInternal}, "bus.ErrDir": {bus.ErrDir, exitInternal},
		"bus.ErrListen":       {bus.ErrListen, exitInternal},
		"messages.ErrInvalid": {messages.ErrInvalid, exitInternal}, "messages.ErrVersion": {messages.ErrVersion, exitInternal},
		"messages.ErrNotFound": {messages.ErrNotFound, exitUsage}, "messages.ErrConflict": {messages.ErrConflict, exitInternal}, "messages.ErrExists": {messages.ErrExists, exitInternal},
		"messages.ErrDamaged": {messages.ErrDamaged, exitIncomplete}, "messages.ErrStoreFull": {messages.ErrStoreFull, exitPaused},
		"messages.ErrUnreachable": {messages.ErrUnreachable, exitInternal}, "messages.ErrName": {messages.ErrName, exitUsage},
		"messages.ErrPosition": {messages.ErrPosition, exitUsage}, "messages.ErrInFlight": {messages.ErrInFlight, exitUsage},
		"planner.ErrTooMany": {planner.ErrTooMany, exitUsage}, "planner.ErrMaxChunks": {planner.ErrMaxChunks, exitUsage},
		"planner.ErrUnsplittable": {planner.ErrUnsplittable, exitUsage}, "planner.ErrBrokenPlan": {planner.ErrBrokenPlan, exitInternal},
		"query.ErrColumn": {query.ErrColumn, exitUsage}, "query.ErrInvalid": {query.ErrInvalid, exitUsage}, "query.ErrState": {query.ErrState, exitUsage},
		"query.ErrIncomplete": {query.ErrIncomplete, exitIncomplete}, "query.ErrTable": {query.ErrTable, exitIncomplete},
		"query.ErrRepeated":  {query.ErrRepeated, exitInternal}, // it comes with the query, and no command ends with it
		"query.ErrKeyReused": {query.ErrKeyReused, exitUsage}, "query.ErrAmbiguous": {query.ErrAmbiguous, exitUsage},
		"query.ErrFingerprint": {query.ErrFingerprint, exitUsage}, "query.ErrSpec": {query.ErrSpec, exitUsage},
		"service.ErrNotEstimated": {service.ErrNotEstimated, exitInternal}, "service.ErrNotNarrowed": {service.ErrNotNarrowed, exitUsage},
		"service.ErrUnknownCollection": {service.ErrUnknownCollection, exitUsage}, "service.ErrUnknownParameter": {service.ErrUnknownParameter, exitUsage},
		"service.ErrMissingParameter": {service.ErrMissingParameter, exitUsage}, "service.ErrInvalidValue": {service.ErrInvalidValue, exitUsage},
		"service.ErrUnsafeBase": {service.ErrUnsafeBase, exitUsage}, "service.ErrLink": {service.ErrLink, exitInternal}, "service.ErrPinned": {service.ErrPinned, exitInternal},
		"strictyaml.ErrInvalid": {strictyaml.ErrInvalid, exitUsage},
	}
}

func TestEverySentinelHasAnExitCode(t *testing.T) {
	known, found := codes(), map[string]bool{}
	for _, dir := range []string{"internal/bus", "pkg/access", "pkg/braid", "pkg/messages", "pkg/planner", "pkg/query", "pkg/service", "pkg/strictyaml"} {
		for _, name := range sentinels(t, filepath.FromSlash("../../"+dir)) {
			name = filepath.Base(dir) + "." + name
			found[name] = true
			if _, ok := known[name]; !ok {
				t.Errorf("%s has no exit code", name)
			}
		}
	}
	for name, c := range known {
		if !found[name] {
			t.Errorf("there is no %s", name)
		}
		if code := exitCode(t.Context(), fmt.Errorf("what was done: %w", c.err)); code != c.code {
			t.Errorf("%s: exit code %d, want %d", name, code, c.code)
		}
	}
}

// sentinels are the exported errors of a package.
func sentinels(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					if strings.HasPrefix(name.Name, "Err") {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}

func TestEveryTypedErrorHasAnExitCode(t *testing.T) {
	for name, c := range map[string]coded{
		"a parameter of the API": {&query.ParameterError{Name: "limit", Message: "too large"}, exitUsage},
		"a field of a query":     {&query.SpecError{Field: "where", Problem: service.ErrUnknownParameter}, exitUsage},
		"a value":                {&service.ValueError{Parameter: "time", Err: service.ErrInvalidValue}, exitUsage},
		"values":                 {service.ValueErrors{{Parameter: "time", Err: service.ErrMissingParameter}}, exitUsage},
		"what cannot be divided": {new(planner.UnsplittableError), exitUsage},
		"a file":                 {strictyaml.Errors{{Line: 3, Message: "unknown key"}}, exitUsage},
		"an answer of a server":  {new(braid.ServerError), exitInternal},
		"a file system":          {fs.ErrPermission, exitInternal},
		"too late":               {context.DeadlineExceeded, exitInternal},
	} {
		if code := exitCode(t.Context(), fmt.Errorf("what was done: %w", c.err)); code != c.code {
			t.Errorf("%s: exit code %d, want %d", name, code, c.code)
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if code := exitCode(stopped, fmt.Errorf("ask: %w", context.Canceled)); code != exitInterrupted {
		t.Errorf("interrupted: exit code %d", code)
	}
}
