package settings_test

import (
	"testing"
	"time"

	"github.com/braidhq/braid/internal/settings"
)

func TestSizesAreReadWithTheirUnitsAndNothingElse(t *testing.T) {
	for text, want := range map[string]int64{
		"20GB": 20e9, "512MiB": 512 << 20, "1.5kB": 1500, "3": 3, "0": 0, "2 TB": 2e12, "7B": 7, "1KiB": 1024,
	} {
		var s settings.Size
		if err := s.Set(text); err != nil || int64(s) != want {
			t.Errorf("%s is %d, %v; want %d", text, s, err, want)
		}
		var again settings.Size
		if text := s.String(); text != "" {
			if err := again.Set(text); err != nil || again != s {
				t.Errorf("%s is read as %d, %v", text, again, err)
			}
		}
	}
	for _, text := range []string{"", "GB", "-1GB", "20 gigs", "NaNGB", "InfGB", "1e3", "0x10", "9999999TB", "1_0", "+1"} {
		var s settings.Size
		if err := s.Set(text); err == nil {
			t.Errorf("%q is taken for %d", text, s)
		}
	}
}

func TestAgesMayBeDays(t *testing.T) {
	var a settings.Age
	if err := a.Set("30d"); err != nil || time.Duration(a) != 30*24*time.Hour {
		t.Errorf("30d is %v, %v", time.Duration(a), err)
	}
	for _, text := range []string{"", "0s", "-3d", "long", "99999999999d"} {
		if err := a.Set(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
