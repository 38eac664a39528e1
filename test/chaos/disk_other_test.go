//go:build unix && !linux

package chaos

import (
	"errors"
	"testing"
)

var errNoMount = errors.New("small file systems are made on Linux alone")

func mountSmall(*testing.T) (string, error) { return "", errNoMount }

func fill(string) (string, error) { return "", errNoMount }
