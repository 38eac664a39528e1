package superset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// controlPrefix is where the paths about the server itself begin. They are never counted, delayed, refused or faulted, and ask for no
// credentials.
const controlPrefix = "/_fake/"

// maxControlBody bounds the body of a control request.
const maxControlBody = 1 << 20

// controlPaths are the paths about the server itself. Durations are texts such as "1h30m" or numbers of nanoseconds:
//
//	GET  /_fake/stats?log=N            Stats with the latest N requests, 0 unless said
//	GET  /_fake/cache                  what the data cache holds
//	GET  /_fake/config                 the configuration
//	POST /_fake/config                 change some of it; what is left out stays
//	POST /_fake/faults                 {"faults": […]}: another fault plan
//	POST /_fake/clock                  {"advance": "15m"}
//	POST /_fake/freeze                 {"for": "3s"}
//	POST /_fake/mark                   {"name": …}
//	POST /_fake/revoke                 {"identity": …}
//	POST /_fake/dependents             {"dataset": 31, "charts": […], "dashboards": […]}; {"dataset": 31, "reset": true}
//	POST /_fake/reset                  Reset
func (s *Server) controlPaths() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+controlPrefix+"stats", func(w http.ResponseWriter, r *http.Request) {
		last, err := strconv.Atoi(first(r.URL.Query().Get("log"), "0"))
		if err != nil || last < 0 {
			controlError(w, fmt.Errorf("log: must be a number of requests"))
			return
		}
		controlReply(w, s.statsWith(last))
	})
	mux.HandleFunc("GET "+controlPrefix+"cache", func(w http.ResponseWriter, _ *http.Request) { controlReply(w, s.Cache()) })
	mux.HandleFunc("GET "+controlPrefix+"config", func(w http.ResponseWriter, _ *http.Request) { controlReply(w, s.Config()) })
	post := func(name string, do func(body []byte) (any, error)) {
		mux.HandleFunc("POST "+controlPrefix+name, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxControlBody))
			if err != nil {
				controlError(w, fmt.Errorf("read body: %w", err))
				return
			}
			out, err := do(body)
			if err != nil {
				controlError(w, err)
				return
			}
			controlReply(w, out)
		})
	}
	post("config", s.controlConfig)
	post("faults", func(body []byte) (any, error) {
		var in struct {
			Faults []Fault `json:"faults"`
		}
		if err := decodeControl(body, &in); err != nil {
			return nil, err
		}
		return in, s.SetFaults(in.Faults...)
	})
	post("dependents", s.controlDependents)
	post("reset", func([]byte) (any, error) { s.Reset(); return s.Counters(), nil })
	s.controlMoments(post)
	return mux
}

// controlMoments are the paths that make something happen now.
func (s *Server) controlMoments(post func(name string, do func(body []byte) (any, error))) {
	type moment struct {
		Advance  time.Duration `json:"advance,omitempty"`
		For      time.Duration `json:"for,omitempty"`
		Name     string        `json:"name,omitempty"`
		Identity string        `json:"identity,omitempty"`
		Now      time.Time     `json:"now"`
	}
	on := func(name string, do func(in moment) error) {
		post(name, func(body []byte) (any, error) {
			var in moment
			if err := decodeControl(body, &in); err != nil {
				return nil, err
			}
			err := do(in)
			in.Now = s.Now()
			return in, err
		})
	}
	on("clock", func(in moment) error {
		if err := within("advance", in.Advance, 0, 10_000*time.Hour); err != nil {
			return err
		}
		s.Advance(in.Advance)
		return nil
	})
	on("freeze", func(in moment) error {
		if err := within("for", in.For, 0, MaxWait); err != nil {
			return err
		}
		s.Freeze(in.For)
		return nil
	})
	on("mark", func(in moment) error {
		if len(in.Name) > 200 {
			return fmt.Errorf("name: longer than 200 bytes")
		}
		s.Mark(in.Name)
		return nil
	})
	on("revoke", func(in moment) error { s.RevokeTokens(in.Identity); return nil })
}

func (s *Server) controlConfig(body []byte) (any, error) {
	var refused error
	err := s.Update(func(c *Config) {
		next := *c
		var named map[string]json.RawMessage
		if json.Unmarshal(body, &named) == nil && named["faults"] != nil {
			next.Faults = nil // else old rules would shine through new ones
		}
		if refused = decodeControl(body, &next); refused == nil {
			*c = next
		}
	})
	if refused != nil {
		err = refused
	}
	return s.Config(), err
}

func (s *Server) controlDependents(body []byte) (any, error) {
	var in struct {
		Dataset    int64              `json:"dataset"`
		Reset      bool               `json:"reset"`
		Charts     []RelatedChart     `json:"charts"`
		Dashboards []RelatedDashboard `json:"dashboards"`
	}
	if err := decodeControl(body, &in); err != nil {
		return nil, err
	}
	if in.Reset {
		s.SetDependents(in.Dataset, nil)
	} else {
		s.SetDependents(in.Dataset, &Dependents{in.Charts, in.Dashboards})
	}
	return in, nil
}

// decodeControl reads a body in which durations may be texts, and refuses what it does not know.
func decodeControl(body []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return fmt.Errorf("read body: %w", err)
	}
	if err := spans(v, ""); err != nil {
		return err
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("read body: %w", err)
	}
	decoder = json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("read body: %w", err)
	}
	return nil
}

// spans turns texts of durations into nanoseconds, in place. Members of set and replace are the fault's own and stay.
func spans(v any, path string) error {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if name == "set" || name == "replace" {
				continue
			}
			if text, ok := member.(string); ok && isSpan(name) {
				d, err := time.ParseDuration(text)
				if err != nil {
					return fmt.Errorf("%s%s: %w", path, name, err)
				}
				v[name] = int64(d)
				continue
			}
			if err := spans(member, path+name+"."); err != nil {
				return err
			}
		}
	case []any:
		for _, element := range v {
			if err := spans(element, path); err != nil {
				return err
			}
		}
	}
	return nil
}

func isSpan(name string) bool {
	return slices.Contains([]string{
		"advance", "for", "access_ttl", "guest_ttl", "change_at", "low", "high", "per_row", "hit", "body_tick", "begin", "end", "delay",
	}, name)
}

func controlReply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(body) // of our own types, to a client that may have gone
}

func controlError(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()}) // likewise
}
