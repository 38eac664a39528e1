package load

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/braidhq/braid/pkg/messages"
)

// Version is the version of the wire form that this build writes. It reads every version up to it.
const Version = 1

// Bounds of what is stored.
const (
	MaxTotal     = 2_000_000 // executions of a run
	MaxPlaces    = 25        // of a run: its concurrency is never more (LR-2.2)
	MaxRunID     = 60        // characters: the id stands in the names of a run's places
	MaxSample    = 256 << 10 // bytes of an execution's sample (LR-5.5)
	maxAttempt   = 1 << 31
	maxTextBytes = 4 << 10

	maxItemBytes      = 4 << 10
	maxAdmissionBytes = 4 << 10
	maxExecutionBytes = 448 << 10
	maxProfileBytes   = 512 << 10
	maxRunBytes       = 640 << 10
	maxApprovalBytes  = 32 << 10
	maxProgressBytes  = 256 << 10
	maxLookUpBytes    = 64 << 10
	maxQueryOutcomes  = 256
	maxRejected       = 1000
)

// MaxFileBytes bounds a snapshot or a selection before it is compressed.
const MaxFileBytes = 64 << 20

// wired is what travels or is stored.
type wired interface{ wireCheck() error }

// encodeWire writes nothing that decodeWire would refuse.
func encodeWire(what string, m wired, limit int) ([]byte, error) {
	if err := m.wireCheck(); err != nil {
		return nil, fmt.Errorf("encode %s: %w", what, err)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // an answer full of < and & would be six times as long
	if err := enc.Encode(m); err != nil {
		return nil, fmt.Errorf("encode %s: %w: %w", what, messages.ErrInvalid, err)
	}
	data := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	if len(data) > limit {
		return nil, fmt.Errorf("encode %s: %w: %d bytes, at most %d", what, messages.ErrInvalid, len(data), limit)
	}
	return data, nil
}

func decodeWire[T any, P interface {
	*T
	wired
}](what string, data []byte, limit int) (P, error) {
	if len(data) > limit {
		return nil, fmt.Errorf("decode %s: %w: %d bytes, at most %d", what, messages.ErrInvalid, len(data), limit)
	}
	// The version is read first: the fields of a newer version are not this build's business to judge.
	var probe struct {
		V *int `json:"v"`
	}
	if err := json.Unmarshal(data, &probe); err != nil {
		return nil, fmt.Errorf("decode %s: %w: %w", what, messages.ErrInvalid, err)
	}
	if probe.V != nil && *probe.V > Version {
		return nil, fmt.Errorf("decode %s: %w: %d, this build knows up to %d", what, messages.ErrVersion, *probe.V, Version)
	}
	m := P(new(T))
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(m); err != nil {
		return nil, fmt.Errorf("decode %s: %w: %w", what, messages.ErrInvalid, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("decode %s: %w: data after the message", what, messages.ErrInvalid)
	}
	if err := m.wireCheck(); err != nil {
		return nil, fmt.Errorf("decode %s: %w", what, err)
	}
	return m, nil
}

// wireAll gives the first error.
func wireAll(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func wireVersion(v int) error {
	if v > Version {
		return fmt.Errorf("%w: %d, this build knows up to %d", messages.ErrVersion, v, Version)
	}
	return wireBetween("v", int64(v), 1, Version)
}

func wireName(field, name string) error {
	if err := messages.CheckName(name); err != nil {
		return fmt.Errorf("%s: %w: %w", field, messages.ErrInvalid, err)
	}
	return nil
}

func wireRun(id string) error {
	if len(id) > MaxRunID {
		return fmt.Errorf("run: %w: it has %d characters, at most %d", messages.ErrInvalid, len(id), MaxRunID)
	}
	return wireName("run", id)
}

func wireBetween(field string, n, least, most int64) error {
	if n < least || n > most {
		return fmt.Errorf("%s: %w: %d, want %d to %d", field, messages.ErrInvalid, n, least, most)
	}
	return nil
}

func wireText(field, text string) error {
	if len(text) > maxTextBytes {
		return fmt.Errorf("%s: %w: %d bytes, at most %d", field, messages.ErrInvalid, len(text), maxTextBytes)
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("%s: %w: it is not UTF-8", field, messages.ErrInvalid)
	}
	return nil
}

func wireWait(field string, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("%s: %w: %v, want 0 or more", field, messages.ErrInvalid, d)
	}
	return nil
}

// wireDigest accepts a SHA-256 in hex, or nothing.
func wireDigest(field, digest string) error {
	if digest == "" {
		return nil
	}
	if raw, err := hex.DecodeString(digest); err != nil || len(raw) != 32 {
		return fmt.Errorf("%s: %w: %.20q is not a SHA-256 in hex", field, messages.ErrInvalid, digest)
	}
	return nil
}
