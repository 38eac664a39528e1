package cql2

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestTheFilterIsWrittenInASCIIWithoutWhiteSpace(t *testing.T) {
	tests := []struct {
		name       string
		predicates []In
		document   string
		want       string
	}{
		{
			"texts",
			[]In{{"name", []string{"RÍO", "🌊", "\u2028", `a"b\c`, "/<&>", "\x7f\x01\n"}, false}},
			"",
			`{"op":"and","args":[{"op":"in","args":[{"property":"name"},["R\u00cdO","\ud83c\udf0a","\u2028","a\"b\\c","/<&>","\u007f\u0001\n"]]}]}`,
		},
		{
			"numbers",
			[]In{{"altitude", []string{"100", "200.5"}, true}},
			"",
			`{"op":"and","args":[{"op":"in","args":[{"property":"altitude"},[100,200.5]]}]}`,
		},
		{
			"two",
			[]In{{"id", []string{"a", "b"}, false}, {"site_type", []string{"c"}, false}},
			"",
			`{"op":"and","args":[{"op":"in","args":[{"property":"id"},["a","b"]]},{"op":"in","args":[{"property":"site_type"},["c"]]}]}`,
		},
		{
			"with a document",
			[]In{{"id", []string{"a", "b"}, false}},
			`{"op": "isNull"}`,
			`{"op":"and","args":[{"op":"in","args":[{"property":"id"},["a","b"]]},{"op": "isNull"}]}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := string(AppendAnd(nil, test.predicates, test.document)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestEveryTextIsReadBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		data := AppendText(nil, text)
		var back string
		if err := json.Unmarshal(data, &back); err != nil || utf8.ValidString(text) && back != text {
			t.Fatalf("%q is written %s and read %q, %v", text, data, back, err)
		}
		for _, c := range data {
			if c >= utf8.RuneSelf || c < ' ' {
				t.Fatalf("%q is written with the byte %#x", text, c)
			}
		}
	})
}

func TestAFilterInJSONIsOneObject(t *testing.T) {
	for text, want := range map[string]string{
		`{"op":"=","args":[{"property":"a"},"1"]}`: "",
		" {\n}\n": "",
		``:        "it is not JSON: at byte 0",
		`{"op":}`: "it is not JSON: at byte 7",
		`{} {}`:   "it is not JSON",
		`[]`:      "not an object",
		`null`:    "not an object",
		`"{}"`:    "not an object",
		strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65): "deeper than 64 levels",
		strings.Repeat("[", 1<<19):                                  "deeper than 64 levels",
	} {
		err := CheckDocument(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.60s: got %v, want %q", text, err, want)
		}
	}
}
