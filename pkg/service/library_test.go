package service_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/braidhq/braid/pkg/service"
)

func pinnedBuiltin(t *testing.T, name, base string) service.Pinned {
	t.Helper()
	text, have := service.Builtin(name)
	if !have {
		t.Fatal(name)
	}
	return service.Pinned{File: name + ".yaml", Text: string(text), BaseURL: base}
}

func TestALibraryOpensEachDefinitionOnce(t *testing.T) {
	t.Parallel()
	l := service.NewLibrary()
	here, there := pinnedBuiltin(t, "usgs-ngwmn", ""), pinnedBuiltin(t, "usgs-ngwmn", "http://127.0.0.1:9/x")
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() {
			for _, p := range []service.Pinned{here, there} {
				data, err := l.Pin(p)
				want, _ := p.Encode()
				if err != nil || !bytes.Equal(data, want) {
					t.Errorf("pinned as %s (%v)", data, err)
				}
				if _, err := l.Open(data); err != nil {
					t.Error(err)
				}
			}
		})
	}
	users.Wait()
	data, _ := l.Pin(there)
	one, _ := l.Open(data)
	two, err := l.Open(data)
	if err != nil || one != two || !one.Rebased {
		t.Errorf("%p and %p (%v): one text was opened twice", one, two, err)
	}
	other, _ := here.Encode()
	if d, err := l.Open(other); err != nil || d == one || d.Rebased {
		t.Errorf("another base URL gives the same definition (%v)", err)
	}
}

func TestALibraryRefusesWhatCannotBeOpened(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]*service.Library{"empty": service.NewLibrary(), "none": nil} {
		if _, err := l.Open([]byte("{}")); !errors.Is(err, service.ErrPinned) {
			t.Errorf("%s: %v", name, err)
		}
		for range 2 {
			if _, err := l.Pin(service.Pinned{File: "f.yaml", Text: "no definition"}); err == nil {
				t.Errorf("%s pinned what is none", name)
			}
		}
	}
}

func TestALibraryKeepsABoundedNumber(t *testing.T) {
	t.Parallel()
	l := service.NewLibrary()
	const most = 64
	open := map[string]*service.Definition{}
	for i := range 3 * most {
		data, err := l.Pin(pinnedBuiltin(t, "usgs-nwdc", fmt.Sprint("http://127.0.0.1:", i+1)))
		if err != nil {
			t.Fatal(err)
		}
		if open[string(data)], err = l.Open(data); err != nil {
			t.Fatal(err)
		}
	}
	kept := 0
	for data, was := range open {
		d, err := l.Open([]byte(data)) // what was forgotten takes the place of something else
		if err != nil || d.BaseURL != was.BaseURL {
			t.Fatalf("opened as %v (%v)", d, err)
		}
		if d == was {
			kept++
		}
	}
	if kept > most {
		t.Errorf("%d definitions are kept, want at most %d", kept, most)
	}
}
