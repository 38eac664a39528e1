package load

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/braidhq/braid/pkg/messages"
)

// Encode checks the item and gives its wire form.
func (i *Item) Encode() ([]byte, error) { return encodeWire("item", i, maxItemBytes) }

// DecodeItem reads an item; it refuses what Encode would not have written.
func DecodeItem(data []byte) (*Item, error) { return decodeWire[Item]("item", data, maxItemBytes) }

func (i *Item) wireCheck() error {
	return wireAll(wireVersion(i.V), wireRun(i.Run), wireBetween("number", int64(i.Number), 0, MaxTotal-1))
}

// Encode checks the admission and gives its wire form.
func (a *Admission) Encode() ([]byte, error) { return encodeWire("admission", a, maxAdmissionBytes) }

// DecodeAdmission reads an admission; it refuses what Encode would not have written.
func DecodeAdmission(data []byte) (*Admission, error) {
	return decodeWire[Admission]("admission", data, maxAdmissionBytes)
}

func (a *Admission) wireCheck() error {
	return wireAll(
		wireVersion(a.V), wireRun(a.Run), wireBetween("number", int64(a.Number), 0, MaxTotal-1),
		wireBetween("attempt", int64(a.Attempt), 1, maxAttempt), wireName("worker", a.Worker))
}

// Encode checks the record and gives its wire form.
func (e *Execution) Encode() ([]byte, error) { return encodeWire("execution", e, maxExecutionBytes) }

// DecodeExecution reads the record of an execution; it refuses what Encode would not have written.
func DecodeExecution(data []byte) (*Execution, error) {
	return decodeWire[Execution]("execution", data, maxExecutionBytes)
}

func (e *Execution) wireCheck() error {
	var outcome, sample, repeat error
	if !slices.Contains([]Outcome{Success, Error, Timeout, Cancelled, NotStarted}, e.Outcome) {
		outcome = fmt.Errorf("outcome: %w: %.20q", messages.ErrInvalid, e.Outcome)
	}
	if len(e.Sample) > 0 {
		if len(e.Sample) > MaxSample || e.Sample[0] != '[' || !json.Valid(e.Sample) {
			sample = fmt.Errorf("sample: %w: it is no JSON array of at most %d bytes", messages.ErrInvalid, MaxSample)
		}
	}
	if e.RepeatOf != nil {
		repeat = wireBetween("repeat_of", int64(*e.RepeatOf), 0, MaxTotal-1)
	}
	return wireAll(
		wireVersion(e.V), wireRun(e.Run), wireBetween("number", int64(e.Number), 0, MaxTotal-1),
		wireBetween("attempt", int64(e.Attempt), 1, maxAttempt), outcome, repeat,
		wireText("role", e.Role), wireText("time_range", e.TimeRange), wireText("kind", e.Kind), wireText("message", e.Message),
		wireDigest("variation_id", e.Variation), wireDigest("filters_hash", e.FiltersHash),
		wireDigest("body_sha256", e.BodySHA256), wireDigest("data_sha256", e.DataSHA256),
		wireBetween("status", int64(e.Status), 0, 999), wireBetween("requests", int64(e.Requests), 0, 1000),
		wireWait("queue_wait_ns", e.Waits.Queue), wireWait("resource_wait_ns", e.Waits.Resource),
		wireWait("upstream_latency_ns", e.Waits.Upstream), wireWait("reader_lag_ns", e.ReaderLag),
		wireBetween("queries", int64(len(e.Queries)), 0, maxQueryOutcomes), wireBetween("filter_rejected", int64(len(e.Rejected)), 0, maxRejected),
		wireName("worker", e.Worker), sample)
}

// Encode checks the profile's frame and gives its wire form. Whether it can be run is for Validate.
func (p *Profile) Encode() ([]byte, error) { return encodeWire("profile", p, maxProfileBytes) }

// DecodeProfile reads a stored profile.
func DecodeProfile(data []byte) (*Profile, error) {
	return decodeWire[Profile]("profile", data, maxProfileBytes)
}

func (p *Profile) wireCheck() error {
	return wireAll(
		wireVersion(p.V), wireName("id", p.ID), wireName("environment", p.Environment), wireText("name", p.Name),
		wireBetween("revision", int64(p.Revision), 1, 1<<31))
}

// Encode checks the run's frame and gives its wire form.
func (r *Run) Encode() ([]byte, error) { return encodeWire("run", r, maxRunBytes) }

// DecodeRun reads the record of a run; it refuses what Encode would not have written.
func DecodeRun(data []byte) (*Run, error) { return decodeWire[Run]("run", data, maxRunBytes) }

func (r *Run) wireCheck() error {
	var state error
	if !slices.Contains([]State{Preparing, Running, Draining, Ended}, r.State) {
		state = fmt.Errorf("state: %w: %.20q", messages.ErrInvalid, r.State)
	}
	return wireAll(
		wireVersion(r.V), wireRun(r.ID), wireName("environment", r.Environment), state,
		wireBetween("total", int64(r.Total), 0, MaxTotal), wireBetween("slots", int64(r.Slots), 0, MaxPlaces),
		wireText("reason", r.Reason))
}

// Encode checks the approval and gives its wire form.
func (a *Approval) Encode() ([]byte, error) { return encodeWire("approval", a, maxApprovalBytes) }

// DecodeApproval reads an approval; it refuses what Encode would not have written.
func DecodeApproval(data []byte) (*Approval, error) {
	return decodeWire[Approval]("approval", data, maxApprovalBytes)
}

func (a *Approval) wireCheck() error {
	return wireAll(wireVersion(a.V), wireName("id", a.ID), wireText("reason", a.Reason), wireText("by", a.By))
}

// Encode checks the progress and gives its wire form.
func (p *Progress) Encode() ([]byte, error) { return encodeWire("progress", p, maxProgressBytes) }

// DecodeProgress reads a progress; it refuses what Encode would not have written.
func DecodeProgress(data []byte) (*Progress, error) {
	return decodeWire[Progress]("progress", data, maxProgressBytes)
}

func (p *Progress) wireCheck() error { return wireAll(wireVersion(p.V), wireRun(p.Run)) }

// Encode checks the errand and gives its wire form.
func (l *LookUp) Encode() ([]byte, error) { return encodeWire("look-up", l, maxLookUpBytes) }

// DecodeLookUp reads an errand; it refuses what Encode would not have written.
func DecodeLookUp(data []byte) (*LookUp, error) {
	return decodeWire[LookUp]("look-up", data, maxLookUpBytes)
}

func (l *LookUp) wireCheck() error {
	return wireAll(
		wireVersion(l.V), wireName("id", l.ID), wireName("environment", l.Environment), wireDigest("definition", l.Definition),
		wireText("dashboard", l.Dashboard), wireText("tab", l.Tab), wireText("role", l.Role))
}

// Encode checks the snapshot's frame and gives its wire form.
func (s *Snapshot) Encode() ([]byte, error) { return encodeWire("snapshot", s, MaxFileBytes) }

// DecodeSnapshot reads a snapshot; it refuses what Encode would not have written.
func DecodeSnapshot(data []byte) (*Snapshot, error) {
	return decodeWire[Snapshot]("snapshot", data, MaxFileBytes)
}

func (s *Snapshot) wireCheck() error {
	return wireAll(wireVersion(s.V), wireDigest("id", s.ID), wireName("environment", s.Environment))
}

// Encode checks the selection's frame and gives its wire form.
func (s *Selection) Encode() ([]byte, error) { return encodeWire("selection", s, MaxFileBytes) }

// DecodeSelection reads a selection; it refuses what Encode would not have written.
func DecodeSelection(data []byte) (*Selection, error) {
	return decodeWire[Selection]("selection", data, MaxFileBytes)
}

func (s *Selection) wireCheck() error {
	return wireAll(wireVersion(s.V), wireBetween("variations", int64(len(s.Variations)), 0, MaxTotal))
}
