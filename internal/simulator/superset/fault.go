package superset

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Action is what a fault does.
type Action string

// The actions.
const (
	Status        Action = "status"         // Status with its faithful body, or that of a proxy if HTML
	LoginRedirect Action = "login_redirect" // 302 to the login page
	Refuse        Action = "refuse"         // the connection is reset before anything is answered
	ResetBody     Action = "reset_body"     // likewise after Bytes of the body
	CutBody       Action = "cut_body"       // the connection is closed after Bytes of the body
	WrongJSON     Action = "wrong_json"     // the answer is followed by Message, so that it is not JSON
	HTMLBody      Action = "html_body"      // 200 with an HTML page
	Spoil         Action = "spoil"          // members of query objects are set, left out, or the object replaced
	ResultLength  Action = "result_length"  // result has Length entries
	SlowHeaders   Action = "slow_headers"   // Delay before the status line
	Hang          Action = "hang"           // no answer until the client gives up, or the server closes
	RevokeToken   Action = "revoke_token"   // the caller's access tokens end, this one included
	RejectFilter  Action = "reject_filter"  // filters on Column (empty: all) are not applied
	QueryFailed   Action = "query_failed"   // query object Query fails in the database, those before it are stored
)

func actions() []Action {
	return []Action{
		Status, LoginRedirect, Refuse, ResetBody, CutBody, WrongJSON, HTMLBody, Spoil, ResultLength, SlowHeaders, Hang, RevokeToken,
		RejectFilter, QueryFailed,
	}
}

// Match says which requests a fault is for. Empty members match all.
type Match struct {
	Route string `json:"route"` // its name in Stats; empty: chart_data; *: all
	Chart int64  `json:"chart"`
	Role  string `json:"role"`
	// From and To bound the ordinal of the request on its route, from 1.
	From     int           `json:"from"`
	To       int           `json:"to"`
	Rate     float64       `json:"rate"`     // the chance of a strike: of identity, payload and attempt, not of the order of arrival. 0: always
	Attempts int           `json:"attempts"` // the first so many of each identity and payload
	Times    int           `json:"times"`    // strikes in all
	Begin    time.Duration `json:"begin"`    // after the server's start, by its clock
	End      time.Duration `json:"end"`      // likewise; 0: never
}

// Fault is a rule of the fault plan: the first that matches is a request's fault.
type Fault struct {
	Match      Match                      `json:"match"`
	Action     Action                     `json:"action"`
	Status     int                        `json:"status"`
	HTML       bool                       `json:"html"`
	Message    string                     `json:"message"`     // in place of the usual words
	RetryAfter int                        `json:"retry_after"` // seconds, with a status; 0: no header
	Delay      time.Duration              `json:"delay"`
	Bytes      int64                      `json:"bytes"`
	Query      int                        `json:"query"` // index of a query object; -1 with spoil: all
	Set        map[string]json.RawMessage `json:"set"`
	Drop       []string                   `json:"drop"`
	Replace    json.RawMessage            `json:"replace"`
	Length     int                        `json:"length"`
	Column     string                     `json:"column"`
}

func (f Fault) validate() error {
	errs := []error{
		within("from", f.Match.From, 0, 1<<40), within("to", f.Match.To, 0, 1<<40), within("attempts", f.Match.Attempts, 0, 1<<40),
		within("times", f.Match.Times, 0, 1<<40), within("delay", f.Delay, 0, MaxWait), within("bytes", f.Bytes, 0, 1<<40),
		within("query", f.Query, -1, maxQueries), within("length", f.Length, 0, 10*maxQueries), within("retry_after", f.RetryAfter, 0, 1<<31),
	}
	if !slices.Contains(actions(), f.Action) {
		errs = append(errs, fmt.Errorf("action is %q, must be one of %q", f.Action, actions()))
	}
	if f.Action == Status && (f.Status < 400 || f.Status > 599) {
		errs = append(errs, fmt.Errorf("status is %d, must be 400 to 599", f.Status))
	}
	if !(f.Match.Rate >= 0 && f.Match.Rate <= 1) {
		errs = append(errs, fmt.Errorf("rate is %v, must be 0 to 1", f.Match.Rate))
	}
	return errors.Join(errs...)
}

// FaultMix is a plan in which a request of chart/data goes wrong with the given chance, in one of four ways that are equally likely: 500, 503, a reset
// connection, a body cut short.
func FaultMix(rate float64) []Fault {
	if rate <= 0 {
		return nil // a fault without a rate strikes always
	}
	kinds := []Fault{{Action: Status, Status: 500}, {Action: Status, Status: 503}, {Action: Refuse}, {Action: CutBody, Bytes: 512}}
	share, passed := rate/float64(len(kinds)), 1.0 // passed is the chance that no earlier rule struck
	for i := range kinds {
		kinds[i].Match.Rate = min(1, share/passed)
		passed -= share
	}
	return kinds
}

// script is a fault plan under way. Safe for concurrent use.
type script struct {
	seed uint64

	mu      sync.Mutex // guards strikes
	faults  []Fault
	strikes []int
}

// draw is what chance holds for one request.
type draw struct{ fault Fault } // without an action: none

func newScript(seed uint64, faults []Fault) *script {
	return &script{seed: seed, faults: faults, strikes: make([]int, len(faults))}
}

// next draws for one request; age is the time since the server's start by its clock.
func (s *script) next(r *Request, age time.Duration) draw {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.faults {
		chance := unit(hashText(s.seed+uint64(i), r.Identity, r.Route, r.PayloadHash, fmt.Sprint(r.Attempt)))
		if f.Match.holds(r, age, chance) && (f.Match.Times == 0 || s.strikes[i] < f.Match.Times) {
			s.strikes[i]++
			return draw{f}
		}
	}
	return draw{}
}

func (m Match) holds(r *Request, age time.Duration, chance float64) bool {
	switch {
	case m.Route != "*" && r.Route != first(m.Route, ChartData):
	case m.Chart != 0 && r.Chart != m.Chart:
	case m.Role != "" && r.Role != m.Role:
	case r.RouteOrdinal < m.From, m.To > 0 && r.RouteOrdinal > m.To:
	case m.Rate > 0 && chance >= m.Rate:
	case m.Attempts > 0 && r.Attempt > m.Attempts:
	case age < m.Begin, m.End > 0 && age >= m.End:
	default:
		return true
	}
	return false
}

// pass lets a request through to its handler, or answers in its place.
func (x *exchange) pass() bool {
	if x.record.Route == "health" {
		return true
	}
	if !x.s.stills.pass(x) {
		x.gone = true
		return false
	}
	if !x.withinLimit() {
		return false
	}
	x.fault = x.st.script.next(x.record, x.s.Now().Sub(x.st.origin))
	f := x.fault.fault
	switch f.Action {
	case Status:
		if f.RetryAfter > 0 {
			x.headers.Set("Retry-After", fmt.Sprint(f.RetryAfter))
		}
		x.faithful(f.Status, f.Message, f.HTML)
	case LoginRedirect:
		x.redirect("/login/")
	case HTMLBody:
		x.text(http.StatusOK, "text/html; charset=utf-8", first(f.Message, "<!doctype html><title>Superset</title>\n"))
	case Refuse:
		x.breakOff()
	case Hang:
		select {
		case <-x.r.Context().Done():
		case <-x.s.background.Done():
		}
		x.breakOff()
	case SlowHeaders:
		if !x.wait(f.Delay) {
			x.gone = true
			return false
		}
		x.setChannel()
		return true
	case RevokeToken:
		if x.caller != nil {
			x.s.tokens.revoke(x.caller.name)
			x.caller, x.denied = nil, &refusal{http.StatusUnauthorized, msg(errRevoked.Error())}
		}
		return true
	case ResetBody, CutBody:
		x.cutAfter = max(1, f.Bytes)
		x.setChannel()
		return true
	default:
		x.setChannel()
		return true
	}
	return false
}

// breakOff leaves and ends the connection: with a reset, or, where a body was to be cut short, an ordinary end.
func (x *exchange) breakOff() {
	x.gone = true
	x.leave()
	if x.fault.fault.Action != CutBody {
		if hijacker, ok := x.w.(http.Hijacker); ok {
			if conn, _, err := hijacker.Hijack(); err == nil {
				if tcp, ok := conn.(*net.TCPConn); ok {
					_ = tcp.SetLinger(0) // else it ends without a reset
				}
				_ = conn.Close() // it ends one way or the other
			}
		}
	}
	panic(http.ErrAbortHandler)
}

// spoil changes members of a query object.
func (f Fault) spoil(fields []field) []field {
	fields = slices.DeleteFunc(slices.Clone(fields), func(m field) bool { return slices.Contains(f.Drop, m.name) })
	names := make([]string, 0, len(f.Set))
	for name := range f.Set {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		at := slices.IndexFunc(fields, func(m field) bool { return m.name == name })
		if at < 0 {
			at, fields = len(fields), append(fields, field{name: name})
		}
		fields[at] = field{name: name, value: string(f.Set[name])}
	}
	return fields
}
