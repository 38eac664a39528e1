package messages_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/braidhq/braid/pkg/messages"
)

// decoded reads an answer by the decoder of its kind.
func decoded(kind string, data []byte) error {
	var err error
	switch kind {
	case "grid":
		_, err = messages.DecodeGrid(data)
	case "series":
		_, err = messages.DecodeSeries(data)
	case "chunks":
		_, err = messages.DecodeChunkList(data)
	case "chunk":
		_, err = messages.DecodeChunkDetail(data)
	case "preview":
		_, err = messages.DecodePreview(data)
	case "workers":
		_, err = messages.DecodeWorkerList(data)
	case "services":
		_, err = messages.DecodeServiceList(data)
	case "service":
		_, err = messages.DecodeServiceView(data)
	}
	return err
}

const plainGrid = `{"v":1,"query":"q1","run":1,"chunks":5,"from":0,"to":5,"width":3,"done":[1,2],"empty":[0,0],"split":[0,0],"failed":[0,0],"in_flight":[0,0]`

func TestAnswersOfViewsAreRead(t *testing.T) {
	for _, c := range []struct{ kind, text string }{
		{"grid", plainGrid + `}`},
		{"grid", plainGrid + `,"what_a_newer_one_says":1}`},
		{"series", `{"v":1,"query":"q1","step_ns":1,"chunks":[1],"requests":[1],"rows":[1],"bytes":[1],"latency_p50_ms":[null],"latency_p95_ms":[2.5],"slot_wait_p50_ms":[0],"interruptions":[]}`},
		{"chunks", `{"v":1,"query":"q1","chunks":[{"position":"17.0","state":"done"}],"next":"18"}`},
		{"chunk", `{"v":1,"query":"q1","position":"17","state":"pending","attempts":[],"stored_pages":[],"interruptions":[]}`},
		{"preview", `{"v":1,"query":"q1","columns":[{"name":"a"}],"rows":[["x"],[null]],"more":false}`},
		{"workers", `{"v":1,"now":"2025-01-01T00:00:00Z","workers":[]}`},
		{"services", `{"v":1,"services":[{"v":1,"name":"rivers","holders":[],"pools":[],"queries":[]}]}`},
	} {
		if err := decoded(c.kind, []byte(c.text)); err != nil {
			t.Errorf("%s: %v", c.kind, err)
		}
	}
}

func TestAnswersOfViewsThatContradictThemselvesAreRefused(t *testing.T) {
	for _, c := range []struct{ kind, text string }{
		{"grid", `{`},
		{"grid", `{"hello":1}`},
		{"grid", strings.Replace(plainGrid, `"v":1`, `"v":99`, 1) + `}`},
		{"grid", strings.Replace(plainGrid, `"done":[1,2]`, `"done":[1]`, 1) + `}`},
		{"grid", strings.Replace(plainGrid, `"width":3`, `"width":0`, 1) + `}`},
		{"grid", strings.Replace(plainGrid, `"to":5`, `"to":6`, 1) + `}`},
		{"series", `{"v":1,"query":"q1","step_ns":1,"chunks":[1],"requests":[]}`},
		{"series", `{"v":1,"query":"q1","interruptions":[null]}`},
		{"series", `{"v":1,"query":"q1","interruptions":[{}]}`},
		{"chunks", `{"v":1,"query":"q1","chunks":[{"position":"017","state":"done"}]}`},
		{"chunks", `{"v":1,"query":"q1","chunks":[{"position":"17","state":"gone"}]}`},
		{"chunks", `{"v":1,"query":"q1","chunks":[],"next":"x"}`},
		{"chunk", `{"v":1,"query":"q1","position":"17"}`},
		{"preview", `{"v":1,"query":"q1","columns":[{"name":"a"}],"rows":[["x","y"]]}`},
		{"workers", `{"v":1,"workers":[null]}`},
		{"services", `{"v":1,"services":[null]}`},
		{"service", `{"v":1,"name":"ri vers"}`},
		{"service", `{"v":1,"name":"rivers","queries":[{"id":"q1","state":"gone"}]}`},
	} {
		if err := decoded(c.kind, []byte(c.text)); err == nil {
			t.Errorf("%s is taken: %s", c.kind, c.text)
		}
	}
}

func TestSpansAreInOrderAndApart(t *testing.T) {
	full := make([]messages.Span, messages.MaxSpans)
	for i := range full {
		full[i] = messages.Span{1<<31 - 1 - 2*(messages.MaxSpans-i), 1<<31 - 1 - 2*(messages.MaxSpans-i)}
	}
	progress := func(spans []messages.Span) *messages.Progress {
		quotas := make([]messages.PoolLeft, 8)
		for i := range quotas {
			quotas[i] = messages.PoolLeft{Pool: strings.Repeat("p", 64), Left: 1 << 53, Limit: 1 << 53}
		}
		return &messages.Progress{V: 1, Query: strings.Repeat("q", 64), Run: 1<<31 - 1, Quotas: quotas, Outstanding: spans}
	}
	for _, good := range [][]messages.Span{nil, {{0, 0}}, {{0, 3}, {4, 4}}, full} {
		if _, err := progress(good).Encode(); err != nil {
			t.Errorf("%d spans: %v", len(good), err)
		}
	}
	for _, bad := range [][]messages.Span{{{-1, 0}}, {{1, 0}}, {{0, 3}, {3, 4}}, {{5, 6}, {0, 1}}, {{0, 1 << 31}}, append([]messages.Span{{0, 0}}, full...)} {
		if _, err := progress(bad).Encode(); !errors.Is(err, messages.ErrInvalid) {
			t.Errorf("%v: %v", bad[:min(len(bad), 3)], err)
		}
	}
	var read messages.Progress
	if err := json.Unmarshal([]byte(`{"outstanding":[[1,2],[4,4]]}`), &read); err != nil || read.Outstanding[1] != (messages.Span{4, 4}) {
		t.Errorf("%v, %v", read.Outstanding, err)
	}
}
