package rig

import (
	"errors"
	"strings"
	"testing"
)

func TestTheChangeOfTheClockIsExact(t *testing.T) {
	const library = "package time\n\n" + nowBegins + "\tif mono == 0 {\n"
	changed, err := shiftNow(library)
	if err != nil || changed != strings.Replace(library, nowBegins, nowBegins+nowAdds, 1) {
		t.Errorf("shiftNow gives %q, %v", changed, err)
	}
	for name, text := range map[string]string{
		"another Now": strings.Replace(library, "mono := runtimeNow()", "mono := now()", 1),
		"two":         library + nowBegins,
		"nothing":     "",
	} {
		if got, err := shiftNow(text); !errors.Is(err, errNow) {
			t.Errorf("%s: shiftNow gives %q, %v", name, got, err)
		}
	}
	if _, err := overlayTime(t.TempDir()); err != nil {
		t.Errorf("the toolchain in use: %v", err)
	}
}
