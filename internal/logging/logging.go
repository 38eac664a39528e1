package logging

import (
	"fmt"
	"io"
	"log/slog"
)

// The formats of a log.
const (
	JSON = "json"
	Text = "text"
)

// New makes a log that writes to w in a format, from a level on, without secrets.
func New(w io.Writer, format string, level slog.Level) (*slog.Logger, error) {
	opts := &slog.HandlerOptions{Level: level}
	switch format {
	case JSON:
		return slog.New(Redacting(slog.NewJSONHandler(w, opts))), nil
	case Text:
		return slog.New(Redacting(slog.NewTextHandler(w, opts))), nil
	}
	return nil, fmt.Errorf("the format is %q; use %s or %s", format, JSON, Text)
}
