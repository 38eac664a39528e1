package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/messages"
)

// refusalsAMinute bounds how many refusals are written down, so that nobody can fill the disk from outside. Those that are left out
// are counted in the next line.
const refusalsAMinute = 300

// Audit writes down who changes what: one line of JSON for each event, to a file if there is one, and the outcomes to the log too. It is safe
// for concurrent use.
type Audit struct {
	file string
	log  *slog.Logger
	now  func() time.Time

	mu      sync.Mutex
	torn    bool // the last line was not written as a whole
	since   time.Time
	refused int // since then
	leftOut int
}

// auditEvent is one line of the audit.
type auditEvent struct {
	V         int       `json:"v"`
	Time      time.Time `json:"time"`
	Event     string    `json:"event"` // started, done, failed, refused, login, logout
	Operation string    `json:"operation"`
	Query     string    `json:"query,omitempty"`
	Load      string    `json:"load,omitempty"` // the load profile or run
	Name      string    `json:"name,omitempty"`
	Team      string    `json:"team,omitempty"`
	Role      string    `json:"role,omitempty"`
	Token     string    `json:"token,omitempty"` // its id
	Remote    string    `json:"remote"`
	RequestID string    `json:"request_id"`
	Status    int       `json:"status,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	LeftOut   int       `json:"left_out,omitempty"` // refusals that were not written down before this one
}

// OpenAudit opens the audit. file may be empty: the log alone is written to. It is an error when the file cannot be written.
func OpenAudit(file string, log *slog.Logger) (*Audit, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	a := &Audit{file: file, log: log, now: time.Now}
	if file == "" {
		return a, nil
	}
	f, err := a.open()
	if err != nil {
		return nil, fmt.Errorf("audit file: %w", err)
	}
	if info, err := f.Stat(); err == nil && hasModes() && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		log.Warn("others may read or write the audit file; chmod 600 it", "file", file, "mode", fmt.Sprintf("%04o", info.Mode().Perm()))
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("audit file: %w", err)
	}
	return a, nil
}

// open opens the file anew for each line, so that whoever moves it away to rotate it need tell nobody.
func (a *Audit) open() (*os.File, error) {
	return os.OpenFile(a.file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}

func (a *Audit) event(r *http.Request, what string) auditEvent {
	v := visitOf(r.Context())
	e := auditEvent{V: 1, Time: a.now().UTC(), Event: what, Operation: v.operation, Query: messages.Text(v.query), Remote: addressOf(r), RequestID: v.requestID}
	if v.ofLoad {
		e.Query, e.Load = "", e.Query
	}
	if p := v.principal; p != nil {
		e.Name, e.Team, e.Role, e.Token = p.Name, p.Team, string(p.Role), p.Token
	}
	return e
}

// begin writes down that a change begins. When that is not possible the change must not be made.
func (a *Audit) begin(r *http.Request) error {
	if err := a.write(a.event(r, "started")); err != nil {
		a.log.Error("a change is refused, as it cannot be written down", "audit", true, "request_id", visitOf(r.Context()).requestID, "error", err)
		return err
	}
	return nil
}

// end writes down how a change ended; ended is false when it threw.
func (a *Audit) end(r *http.Request, ended bool) {
	e := a.event(r, "done")
	if answer := visitOf(r.Context()).answer; answer != nil {
		e.Status = answer.status
	}
	switch {
	case !ended:
		e.Event = "failed"
	case e.Status == http.StatusForbidden:
		e.Event = "refused"
	case e.Status >= http.StatusBadRequest:
		e.Event = "failed"
	}
	a.tell(e)
	if err := a.write(e); err != nil {
		a.log.Error("how a change ended cannot be written down", "audit", true, "request_id", e.RequestID, "error", err)
	}
}

// refusal writes down that somebody was not let in, and why: an error of a kind, or a problem.
func (a *Audit) refusal(r *http.Request, why error) {
	e := a.event(r, "refused")
	e.Reason, e.Status = messages.Text(why.Error()), contract.KindOf(why).Status
	if p, ok := errors.AsType[*contract.Problem](why); ok {
		e.Status = p.Status
	}
	var wanted bool
	if e.LeftOut, wanted = a.mayTell(e.Time); !wanted {
		return
	}
	a.tell(e)
	if err := a.write(e); err != nil {
		a.log.Error("a refusal cannot be written down", "audit", true, "request_id", e.RequestID, "error", err)
	}
}

// mayTell bounds refusals, and gives how many were left out before.
func (a *Audit) mayTell(now time.Time) (leftOut int, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Sub(a.since) >= time.Minute || now.Before(a.since) {
		a.since, a.refused = now, 0
	}
	if a.refused >= refusalsAMinute {
		a.leftOut++
		return 0, false
	}
	a.refused++
	leftOut, a.leftOut = a.leftOut, 0
	return leftOut, true
}

func (a *Audit) tell(e auditEvent) {
	a.log.Info("audit", "audit", true, "event", e.Event, "operation", e.Operation, "query", e.Query, "load", e.Load, "name", e.Name, "team", e.Team, "role", e.Role, "token_id", e.Token, // under its own name it would be taken out of the log

		"remote", e.Remote, "request_id", e.RequestID, "status", e.Status, "reason", e.Reason, "left_out", e.LeftOut)
}

// write appends a line to the file. A line that was cut short, as by a full disk, is ended before the next one.
func (a *Audit) write(e auditEvent) error {
	if a.file == "" {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode audit event: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	f, err := a.open()
	if err != nil {
		return fmt.Errorf("audit file: %w", err)
	}
	line = append(line, '\n')
	if a.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := f.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if n > 0 {
		a.torn = n < len(line)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("audit file: %w", err)
	}
	return nil
}
