package simulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// maxControlBody bounds the body of a control request, in bytes.
const maxControlBody = 1 << 20

// controlPaths are the paths about the simulator itself:
//
//	GET  /_simulator/counters          Counters
//	GET  /_simulator/requests?last=N   the log, oldest first
//	POST /_simulator/reset             Reset; with ?quota=refill also RefillQuota
//	GET  /_simulator/config            what can be changed, as it is
//	POST /_simulator/config            change some of it; what is left out stays
func (s *Simulator) controlPaths() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+controlPrefix+"counters", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, s.Counters())
	})
	mux.HandleFunc("GET "+controlPrefix+"requests", s.replyRequests)
	mux.HandleFunc("POST "+controlPrefix+"reset", s.replyReset)
	mux.HandleFunc("GET "+controlPrefix+"config", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, formOf(s.Config()))
	})
	mux.HandleFunc("POST "+controlPrefix+"config", s.replyConfig)
	return mux
}

func (s *Simulator) replyRequests(w http.ResponseWriter, r *http.Request) {
	last := maxLogSize
	if text := r.URL.Query().Get("last"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			replyError(w, fmt.Errorf("last: %q is not a number of entries", clip(text)))
			return
		}
		last = n
	}
	reply(w, http.StatusOK, s.seen.latest(last))
}

func (s *Simulator) replyReset(w http.ResponseWriter, r *http.Request) {
	switch quota := r.URL.Query().Get("quota"); quota {
	case "":
	case "refill":
		s.RefillQuota()
	default:
		replyError(w, fmt.Errorf(`quota: %q is not "refill"`, clip(quota)))
		return
	}
	s.Reset()
	reply(w, http.StatusOK, s.Counters())
}

func (s *Simulator) replyConfig(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxControlBody))
	if err != nil {
		replyError(w, fmt.Errorf("read configuration: %w", err))
		return
	}
	var refused error
	err = s.Update(func(c *Config) {
		form := formOf(*c) // decoded over, so that what the body leaves out stays
		if refused = form.decode(body); refused == nil {
			form.apply(c)
		}
	})
	if refused != nil {
		err = refused
	}
	if err != nil {
		replyError(w, err)
		return
	}
	reply(w, http.StatusOK, formOf(s.Config()))
}

// configForm is the part of Config that can be changed over HTTP. Durations are texts such as "1h30m" or "250ms".
type configForm struct {
	Latency           span        `json:"latency"`
	LatencyJitter     span        `json:"latency_jitter"`
	PageRows          int         `json:"page_rows"`
	MaxQueryRows      int64       `json:"max_query_rows"`
	URLBytes          int         `json:"url_bytes"`
	MaxInFlight       int         `json:"max_in_flight"`
	MaxInFlightStatus int         `json:"max_in_flight_status"`
	RequireKey        bool        `json:"require_key"`
	BodyBytes         int         `json:"body_bytes"`
	FirewallBytes     int         `json:"firewall_bytes"`
	CountMatched      bool        `json:"count_matched"`
	SnakeColumns      bool        `json:"snake_columns"`
	CursorTTL         span        `json:"cursor_ttl"`
	Quota             quotaForm   `json:"quota"`
	OpenQuota         quotaForm   `json:"open_quota"`
	Seed              uint64      `json:"seed"`
	Faults            []faultForm `json:"faults"`
	BrokenSites       float64     `json:"broken_sites"`
	BrokenStatus      int         `json:"broken_status"`
	ForeignHost       string      `json:"foreign_host"`
	AliasHost         string      `json:"alias_host"`
	NameAlias         bool        `json:"name_alias"`
	Version           int         `json:"version"` // Values.Version: the record is refreshed
}

type quotaForm struct {
	Limit          int        `json:"limit"`
	AnonymousLimit int        `json:"anonymous_limit"`
	Window         span       `json:"window"`
	Model          QuotaModel `json:"model"`
	RetryAfter     bool       `json:"retry_after"`
	RetryAfterDate bool       `json:"retry_after_date"`
	RefusedCost    bool       `json:"refused_cost"`
}

type faultForm struct {
	Kind     FaultKind `json:"kind"`
	Contains string    `json:"contains,omitempty"`
	After    int       `json:"after,omitempty"`
	Times    int       `json:"times,omitempty"`
	Attempts int       `json:"attempts,omitempty"`
	Rate     float64   `json:"rate,omitempty"`
	Delay    span      `json:"delay,omitzero"`
	Rows     int       `json:"rows,omitempty"`
	Status   int       `json:"status,omitempty"`
}

func formOf(c Config) configForm {
	form := configForm{
		Latency: span(c.Latency), LatencyJitter: span(c.LatencyJitter),
		PageRows: c.PageRows, MaxQueryRows: c.MaxQueryRows, URLBytes: c.URLBytes,
		MaxInFlight: c.MaxInFlight, MaxInFlightStatus: c.MaxInFlightStatus, RequireKey: c.RequireKey,
		BodyBytes: c.BodyBytes, FirewallBytes: c.FirewallBytes, CountMatched: c.CountMatched, SnakeColumns: c.SnakeColumns, CursorTTL: span(c.CursorTTL),
		Quota: formOfQuota(c.Quota), OpenQuota: formOfQuota(c.OpenQuota), AliasHost: c.AliasHost, NameAlias: c.NameAlias,
		BrokenSites: c.BrokenSites, BrokenStatus: c.BrokenStatus,
		Seed: c.Seed, Faults: []faultForm{}, ForeignHost: c.ForeignHost, Version: c.Values.Version,
	}
	for _, f := range c.Faults {
		form.Faults = append(form.Faults, faultForm{
			Kind: f.Kind, Contains: f.Contains, After: f.After, Times: f.Times, Attempts: f.Attempts, Rate: f.Rate, Delay: span(f.Delay),
			Rows: f.Rows, Status: f.Status,
		})
	}
	return form
}

// decode reads one object over the form. A list of faults replaces the old one as a whole.
func (form *configForm) decode(body []byte) error {
	old := form.Faults
	form.Faults = nil // elements decoded over old ones would keep what they leave out
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(form); err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("read configuration: more than one JSON object")
	}
	if form.Faults == nil {
		form.Faults = old
	}
	return nil
}

func (form *configForm) apply(c *Config) {
	c.Latency, c.LatencyJitter = time.Duration(form.Latency), time.Duration(form.LatencyJitter)
	c.PageRows, c.MaxQueryRows, c.URLBytes = form.PageRows, form.MaxQueryRows, form.URLBytes
	c.MaxInFlight, c.MaxInFlightStatus, c.RequireKey = form.MaxInFlight, form.MaxInFlightStatus, form.RequireKey
	c.BodyBytes, c.FirewallBytes, c.CountMatched = form.BodyBytes, form.FirewallBytes, form.CountMatched
	c.SnakeColumns = form.SnakeColumns
	c.CursorTTL, c.AliasHost, c.NameAlias = time.Duration(form.CursorTTL), form.AliasHost, form.NameAlias
	c.Quota, c.OpenQuota = form.Quota.quota(), form.OpenQuota.quota()
	c.Seed, c.ForeignHost, c.Values.Version = form.Seed, form.ForeignHost, form.Version
	c.BrokenSites, c.BrokenStatus = form.BrokenSites, form.BrokenStatus
	c.Faults = nil
	for _, f := range form.Faults {
		c.Faults = append(c.Faults, Fault{
			Kind: f.Kind, Contains: f.Contains, After: f.After, Times: f.Times, Attempts: f.Attempts, Rate: f.Rate, Delay: time.Duration(f.Delay),
			Rows: f.Rows, Status: f.Status,
		})
	}
}

func formOfQuota(q Quota) quotaForm {
	return quotaForm{
		Limit: q.Limit, AnonymousLimit: q.AnonymousLimit, Window: span(q.Window), Model: q.Model,
		RetryAfter: q.RetryAfter, RetryAfterDate: q.RetryAfterDate, RefusedCost: q.RefusedCost,
	}
}

func (q quotaForm) quota() Quota {
	return Quota{
		Limit: q.Limit, AnonymousLimit: q.AnonymousLimit, Window: time.Duration(q.Window), Model: q.Model,
		RetryAfter: q.RetryAfter, RetryAfterDate: q.RetryAfterDate, RefusedCost: q.RefusedCost,
	}
}

// span is a duration that travels as text.
type span time.Duration

// MarshalText writes Go's form of a duration.
func (d span) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads Go's form of a duration.
func (d *span) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf(`%q is not a duration such as "1h30m" or "250ms"`, clip(string(text)))
	}
	*d = span(parsed)
	return nil
}

func reply(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the reader of a control path that left needs nothing
}

func replyError(w http.ResponseWriter, err error) {
	reply(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
}
