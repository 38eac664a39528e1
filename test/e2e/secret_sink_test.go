//go:build unix

package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// secret has characters that every way of writing a text spells differently, around a core that most of them leave as it is.
const (
	secret     = `Kq/&"+plumQx9Wz3Vt8=%2Fend'<z`
	secretCore = "plumQx9Wz3Vt8"
)

// traces are what a text cannot hold unless it holds the secret or a good part of it: every eight characters of its core in a
// row, and what its encodings have in common wherever it stands in a longer text.
func traces() [][]byte {
	var found [][]byte
	for i := range len(secretCore) - 7 {
		found = append(found, []byte(secretCore[i:i+8]))
	}
	for shift := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + secret))
		text = strings.TrimRight(text, "=")
		found = append(found, []byte(text[4:len(text)-2]), []byte(strings.NewReplacer("+", "-", "/", "_").Replace(text[4:len(text)-2])))
	}
	for _, text := range []string{hex.EncodeToString([]byte(secretCore)), strings.ToUpper(hex.EncodeToString([]byte(secretCore)))} {
		found = append(found, []byte(text))
	}
	escaped := ""
	for _, c := range []byte(secretCore[:8]) {
		escaped += fmt.Sprintf("%%%02X", c)
	}
	return append(found, []byte(escaped), []byte(strings.ToLower(escaped)))
}

// sink is something into which a secret could have gone.
type sink struct {
	name string
	data []byte
}

// mustHaveNoSecret looks through all that has gone to some place, and what it unpacks to. Witness is a text that must be there
// somewhere, or the place is not really looked at.
func mustHaveNoSecret(t *testing.T, place, witness string, sinks []sink) {
	t.Helper()
	found, all := false, traces()
	for _, s := range sinks {
		for _, text := range append(unpacked(s.data), s.data) {
			found = found || bytes.Contains(text, []byte(witness))
			for _, trace := range all {
				if at := bytes.Index(text, trace); at >= 0 {
					t.Errorf("%s: %s has the secret at byte %d: %q", place, s.name, at, text[max(0, at-80):min(len(text), at+80)])
					break
				}
			}
		}
	}
	if !found {
		t.Errorf("%s, looked at in %d pieces, has no %q: it is not what it should be", place, len(sinks), witness)
	}
}

// unpacked finds frames of zstd and members of gzip in data, and gives what they unpack to.
func unpacked(data []byte) [][]byte {
	const most = 64 << 20
	var found [][]byte
	walk := func(magic string, open func([]byte) ([]byte, error)) {
		for from := 0; ; {
			at := bytes.Index(data[from:], []byte(magic))
			if at < 0 {
				return
			}
			if text, _ := open(data[from+at:]); len(text) > 0 { // what was unpacked before it broke counts
				found = append(found, text)
			}
			from += at + 1
		}
	}
	walk("\x28\xb5\x2f\xfd", func(frame []byte) ([]byte, error) {
		decoder, err := zstd.NewReader(bytes.NewReader(frame), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(most))
		if err != nil {
			return nil, err
		}
		defer decoder.Close()
		var text bytes.Buffer
		_, err = text.ReadFrom(decoder)
		return text.Bytes(), err
	})
	walk("\x1f\x8b\x08", func(member []byte) ([]byte, error) {
		decoder, err := gzip.NewReader(bytes.NewReader(member))
		if err != nil {
			return nil, err
		}
		var text bytes.Buffer
		_, err = text.ReadFrom(decoder)
		return text.Bytes(), err
	})
	return found
}

// filesBelow are all files of a folder, as they stand on the disk.
func filesBelow(t *testing.T, dir string) []sink {
	t.Helper()
	var files []sink
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		files = append(files, sink{path, data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Errorf("%s is empty", dir)
	}
	return files
}

// tap hears everything that is said on a NATS server.
type tap struct {
	t    *testing.T
	conn *nats.Conn
	mu   sync.Mutex // guards what is below
	said []sink
}

func tapOn(t *testing.T, url string) *tap {
	t.Helper()
	var conn *nats.Conn
	eventually(t, limit, "the NATS server to take a connection", func() (connected bool) {
		var err error
		conn, err = nats.Connect(url)
		return err == nil
	})
	w := &tap{t: t, conn: conn}
	t.Cleanup(conn.Close)
	heard, err := conn.Subscribe(">", func(m *nats.Msg) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.said = append(w.said, messageSink("said on "+m.Subject, m.Subject, m.Header, m.Data))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := heard.SetPendingLimits(-1, -1); err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	return w
}

func messageSink(name, subject string, header nats.Header, data []byte) sink {
	var text bytes.Buffer
	fmt.Fprintln(&text, subject)
	for key, values := range header {
		fmt.Fprintln(&text, key, values)
	}
	text.Write(data)
	return sink{name, text.Bytes()}
}

// heard is everything that was said so far.
func (w *tap) heard() []sink {
	w.t.Helper()
	if err := w.conn.Flush(); err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]sink{}, w.said...)
}

// stored is every message of every stream, those behind the buckets too.
func (w *tap) stored() []sink {
	w.t.Helper()
	js, err := jetstream.New(w.conn)
	if err != nil {
		w.t.Fatal(err)
	}
	return storedIn(w.t, js)
}

func storedIn(t *testing.T, js jetstream.JetStream) []sink {
	t.Helper()
	var all []sink
	streams := js.ListStreams(t.Context())
	for info := range streams.Info() {
		all = append(all, sink{"stream", fmt.Appendf(nil, "%+v", info.Config)})
		stream, err := js.Stream(t.Context(), info.Config.Name)
		if err != nil {
			t.Fatal(err)
		}
		for at := info.State.FirstSeq; at > 0 && at <= info.State.LastSeq; at++ {
			m, err := stream.GetMsg(t.Context(), at)
			if err != nil {
				continue // removed since
			}
			all = append(all, messageSink("stored at "+m.Subject, m.Subject, m.Header, m.Data))
		}
	}
	if err := streams.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestNoWayOfWritingTheSecretIsOverlooked(t *testing.T) {
	t.Parallel()
	packed := func(text string) []byte {
		encoder, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer encoder.Close()
		return encoder.EncodeAll([]byte(text), []byte("a header of some bytes"))
	}
	for name, data := range spellings(packed) {
		texts := append([][]byte{data}, unpacked(data)...)
		found := false
		for _, text := range texts {
			for _, trace := range traces() {
				found = found || bytes.Contains(text, trace)
			}
		}
		if !found {
			t.Errorf("the secret %s is not found: %q", name, data)
		}
	}
}
