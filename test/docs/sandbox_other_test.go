//go:build !linux

package docs

import (
	"errors"
	"os/exec"
)

func isolate(*exec.Cmd) {}

func isolates() error { return errors.New("only Linux has network namespaces") }
