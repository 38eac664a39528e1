package contract

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzDecodeProblem(f *testing.F) {
	f.Add([]byte(`{"type":"/problems/not-found","title":"Not found","status":404,"detail":"query x","errors":[{"location":"a","message":"b"}],"more":1}`))
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"detail":"` + strings.Repeat("é", 5000) + `"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := DecodeProblem(data)
		if err != nil {
			return
		}
		if len(p.Detail) > 4<<10 || len(p.Errors) > MaxFieldErrors || len(p.Type) > maxFieldBytes || !utf8.ValidString(p.Detail) {
			t.Errorf("over its bounds: %d bytes of detail, %d fields", len(p.Detail), len(p.Errors))
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := DecodeProblem(again); err != nil && p.Error() != "" && (p.Type != "" || p.Title != "" || p.Detail != "") {
			t.Errorf("%s is not read again: %v, %+v", again, err, twice)
		}
	})
}

func TestAProblemWithoutWordsIsRefused(t *testing.T) {
	for _, text := range []string{``, `[]`, `{}`, `{"status":500}`, `{"error":"x"}`} {
		if p, err := DecodeProblem([]byte(text)); err == nil {
			t.Errorf("%q gives %+v", text, p)
		}
	}
}

func FuzzDecodeResume(f *testing.F) {
	f.Add([]byte(`{"wait_up_to":"1h"}`))
	f.Add([]byte(``))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := DecodeResume(data)
		if err == nil && r.WaitUpTo != nil && *r.WaitUpTo < 0 {
			t.Errorf("%q gives a negative wait", data)
		}
	})
}
