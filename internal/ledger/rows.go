package ledger

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/braidhq/braid/pkg/journal"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// text makes a text one that PostgreSQL takes.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// optional is a text that may be missing.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	clean := text(s)
	return &clean
}

// instant is a time that may be missing.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// document is a value as JSON that PostgreSQL takes: of the characters that JSON can write and a text of the database cannot have, U+FFFD
// stands in the place.
func document(v any) (json.RawMessage, error) {
	data, err := json.Marshal(v)
	if err != nil || !bytes.Contains(data, []byte(`\u`)) {
		return data, err
	}
	for i := 0; i+1 < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		i++
		if data[i] != 'u' {
			continue
		}
		switch code := escaped(data[i+1:]); {
		case code == 0:
			copy(data[i+1:], "fffd")
		case utf16.IsSurrogate(code):
			if rest := data[i+5:]; bytes.HasPrefix(rest, []byte(`\u`)) && utf16.DecodeRune(code, escaped(rest[2:])) != utf8.RuneError {
				i += 6 // a pair
			} else {
				copy(data[i+1:], "fffd")
			}
		}
		i += 4
	}
	return data, nil
}

// escaped reads the four digits behind \u, which json.Marshal has checked.
func escaped(digits []byte) rune {
	code, _ := strconv.ParseUint(string(digits[:4]), 16, 16)
	return rune(code)
}

type queryRow struct {
	Query       string     `json:"query"`
	Name        string     `json:"name"`
	Service     string     `json:"service"`
	Collection  string     `json:"collection"`
	Definition  string     `json:"definition"`
	Spec        string     `json:"spec"`
	Fingerprint string     `json:"fingerprint"`
	Chunks      int        `json:"chunks"`
	URL         string     `json:"url"`
	State       string     `json:"state"`
	Run         int        `json:"run"`
	StopKind    *string    `json:"stop_kind"`
	StopReason  *string    `json:"stop_reason"`
	StopUntil   *time.Time `json:"stop_until"`
	Base        *string    `json:"base"`
	Owner       *string    `json:"owner"`
	Team        *string    `json:"team"`
	Created     time.Time  `json:"created"`
	Updated     time.Time  `json:"updated"`
	Revision    uint64     `json:"revision"`
}

func rowOfQuery(q *messages.Query, revision uint64) queryRow {
	row := queryRow{
		Query: q.ID, Name: text(q.Name), Service: q.Service, Collection: q.Collection, Definition: q.Definition, Spec: q.Spec, Fingerprint: q.Fingerprint,
		Chunks: q.Chunks, URL: text(q.URL), State: string(q.State), Run: q.Run, Base: optional(q.Base), Owner: optional(q.Owner), Team: optional(q.Team),
		Created: q.Created, Updated: q.Updated, Revision: revision,
	}
	if q.Stop != nil {
		row.StopKind, row.StopReason, row.StopUntil = optional(q.Stop.Kind), optional(q.Stop.Reason), instant(q.Stop.Until)
	}
	return row
}

type chunkRow struct {
	Query          string     `json:"query"`
	Position       string     `json:"position"`
	Run            int        `json:"run"`
	Outcome        string     `json:"outcome"`
	Rows           int64      `json:"result_rows"`
	Pages          int        `json:"pages"`
	Requests       int        `json:"requests"`
	Bytes          int64      `json:"bytes"`
	SHA256         string     `json:"sha256"`
	Attempt        string     `json:"attempt"`
	Worker         string     `json:"worker"`
	Started        *time.Time `json:"started"`
	Finished       *time.Time `json:"finished"`
	SlotWait       int64      `json:"slot_wait_ns"`
	Upstream       int64      `json:"upstream_ns"`
	FailureClass   *string    `json:"failure_class"`
	FailureStatus  *int       `json:"failure_status"`
	FailureMessage *string    `json:"failure_message"`
	Stored         time.Time  `json:"stored"`
	Sequence       uint64     `json:"sequence"`
}

func rowOfChunk(h *messages.ResultHeader, r *journal.Record) chunkRow {
	row := chunkRow{
		Query: h.Query, Position: string(h.Position), Run: h.Run, Outcome: string(h.Outcome), Rows: h.Rows, Pages: h.Pages, Requests: h.Requests, Bytes: h.Bytes,
		SHA256: h.SHA256, Attempt: h.Attempt, Worker: h.Worker, Started: instant(h.Started), Finished: instant(h.Finished), SlotWait: int64(h.SlotWait),
		Upstream: int64(h.Upstream), Stored: r.Stored, Sequence: r.Sequence,
	}
	if f := h.Failure; f != nil {
		row.FailureClass, row.FailureStatus, row.FailureMessage = optional(f.Class), &f.Status, optional(f.Message)
	}
	return row
}

// attemptKey is the primary key of an attempt.
type attemptKey struct {
	Query    string `json:"query"`
	Position string `json:"position"`
	Attempt  string `json:"attempt"`
	Page     int    `json:"page"`
	Try      int    `json:"try"`
}

func attemptColumns() []string {
	return []string{"query", "run", "position", "attempt", "page", "try", "worker", "class", "status", "bytes", "sent", "slot_wait_ns", "upstream_ns"}
}

func keyOfAttempt(query string, e *messages.Execution) attemptKey {
	return attemptKey{query, string(e.Position), e.Attempt, e.Page, e.Try}
}

func rowOfAttempt(m *messages.Executions, e *messages.Execution) []any {
	return []any{m.Query, m.Run, string(e.Position), e.Attempt, e.Page, e.Try, m.Worker, e.Class, e.Status, e.Bytes, e.Sent, int64(e.SlotWait), int64(e.Upstream)}
}

type interruptionRow struct {
	Query    string     `json:"query"`
	Run      int        `json:"run"`
	Position string     `json:"position"`
	Service  string     `json:"service"`
	Kind     string     `json:"kind"`
	Status   int        `json:"status"`
	Reason   string     `json:"reason"`
	Until    *time.Time `json:"until"`
	Worker   string     `json:"worker"`
	At       time.Time  `json:"at"`
	Sequence uint64     `json:"sequence"`
}

func rowOfInterruption(m *messages.Interruption, sequence uint64) interruptionRow {
	return interruptionRow{m.Query, m.Run, string(m.Position), m.Service, string(m.Kind), m.Status, text(m.Reason), instant(m.Until), m.Worker, m.At, sequence}
}

type profileRow struct {
	Profile     string          `json:"profile"`
	Revision    int             `json:"revision"`
	Name        string          `json:"name"`
	Environment string          `json:"environment"`
	Dashboard   string          `json:"dashboard"`
	Owner       *string         `json:"owner"`
	Team        *string         `json:"team"`
	Created     *time.Time      `json:"created"`
	Updated     *time.Time      `json:"updated"`
	Document    json.RawMessage `json:"document"`
}

func rowOfProfile(p *load.Profile) (profileRow, error) {
	whole, err := document(p)
	return profileRow{
		p.ID, p.Revision, text(p.Name), text(p.Environment), text(p.Dashboard), optional(p.Owner), optional(p.Team), instant(p.Created), instant(p.Updated), whole,
	}, err
}

type runRow struct {
	Run             string          `json:"run"`
	Profile         string          `json:"profile"`
	ProfileRevision int             `json:"profile_revision"`
	ProfileName     string          `json:"profile_name"`
	Environment     string          `json:"environment"`
	Dashboard       string          `json:"dashboard"`
	Title           *string         `json:"title"`
	Class           string          `json:"class"`
	State           string          `json:"state"`
	Ending          *string         `json:"ending"`
	Reason          *string         `json:"reason"`
	Total           int             `json:"total"`
	Charts          int             `json:"charts"`
	Selected        int             `json:"selected"`
	Theoretical     string          `json:"theoretical"`
	Selection       string          `json:"selection"`
	Snapshot        string          `json:"snapshot"`
	Fingerprint     string          `json:"fingerprint"`
	Effective       int             `json:"effective_capacity"`
	Capacity        json.RawMessage `json:"capacity"`
	Force           bool            `json:"request_force"`
	GateHash        *string         `json:"gate_hash"`
	ApprovedBy      *string         `json:"approved_by"`
	ApprovalReason  *string         `json:"approval_reason"`
	Trip            json.RawMessage `json:"trip"`
	Owner           *string         `json:"owner"`
	Team            *string         `json:"team"`
	Created         time.Time       `json:"created"`
	Started         *time.Time      `json:"started"`
	Closed          *time.Time      `json:"closed"`
	Ended           *time.Time      `json:"ended"`
	Updated         time.Time       `json:"updated"`
	Document        json.RawMessage `json:"document"`
	Revision        uint64          `json:"revision"`
	Relative        json.RawMessage `json:"relative_filters"`
}

func rowOfRun(r *load.Run, s *load.Snapshot, revision uint64) (runRow, error) {
	whole, err := document(r)
	if err != nil {
		return runRow{}, err
	}
	capacity, err := document(r.Capacity)
	if err != nil {
		return runRow{}, err
	}
	row := runRow{
		Run: r.ID, Profile: r.Profile.ID, ProfileRevision: r.Profile.Revision, ProfileName: text(r.Profile.Name), Environment: text(r.Environment), Dashboard: text(r.Profile.Dashboard),
		Class: string(r.Capacity.Class), State: string(r.State), Ending: optional(string(r.Ending)), Reason: optional(r.Reason), Total: r.Total, Charts: r.Charts,
		Selected: r.Selected, Theoretical: r.Theoretical, Selection: r.Selection, Snapshot: r.Snapshot, Fingerprint: r.Fingerprint, Effective: r.Capacity.Effective,
		Capacity: capacity, Force: r.Profile.Force, GateHash: optional(r.GateHash), Owner: optional(r.Owner), Team: optional(r.Team), Created: r.Created,
		Started: instant(r.Started), Closed: instant(r.Closed), Ended: instant(r.Ended), Updated: r.Updated, Document: whole, Revision: revision,
	}
	relative := r.Profile.RelativeFilters()
	if row.Relative, err = document(append([]string{}, relative...)); err != nil {
		return row, err
	}
	if s != nil {
		row.Title = optional(s.Title)
	}
	if r.Approval != nil {
		row.ApprovedBy, row.ApprovalReason = optional(r.Approval.By), optional(r.Approval.Reason)
	}
	if r.Trip != nil {
		row.Trip, err = document(r.Trip)
	}
	return row, err
}

type chartRow struct {
	Snapshot string `json:"snapshot"`
	Chart    int64  `json:"chart"`
	Ordinal  int    `json:"ordinal"`
	Name     string `json:"name"`
	VizType  string `json:"viz_type"`
	Relative bool   `json:"relative"`
}

func rowsOfCharts(s *load.Snapshot) []chartRow {
	var rows []chartRow
	relative := s.RelativeCharts()
	for i := range s.Charts {
		c := &s.Charts[i]
		rows = append(rows, chartRow{text(s.ID), c.ID, i, text(c.Name), text(c.VizType), slices.Contains(relative, c.ID)})
	}
	return rows
}

// executionKey is the primary key of an execution's record.
type executionKey struct {
	Run     string `json:"run"`
	Number  int    `json:"number"`
	Attempt int    `json:"attempt"`
}

// numberKey names an execution, whatever its attempts.
type numberKey struct {
	Run    string `json:"run"`
	Number int    `json:"number"`
}

func executionColumns() []string {
	return []string{
		"run", "number", "attempt", "counted", "warm_up", "chart", "variation_id", "filters_hash", "role", "time_range", "repeat_of", "outcome", "kind", "status", "message",
		"queue_wait_ns", "resource_wait_ns", "upstream_ns", "from_intended_ns", "reader_lag_ns", "clock_source", "clock_offset_ns", "clock_within_ns",
		"enqueued", "taken", "admitted", "finished", "requests", "polls", "async", "request_force", "cache_state", "queries", "body_sha256", "data_sha256", "row_set",
		"body_bytes", "wire_bytes", "result_rows", "sample", "sample_truncated", "filter_rejected", "worker", "stored", "sequence",
	}
}

// bare leaves out of an execution what the database might refuse for its form.
func rowOfExecution(e *load.Execution, r *journal.Record, counted, bare bool) ([]any, error) {
	var queries, rejected json.RawMessage
	var sample *string
	message := text(e.Message)
	if bare {
		message = "left out by the ledger"
	} else {
		var err error
		if len(e.Queries) > 0 {
			if queries, err = document(e.Queries); err != nil {
				return nil, err
			}
		}
		if len(e.Rejected) > 0 {
			if rejected, err = document(e.Rejected); err != nil {
				return nil, err
			}
		}
		sample = optional(string(e.Sample))
	}
	rowSet := e.RowSet
	if rowSet == "" {
		rowSet = load.RowSetOf(e.Sample, e.Truncated, e.Rows, len(e.Queries))
	}
	var late *int64
	if e.Late != nil {
		ns := int64(*e.Late)
		late = &ns
	}
	return []any{
		e.Run, e.Number, e.Attempt, counted, e.WarmUp, e.Chart, text(e.Variation), text(e.FiltersHash), text(e.Role), text(e.TimeRange), e.RepeatOf, string(e.Outcome), text(e.Kind), e.Status, message,
		int64(e.Waits.Queue), int64(e.Waits.Resource), int64(e.Waits.Upstream), late, int64(e.ReaderLag), text(e.Clock.Source), int64(e.Clock.Offset), int64(e.Clock.Within),
		instant(e.Enqueued), instant(e.Taken), instant(e.Admitted), instant(e.Finished), e.Requests, e.Polls, e.Async, e.Force, optional(string(e.Cache)), nullable(queries), optional(e.BodySHA256), optional(e.DataSHA256), optional(rowSet),
		e.BodyBytes, e.WireBytes, e.Rows, sample, e.Truncated, nullable(rejected), text(e.Worker), r.Stored, r.Sequence,
	}, nil
}

// nullable is nil for no JSON at all.
func nullable(data json.RawMessage) any {
	if data == nil {
		return nil
	}
	return data
}

// admissionKey is the primary key of an admission.
type admissionKey struct {
	Run     string `json:"run"`
	Number  int    `json:"number"`
	Attempt int    `json:"attempt"`
	Repeat  bool   `json:"repeat"`
}

func admissionColumns() []string {
	return []string{"run", "number", "attempt", "repeat", "worker", "at", "sequence"}
}

type rejectRow struct {
	Feed     string    `json:"feed"`
	Sequence uint64    `json:"sequence"`
	Subject  string    `json:"subject"`
	Stored   time.Time `json:"stored"`
	Reason   string    `json:"reason"`
}

func rowOfReject(r *journal.Record, reason error) rejectRow {
	return rejectRow{string(r.Feed), r.Sequence, text(r.Subject), r.Stored, text(oneLine(reason.Error()))}
}
