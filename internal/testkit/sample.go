package testkit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// Digest is a well-formed digest of a text.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Item is a valid item of a query of the service rivers, whose task is {"position":…}.
func Item(query string, position int) *messages.Item {
	return &messages.Item{
		V: messages.Version, Query: query, Run: 1, Position: messages.PositionAt(position), Service: "rivers",
		Definition: Digest("rivers"), Collection: "daily", Task: json.RawMessage(fmt.Sprintf(`{"position":%d}`, position)),
		Dispatched: time.Now(),
	}
}

// Header is a valid header of a position's rows but for what a commit fills in.
func Header(query string, position int, rows int64) *messages.ResultHeader {
	h := &messages.ResultHeader{
		V: messages.Version, Query: query, Run: 1, Position: messages.PositionAt(position), Outcome: messages.OutcomeRows, Rows: rows,
		Pages: 1, Requests: 1, Columns: []string{"site", "n"}, Worker: "w1", Started: time.Now(), Finished: time.Now(),
	}
	if rows == 0 {
		h.Outcome = messages.OutcomeEmpty
	}
	return h
}

// Query is a valid record of a running query of the service rivers.
func Query(id string, chunks int) *messages.Query {
	return &messages.Query{
		V: messages.Version, ID: id, Name: "test", Service: "rivers", Collection: "daily", Definition: Digest("rivers"),
		Spec: Digest("spec of " + id), Fingerprint: Digest("plan"), Chunks: chunks, State: messages.Running, Run: 1,
		Created: time.Now(), Updated: time.Now(),
	}
}
