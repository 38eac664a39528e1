package query

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/service"
)

func spec() *Spec {
	return &Spec{
		V:          1,
		Name:       "flow",
		Service:    "usgs-waterdata",
		Collection: "daily",
		Values:     service.Values{"b": {"00060"}, "a": {"<x>"}},
		Select:     []string{"time"},
		Run:        Run{OnQuota: OnQuota{WaitUpTo: Duration(3 * time.Hour), Then: ThenPause}},
		MaxChunks:  5,
	}
}

func TestTheUsualWayAfterAFailureIsTheSameWrittenOrNot(t *testing.T) {
	file := "schema: query/v1\nservice: s\ncollection: c\nwhere: {}\n"
	for rule, want := range map[string]string{"": "", "run: {on_failure: stop}": "", "run: {on_failure: finish}": "finish"} {
		q, err := Parse("q.yaml", []byte(file+rule+"\n"))
		if err != nil || string(q.Run.OnFailure) != want {
			t.Errorf("%q is read as %q, %v", rule, q.Run.OnFailure, err)
		}
	}
	if _, err := Parse("q.yaml", []byte(file+"run: {on_failure: go}\n")); err == nil || !strings.Contains(err.Error(), "run.on_failure") || !strings.Contains(err.Error(), "finish") {
		t.Errorf("a rule that is none gives %v", err)
	}
	s := spec()
	s.Run.OnFailure = "go"
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "run.on_failure") {
		t.Errorf("in a spec it gives %v", err)
	}
	for _, rule := range []OnFailure{FailureStop, FailureFinish} {
		s.Run.OnFailure = rule
		if err := s.Validate(); err != nil {
			t.Errorf("%s gives %v", rule, err)
		}
	}
}

func TestTheWireFormOfASpecStays(t *testing.T) {
	data, err := spec().Encode()
	want := `{"v":1,"name":"flow","service":"usgs-waterdata","collection":"daily","values":{"a":["\u003cx\u003e"],"b":["00060"]},"select":["time"],"run":{"on_quota":{"wait_up_to":"3h0m0s","then":"pause"}},"max_chunks":5}`
	if err != nil || string(data) != want {
		t.Fatalf("got  %s, %v\nwant %s", data, err, want)
	}
	got, err := DecodeSpec(data)
	if diff := cmp.Diff(spec(), got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestASpecThatIsNotOneIsRefused(t *testing.T) {
	good, err := spec().Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ text, want string }{
		"unknown field": {strings.Replace(string(good), `"select"`, `"selct"`, 1), `unknown field "selct"`},
		"trailing":      {string(good) + "{}", "data after it"},
		"number":        {strings.Replace(string(good), `["00060"]`, `[60]`, 1), "cannot unmarshal number"},
		"version":       {strings.Replace(string(good), `"v":1`, `"v":2`, 1), "v: invalid query: 2, this build reads 1"},
		"name":          {strings.Replace(string(good), `"flow"`, `"a b"`, 1), "name: invalid query: not a name"},
		"column":        {strings.Replace(string(good), `["time"]`, `["time","time"]`, 1), `select[1]: invalid query: the column "time" stands twice`},
		"duration":      {strings.Replace(string(good), `"3h0m0s"`, `"-3h"`, 1), "not a duration"},
		"then":          {strings.Replace(string(good), `"pause"`, `"stop"`, 1), "is not pause"},
		"chunks":        {strings.Replace(string(good), `"max_chunks":5`, `"max_chunks":-5`, 1), "max_chunks: invalid query: -5"},
		"not json":      {"x", "invalid character"},
		"empty":         {"", "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := DecodeSpec([]byte(test.text))
			if !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
		})
	}
}

func FuzzDecodeSpecReadsWhatItWrites(f *testing.F) {
	good, err := spec().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := DecodeSpec(data)
		if err != nil {
			return
		}
		once, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeSpec(once)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := again.Encode()
		if err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%s became %s, %v", once, twice, err)
		}
	})
}
