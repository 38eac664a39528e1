package buildinfo_test

import (
	"regexp"
	"testing"

	"github.com/braidhq/braid/internal/buildinfo"
)

func TestEveryBinaryHasAVersion(t *testing.T) {
	// A test's binary has no version of its own, so that it is the commit or that there is none.
	if got := buildinfo.Version(); !regexp.MustCompile(`^(v\d+\.\d+\.\d+\S*|devel(-[0-9a-f]{12})?)$`).MatchString(got) {
		t.Errorf("it is %q", got)
	}
}
