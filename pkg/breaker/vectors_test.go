package breaker_test

import (
	"encoding/json"
	"math/big"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/breaker"
)

// vector is one case of a breaker's rules: a run-length list of completions, and how the breaker stands after them.
type vector struct {
	ID string `json:"id"`
	In struct {
		Config struct {
			Enabled    bool         `json:"enabled"`
			Window     int          `json:"window"`
			Minimum    int          `json:"min_samples"`
			ErrorRate  string       `json:"error_rate_threshold"`
			Multiplier string       `json:"latency_multiplier"`
			Reference  *json.Number `json:"reference_p99_ms"`
			Absolute   *json.Number `json:"absolute_p99_ms"`
		} `json:"config"`
		Events [][]any `json:"events"`
	} `json:"in"`
	Want json.RawMessage `json:"want"`
}

type stands struct {
	State      string         `json:"state"`
	Intake     string         `json:"intake"`
	Error      triggerVector  `json:"error_trigger"`
	Latency    triggerVector  `json:"latency_trigger"`
	Trip       *tripVector    `json:"trip"`
	Completed  int            `json:"completed"`
	AfterTrip  int            `json:"completed_after_trip"`
	NotStarted int            `json:"not_completed"`
	Warming    *warmingVector `json:"warming"`
}

type triggerVector struct {
	State     string   `json:"state"`
	Reason    *string  `json:"reason"`
	Threshold *float64 `json:"threshold_ms"`
	Basis     *string  `json:"basis"`
}

type tripVector struct {
	At        int           `json:"at_completed"`
	Completed int           `json:"window_completed"`
	Failures  int           `json:"window_failures"`
	Successes int           `json:"window_successes"`
	Triggers  []firedVector `json:"triggers"`
}

type firedVector struct {
	Metric    string `json:"metric"`
	Observed  any    `json:"observed"`
	Threshold any    `json:"threshold"`
}

type warmingVector struct {
	Error   bool  `json:"error"`
	Latency *bool `json:"latency"`
}

func TestABreakerStandsAsTheVectorsSay(t *testing.T) {
	data, err := os.ReadFile("testdata/breaker_vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Vectors []vector }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) < 40 {
		t.Fatalf("%d vectors", len(file.Vectors))
	}
	for _, v := range file.Vectors {
		t.Run(v.ID, func(t *testing.T) {
			var want stands
			if err := json.Unmarshal(v.Want, &want); err != nil {
				t.Fatal(err)
			}
			b := v.breaker(t)
			for _, event := range v.In.Events {
				for range int(event[0].(float64)) {
					b.Add(completionOf(t, event))
				}
			}
			if diff := cmp.Diff(want, standing(b, v.In.Config.ErrorRate)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func (v *vector) breaker(t *testing.T) *breaker.Breaker {
	t.Helper()
	in := v.In.Config
	cfg := breaker.Config{
		Disabled: !in.Enabled, Window: in.Window, Minimum: in.Minimum, ErrorRate: exactly(t, in.ErrorRate), Multiplier: exactly(t, in.Multiplier),
	}
	if in.Reference != nil {
		cfg.Reference = rat(t, in.Reference.String())
	}
	if in.Absolute != nil {
		cfg.Absolute = rat(t, in.Absolute.String())
	}
	b, err := breaker.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func exactly(t *testing.T, text string) *big.Rat {
	t.Helper()
	r, err := breaker.ParseDecimal(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rat(t *testing.T, text string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is no number", text)
	}
	return r
}

func completionOf(t *testing.T, event []any) breaker.Completion {
	t.Helper()
	switch event[1].(string) {
	case "s":
		return breaker.Completion{Outcome: breaker.Success, Latency: time.Duration(event[2].(float64) * float64(time.Millisecond))}
	case "e":
		return breaker.Completion{Outcome: breaker.Error, Kind: "server_error"}
	case "t":
		return breaker.Completion{Outcome: breaker.Timeout}
	case "c":
		return breaker.Completion{Outcome: breaker.Cancelled}
	}
	t.Fatalf("event %v", event)
	return breaker.Completion{}
}

// standing writes a status as the vectors do.
func standing(b *breaker.Breaker, rate string) stands {
	s := b.Status()
	out := stands{
		State: string(s.State), Intake: "open", Error: triggerOf(s.Error), Latency: triggerOf(s.Latency),
		Completed: s.Completed, AfterTrip: s.AfterTrip, NotStarted: s.Cancelled,
	}
	out.Error.Threshold = nil // the vectors leave it out
	if s.IntakeClosed {
		out.Intake = "closed"
	}
	if s.State == breaker.Armed {
		out.Warming = &warmingVector{Error: s.Error.Warming}
		if s.Latency.State == breaker.Armed {
			out.Warming.Latency = &s.Latency.Warming
		}
	}
	if s.Trip == nil {
		return out
	}
	out.Trip = &tripVector{At: s.Trip.AtCompleted, Completed: s.Trip.Completed, Failures: s.Trip.Failures, Successes: s.Trip.Successes}
	for _, f := range s.Trip.Fired {
		fired := firedVector{Metric: string(f.Metric), Threshold: rate}
		if f.Metric == breaker.ErrorRate {
			fired.Observed = map[string]any{"num": float64(f.Share.Failures), "den": float64(f.Share.Completed)}
		} else {
			fired.Observed = float64(f.Latency) / float64(time.Millisecond)
			fired.Threshold, _ = f.Threshold.Float64()
		}
		out.Trip.Triggers = append(out.Trip.Triggers, fired)
	}
	return out
}

func triggerOf(t breaker.Trigger) triggerVector {
	out := triggerVector{State: string(t.State)}
	if t.Reason != "" {
		out.Reason = &t.Reason
	}
	if t.Threshold != nil {
		ms, _ := t.Threshold.Float64()
		out.Threshold = &ms
	}
	if t.Basis != "" {
		basis := string(t.Basis)
		out.Basis = &basis
	}
	return out
}
