package jcs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/jcs"
)

type vector struct {
	ID string `json:"id"`
	In struct {
		Kind string `json:"kind"`
		Text string `json:"input_json"`
	} `json:"in"`
	Want struct {
		Canonical string `json:"canonical"`
		SHA256    string `json:"sha256"`
		Error     string `json:"error"`
	} `json:"want"`
}

func TestLR_8_3_ATextHasTheCanonicalFormOfTheVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/canonical_json.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Vectors []vector }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, v := range file.Vectors {
		if v.In.Kind != "jcs" {
			continue
		}
		seen++
		canonical, err := jcs.Canonical([]byte(v.In.Text))
		var bad *jcs.Error
		switch {
		case v.Want.Error != "":
			if !errors.As(err, &bad) || string(bad.Code) != v.Want.Error {
				t.Errorf("%s gives %q, %v, want the error %s", v.ID, canonical, err, v.Want.Error)
			}
		case err != nil || string(canonical) != v.Want.Canonical:
			t.Errorf("%s gives %q, %v, want %q", v.ID, canonical, err, v.Want.Canonical)
		default:
			if hash, err := jcs.Hash([]byte(v.In.Text)); err != nil || hash != v.Want.SHA256 {
				t.Errorf("%s has hash %s, %v", v.ID, hash, err)
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d vectors", seen)
	}
}

func TestNumbersAreWrittenAsECMAScriptDoes(t *testing.T) {
	for text, want := range map[string]string{
		"1e-6": "0.000001", "1e-7": "1e-7", "1.5e-10": "1.5e-10", "5e-324": "5e-324", "1e-400": "0", "-1e-400": "0", "1.7976931348623157e308": "1.7976931348623157e+308",
		"999999999999999900000e0": "999999999999999900000", "1E21": "1e+21", "1e100": "1e+100", "9007199254740993.0": "9007199254740992", "-0.5": "-0.5", "1.0": "1",
	} {
		if got, err := jcs.Canonical([]byte(text)); err != nil || string(got) != want {
			t.Errorf("%s is %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestATextWithoutCanonicalFormSaysWhyAndWhere(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	if _, err := jcs.Canonical([]byte(deep(jcs.MaxDepth))); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]jcs.Code{
		"9007199254740992": jcs.NumberUnsafe, strings.Repeat("9", 400): jcs.NumberUnsafe, "-1e309": jcs.NumberRange, "1.8e308": jcs.NumberRange,
		`{"a":1,"\u0061":2}`: jcs.DuplicateKey, `{"a":{"b":1,"b":1}}`: jcs.DuplicateKey, "\"\xff\"": jcs.InvalidUnicode, "\"\xed\xa0\x80\"": jcs.InvalidUnicode,
		`"\ud83dx"`: jcs.InvalidUnicode, `"\ud83d\u0041"`: jcs.InvalidUnicode, `{"\udc00":1}`: jcs.InvalidUnicode, `"\ud83d\uzzzz"`: jcs.InvalidJSON,
		"01": jcs.InvalidJSON, "+1": jcs.InvalidJSON, "1.": jcs.InvalidJSON, ".5": jcs.InvalidJSON, "1e": jcs.InvalidJSON, "-": jcs.InvalidJSON, "[1,]": jcs.InvalidJSON,
		`{"a":1,}`: jcs.InvalidJSON, `{a:1}`: jcs.InvalidJSON, `'a'`: jcs.InvalidJSON, `"a`: jcs.InvalidJSON, `"\x"`: jcs.InvalidJSON, "\"\n\"": jcs.InvalidJSON,
		"\"\\": jcs.InvalidJSON, `"\u12`: jcs.InvalidJSON, "tru": jcs.InvalidJSON, "True": jcs.InvalidJSON, "[": jcs.InvalidJSON, "{": jcs.InvalidJSON, `{"a"`: jcs.InvalidJSON,
		"1 2": jcs.InvalidJSON, "\ufeff1": jcs.InvalidJSON, "\u00a01": jcs.InvalidJSON, "Infinity": jcs.InvalidJSON, "/**/1": jcs.InvalidJSON, deep(jcs.MaxDepth + 1): jcs.TooDeep,
		strings.Repeat(" ", jcs.MaxBytes) + "1": jcs.TooLarge,
	} {
		_, err := jcs.Canonical([]byte(text))
		var bad *jcs.Error
		if !errors.As(err, &bad) || bad.Code != want || bad.Offset < 0 || bad.Offset > len(text) {
			t.Errorf("%.40q gives %v, want %s", text, err, want)
		}
	}
}

// anything draws a JSON value that Go can hold without loss.
func anything(depth int) *rapid.Generator[any] {
	leaves := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.String().AsAny(),
		rapid.Map(rapid.IntRange(-1<<53+1, 1<<53-1), func(n int) float64 { return float64(n) }).AsAny(), rapid.Float64().AsAny(),
	}
	if depth > 0 {
		leaves = append(leaves, rapid.SliceOfN(anything(depth-1), 0, 4).AsAny(), rapid.MapOfN(rapid.String(), anything(depth-1), 0, 4).AsAny())
	}
	return rapid.OneOf(leaves...)
}

func TestACanonicalFormIsItsOwnAndMeansTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(anything(3).Draw(t, "value"))
		if err != nil {
			t.Skip() // infinite
		}
		canonical, err := jcs.Canonical(text)
		var bad *jcs.Error
		if errors.As(err, &bad) && bad.Code == jcs.NumberUnsafe {
			t.Skip() // a double that Go writes without an exponent
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var before, after any
		if json.Unmarshal(text, &before) != nil || json.Unmarshal(canonical, &after) != nil {
			t.Fatalf("%s", canonical)
		}
		x, _ := json.Marshal(before)
		y, _ := json.Marshal(after)
		if !bytes.Equal(x, y) && !strings.Contains(string(x), "-0") {
			t.Errorf("%s means %s", x, y)
		}
		if again, err := jcs.Canonical(canonical); err != nil && !strings.Contains(err.Error(), "2^53") || err == nil && !bytes.Equal(again, canonical) {
			t.Errorf("%s gives %s, %v", canonical, again, err)
		}
	})
}

func FuzzCanonical(f *testing.F) {
	for _, text := range []string{`{"b":[1,2.50,-0],"a":"\u00e9\ud83d\ude00"}`, `[1e400]`, `{"a":1,"a":2}`, `"\ud800"`, `[[[`, `1e-7`, "\"\xff\""} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		canonical, err := jcs.Canonical(text)
		if err != nil {
			var bad *jcs.Error
			if !errors.As(err, &bad) {
				t.Fatal(err)
			}
			if bad.Code == jcs.InvalidJSON && json.Valid(text) {
				t.Fatalf("%q is JSON: %v", text, err)
			}
			return
		}
		if !json.Valid(text) || !json.Valid(canonical) {
			t.Fatalf("%q gives %q", text, canonical)
		}
	})
}
