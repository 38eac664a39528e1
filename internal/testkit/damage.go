package testkit

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Record is where a message begins in a file, seen from its subject: its length stands there.
const Record = -22

// Damage changes one bit of what a stopped server on dir keeps of a stream, offset bytes behind the start of a subject. The
// server's index of the stream stays as it is.
func Damage(t testing.TB, dir, stream, subject string, offset int) {
	t.Helper()
	path := filepath.Join(dir, "jetstream", "jetstream", "$G", "streams", stream, "msgs", "1.blk")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte(subject))
	if at < 0 {
		t.Fatalf("%s holds nothing under %s", path, subject)
	}
	data[at+offset] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
