package load_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/load"
)

func TestLR_5_3_TheDataDigestIsOfTheRawDataOfEachQuery(t *testing.T) {
	queries := []string{
		`[{"order_month": 1785542400000, "region": "EU", "revenue": 1250.5}, {"order_month": 1785542400000, "region": "APAC", "revenue": 980.0}]`,
		`[{"revenue": 2230.5}]`,
	}
	d := load.NewDataDigest()
	for _, q := range queries {
		if err := d.Begin(int64(len(q))); err != nil {
			t.Fatal(err)
		}
		for piece := range strings.SplitSeq(q, " ") { // in pieces of any size
			for _, p := range []string{piece, " "} {
				if _, err := d.Write([]byte(p)); err != nil && p != " " {
					t.Fatal(err)
				}
			}
		}
	}
	if got, err := d.Sum(); err != nil || got != "3ef2857cec20750975d45ac73e5845eff3193bb98827edf2b6a8349880a81af0" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestADataDigestRefusesBytesItWasNotToldOf(t *testing.T) {
	d := load.NewDataDigest()
	if err := d.Begin(2); err != nil {
		t.Fatal(err)
	}
	_, errLong := d.Write([]byte("[1]"))
	_, errSum := d.Sum()
	if !errors.Is(errLong, load.ErrDigest) || !errors.Is(errSum, load.ErrDigest) || !errors.Is(d.Begin(1), load.ErrDigest) {
		t.Errorf("%v, %v", errLong, errSum)
	}
	if _, err := d.Write([]byte("[]")); err != nil {
		t.Error(err)
	}
	if sum, err := d.Sum(); err != nil || len(sum) != 64 {
		t.Errorf("%s, %v", sum, err)
	}
	other := load.NewDataDigest()
	if err := errors.Join(other.Begin(0), other.Begin(0)); err != nil {
		t.Error(err)
	}
	x, _ := other.Sum()
	y, _ := load.NewDataDigest().Sum()
	if x == y {
		t.Error("two queries without data are none")
	}
}

func TestLR_5_5_ASampleHasTheFirstRowsWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bounds := load.SampleBounds{Rows: rapid.IntRange(1, 6).Draw(t, "rows"), Bytes: rapid.IntRange(1, 40).Draw(t, "bytes")}
		s := load.NewSampler(bounds)
		var want []string
		size, closed := 2, false
		for _, n := range rapid.SliceOfN(rapid.IntRange(1, 20), 0, 10).Draw(t, "sizes") {
			r := strings.Repeat("1", n)
			more := n
			if len(want) > 0 {
				more++
			}
			fits := !closed && len(want) < bounds.Rows && size+more <= bounds.Bytes
			if fits != (s.Room() >= n) {
				t.Fatalf("room is %d for a row of %d: fits %t", s.Room(), n, fits)
			}
			if fits {
				want = append(want, r)
				size += more
			}
			closed = closed || !fits
			if fits || rapid.Bool().Draw(t, "hold") {
				s.Add([]byte(r))
			} else {
				s.Skip()
			}
		}
		sample, truncated := s.Sample()
		if text := "[" + strings.Join(want, ",") + "]"; string(sample) != text || truncated != closed {
			t.Errorf("%s, %t, want %s, %t", sample, truncated, text, closed)
		}
	})
}

func TestLR_5_5_TheBoundsOfASampleAreTheGreatest(t *testing.T) {
	for _, b := range []load.SampleBounds{{}, {Rows: 1000, Bytes: 1 << 30}, {Rows: -1, Bytes: -1}} {
		s := load.NewSampler(b)
		for range 101 {
			s.Add([]byte(`{"a":1}`))
		}
		sample, truncated := s.Sample()
		var rows []any
		if err := json.Unmarshal(sample, &rows); err != nil || len(rows) != 100 || !truncated {
			t.Errorf("%d rows, %t, %v", len(rows), truncated, err)
		}
		s = load.NewSampler(b)
		s.Add([]byte(`"` + strings.Repeat("x", 262_144) + `"`))
		s.Add([]byte("1"))
		if sample, truncated := s.Sample(); string(sample) != "[]" || !truncated {
			t.Errorf("%.20s, %t", sample, truncated)
		}
		s = load.NewSampler(b)
		s.Add([]byte(`"` + strings.Repeat("x", 262_140) + `"`))
		if sample, truncated := s.Sample(); len(sample) != 262_144 || truncated {
			t.Errorf("%d bytes, %t", len(sample), truncated)
		}
	}
}

func TestTheOutcomeTableHolds(t *testing.T) {
	answered := load.Exchange{Status: 200, Whole: true, JSON: true, Entries: 2, Queries: 2}
	for _, c := range []struct {
		name    string
		edit    func(x *load.Exchange)
		outcome load.Outcome
		kind    string
	}{
		{"an entry for each query", func(*load.Exchange) {}, load.Success, ""},
		{"not JSON", func(x *load.Exchange) { x.JSON = false }, load.Error, load.BadBody},
		{"no list", func(x *load.Exchange) { x.Entries = -1; x.Queries = -1 }, load.Error, load.BadBody},
		{"too few entries", func(x *load.Exchange) { x.Entries = 1 }, load.Error, load.BadBody},
		{"too many entries", func(x *load.Exchange) { x.Entries = 3 }, load.Error, load.BadBody},
		{"the login page", func(x *load.Exchange) { x.Login = true; x.JSON = false }, load.Error, load.Auth},
		{"a redirect to it", func(x *load.Exchange) { x.Login, x.Status = true, 302 }, load.Error, load.Auth},
		{"another redirect", func(x *load.Exchange) { x.Status = 302 }, load.Error, load.BadBody},
		{"202 that was not followed", func(x *load.Exchange) { x.Status = 202 }, load.Error, load.BadBody},
		{"a query failed", func(x *load.Exchange) { x.Status, x.Message = 400, "Error: canceling statement" }, load.Error, load.QueryFailed},
		{"another 400", func(x *load.Exchange) { x.Status, x.Message = 400, "Request is incorrect: Error: x" }, load.Error, load.BadRequest},
		{"401", func(x *load.Exchange) { x.Status = 401 }, load.Error, load.Auth},
		{"403", func(x *load.Exchange) { x.Status = 403 }, load.Error, load.Forbidden},
		{"404", func(x *load.Exchange) { x.Status = 404 }, load.Error, load.NotFound},
		{"408", func(x *load.Exchange) { x.Status = 408 }, load.Error, load.ClientError},
		{"422", func(x *load.Exchange) { x.Status = 422 }, load.Error, load.ClientError},
		{"429", func(x *load.Exchange) { x.Status = 429 }, load.Error, load.RateLimited},
		{"500", func(x *load.Exchange) { x.Status = 500 }, load.Error, load.ServerError},
		{"501", func(x *load.Exchange) { x.Status = 501 }, load.Error, load.ServerError},
		{"502", func(x *load.Exchange) { x.Status, x.Whole = 502, false }, load.Error, load.Gateway},
		{"503", func(x *load.Exchange) { x.Status = 503 }, load.Error, load.Gateway},
		{"504", func(x *load.Exchange) { x.Status = 504 }, load.Error, load.Gateway},
		{"no answer", func(x *load.Exchange) { x.Status = 0 }, load.Error, load.Transport},
		{"cut short", func(x *load.Exchange) { x.Whole = false }, load.Error, load.Transport},
		{"our deadline", func(x *load.Exchange) { x.Deadline, x.Whole = true, false }, load.Timeout, load.Deadline},
		{"abandoned", func(x *load.Exchange) { x.Abandoned, x.Deadline, x.Status = load.DrainOver, true, 0 }, load.Cancelled, load.DrainOver},
	} {
		x := answered
		c.edit(&x)
		if outcome, kind := load.OutcomeOf(x); outcome != c.outcome || kind != c.kind {
			t.Errorf("%s is %s %s, want %s %s", c.name, outcome, kind, c.outcome, c.kind)
		}
	}
}

func TestLR_10_3_TheGateHashIsThatOfTheVectors(t *testing.T) {
	type vector struct {
		ID string `json:"id"`
		In struct {
			Kind   string          `json:"kind"`
			Inputs load.GateInputs `json:"inputs"`
		} `json:"in"`
		Want struct {
			Hash string `json:"gate_hash"`
		} `json:"want"`
	}
	seen := 0
	for _, v := range readVectors[vector](t, "canonical_json.json") {
		if v.In.Kind != "gate" {
			continue
		}
		seen++
		if got, err := load.GateHash(v.In.Inputs); err != nil || got != v.Want.Hash {
			t.Errorf("%s has %s, %v", v.ID, got, err)
		}
	}
	if seen == 0 {
		t.Error("no gate among the vectors")
	}
	got, err := load.GateHash(load.GateInputs{Profile: "prof-7", Revision: 3, Effective: 5, Estimated: 96, Environment: "env-prod-eu", Fingerprint: "sha256:9c41"})
	if err != nil || got != "be4f0a63b04893de4585f88932417fc080a0ad99f310fddd6c89c8521a596413" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestLR_10_3_EveryChangeOfAnInputChangesTheGate(t *testing.T) {
	base := load.GateInputs{Profile: "p", Revision: 1, Effective: 2, Estimated: 3, Environment: "e", Fingerprint: "f"}
	hashes := map[string]bool{}
	for _, edit := range []func(g *load.GateInputs){
		func(*load.GateInputs) {}, func(g *load.GateInputs) { g.Profile = "q" }, func(g *load.GateInputs) { g.Revision++ }, func(g *load.GateInputs) { g.Effective++ },
		func(g *load.GateInputs) { g.Estimated++ }, func(g *load.GateInputs) { g.Environment = "E" }, func(g *load.GateInputs) { g.Fingerprint = "" },
	} {
		g := base
		edit(&g)
		hash, err := load.GateHash(g)
		if err != nil || hashes[hash] {
			t.Errorf("%+v: %s, %v", g, hash, err)
		}
		hashes[hash] = true
	}
	for _, g := range []load.GateInputs{{Profile: "\xff"}, {Estimated: 1 << 60}} {
		if hash, err := load.GateHash(g); err == nil {
			t.Errorf("%+v has %s", g, hash)
		}
	}
}
