package logging

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
)

// Redacting wraps a handler so that no secret reaches it: every message and every value passes Clean, and values under keys that name
// a secret are left out. It is safe for concurrent use as far as the handler is.
func Redacting(next slog.Handler) slog.Handler { return &redacting{next} }

type redacting struct{ next slog.Handler }

// Enabled is the wrapped handler's.
func (h *redacting) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle passes on a copy of the record without secrets.
func (h *redacting) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, Clean(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(cleanAttr(a, 0))
		return true
	})
	return h.next.Handle(ctx, clean)
}

// WithAttrs cleans the attributes once, for all records to come.
func (h *redacting) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = cleanAttr(a, 0)
	}
	return &redacting{h.next.WithAttrs(clean)}
}

// WithGroup is the wrapped handler's.
func (h *redacting) WithGroup(name string) slog.Handler {
	return &redacting{h.next.WithGroup(name)}
}

const maxDepth = 16 // of groups and of values in one another

func cleanAttr(a slog.Attr, depth int) slog.Attr {
	value := a.Value.Resolve()
	if IsSecretKey(a.Key) && value.Kind() != slog.KindGroup {
		return slog.String(a.Key, Redacted)
	}
	switch value.Kind() {
	case slog.KindString:
		return slog.String(a.Key, Clean(value.String()))
	case slog.KindGroup:
		if depth == maxDepth {
			return slog.String(a.Key, Redacted)
		}
		members := value.Group()
		clean := make([]slog.Attr, len(members))
		for i, member := range members {
			if IsSecretKey(a.Key) { // the whole group is one
				member.Value = slog.StringValue(Redacted)
			}
			clean[i] = cleanAttr(member, depth+1)
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(clean...)}
	case slog.KindAny:
		return slog.Any(a.Key, cleanAny(value.Any()))
	case slog.KindBool, slog.KindDuration, slog.KindFloat64, slog.KindInt64, slog.KindTime, slog.KindUint64, slog.KindLogValuer:
	}
	return slog.Attr{Key: a.Key, Value: value}
}

// cleanAny gives of a value what may be written: a text, or numbers, texts, lists and maps as JSON has them.
func cleanAny(v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case error:
		return Clean(safely(v.Error))
	case fmt.Stringer:
		return Clean(safely(v.String))
	case []byte:
		return Clean(string(v))
	}
	data, err := json.Marshal(v)
	if err != nil || len(data) > maxRead {
		return fmt.Sprintf("%T", v)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return fmt.Sprintf("%T", v)
	}
	return cleanPlain(plain, 0)
}

func cleanPlain(v any, depth int) any {
	if depth == maxDepth {
		return Redacted
	}
	switch v := v.(type) {
	case string:
		return Clean(v)
	case []any:
		for i := range v {
			v[i] = cleanPlain(v[i], depth+1)
		}
	case map[string]any:
		for key := range v {
			if IsSecretKey(key) {
				v[key] = Redacted
				continue
			}
			v[key] = cleanPlain(v[key], depth+1)
		}
	}
	return v
}

// safely calls a method of a value that may be a nil pointer, as slog does.
func safely(text func() string) (s string) {
	defer func() {
		if thrown := recover(); thrown != nil {
			s = "<a value that cannot be shown>"
		}
	}()
	return text()
}

func itoa(n int) string { return strconv.Itoa(n) }
