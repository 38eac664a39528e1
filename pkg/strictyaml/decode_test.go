package strictyaml

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type size string

func (size) Choices() []string { return []string{"small", "large"} }

type inner struct {
	Path string `yaml:"path,required"`
	Deep *inner `yaml:"deep"`
}

type sample struct {
	Text    string               `yaml:"text"`
	Number  int                  `yaml:"number"`
	Big     int64                `yaml:"big"`
	Ratio   float64              `yaml:"ratio"`
	Flag    bool                 `yaml:"flag"`
	Wait    time.Duration        `yaml:"wait"`
	Size    size                 `yaml:"size"`
	List    []string             `yaml:"list"`
	Some    OneOrMany[string]    `yaml:"some"`
	Map     map[string]string    `yaml:"map"`
	Ordered Map[OneOrMany[int]]  `yaml:"ordered"`
	Inner   inner                `yaml:"inner"`
	Pattern *regexp.Regexp       `yaml:"pattern"`
	Raw     Node                 `yaml:"raw"`
	Inners  map[string][]*sample `yaml:"inners"`
}

func decode(text string) (sample, error) {
	var s sample
	err := Decode("f.yaml", []byte(text), Bounds{}, &s)
	return s, err
}

func TestScalarsAreTheTextOfTheFile(t *testing.T) {
	got, err := decode("list: [00060, NO, 2024-10-01, 010900020502, 07070005, 1e3, 'null', \"~\", 0x1F, yes, 1_000]\nmap: {010: NO}\nsome: 08\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"00060", "NO", "2024-10-01", "010900020502", "07070005", "1e3", "null", "~", "0x1F", "yes", "1_000"}
	if diff := cmp.Diff(want, got.List); diff != "" {
		t.Error(diff)
	}
	if got.Map["010"] != "NO" || got.Some[0] != "08" {
		t.Errorf("map %v, some %v", got.Map, got.Some)
	}
}

func TestTheFieldsTypeConverts(t *testing.T) {
	got, err := decode(`
number: 12
big: 9007199254740993
ratio: 0.25
flag: true
wait: 1h30m
size: large
ordered: {z: [1, 2], a: 3}
inner: {path: x, deep: {path: y}}
pattern: '^a+$'
`)
	if err != nil {
		t.Fatal(err)
	}
	if got.Number != 12 || got.Big != 9007199254740993 || got.Ratio != 0.25 || !got.Flag || got.Wait != 90*time.Minute || got.Size != "large" {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff(Map[OneOrMany[int]]{{"z", []int{1, 2}}, {"a", []int{3}}}, got.Ordered); diff != "" {
		t.Error(diff)
	}
	if got.Inner.Deep.Path != "y" || !got.Pattern.MatchString("aaa") {
		t.Errorf("got %+v", got)
	}
}

func TestWhatIsWrongIsNamedWithItsLine(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"unknown key", "text: a\nnumbr: 1", `f.yaml:2: numbr: unknown key; did you mean "number"?`},
		{"nothing near", "inner: {path: a, zzzzzz: 1}", `f.yaml:1: inner.zzzzzz: unknown key; known are path, deep`},
		{"key twice", "text: a\nflag: true\ntext: b", `f.yaml:3: text: the key stands twice, first in line 1; keep one`},
		{"missing", "\ninner: {}", `f.yaml:2: inner: the key "path" is missing`},
		{"list for text", "text: [a]", `f.yaml:1: text: is a list, want a text`},
		{"text for list", "list: a", `f.yaml:1: list: is a text, want a list`},
		{"text for mapping", "inner: a", `f.yaml:1: inner: is a text, want a mapping`},
		{"no value", "text:\nflag: true", `f.yaml:1: text: has no value`},
		{"null in a list", "list: [a, null]", `f.yaml:1: list[1]: has no value`},
		{"not a number", "number: ten", `"ten" is not a whole number`},
		{"octal", "number: 010", `"010" is ambiguous; write 10`},
		{"too big", "big: 99999999999999999999", `is out of range`},
		{"infinite", "ratio: .inf", `".inf" is not a number`},
		{"norway", "flag: NO", `"NO" is neither true nor false`},
		{"no unit", "wait: 60", `"60" is not a duration`},
		{"negative", "wait: -1s", `is not a duration`},
		{"choice", "size: huge", `unknown value "huge"; allowed are small, large`},
		{"pattern", "pattern: '('", `missing closing )`},
		{"alias", "list: &a [x]\nsome: *a", `f.yaml:2: some: the alias *a is not read`},
		{"anchor", "list: &a [x]", `the anchor &a is not read`},
		{"merge", "inner:\n  <<: {path: a}", `the merge key << is not read`},
		{"tag", "text: !!binary aGk=", `the tag !!binary is not read`},
		{"list as key", "? [a]\n: b", `a key must be a plain text`},
		{"two documents", "text: a\n---\ntext: b", `f.yaml:2: a second document begins here`},
		{"syntax", "text: a\nlist: [a", `not YAML`},
		{"not text", "text: \xff", `not UTF-8`},
		{"top is a list", "- a", `f.yaml:1: is a list, want a mapping`},
		{"deep", "raw: " + strings.Repeat("[", 70) + strings.Repeat("]", 70), `nested deeper than 64 levels`},
		{"very deep", "raw: " + strings.Repeat("[", 100_000), `not YAML`},
		{"large", "text: " + strings.Repeat("a", 4<<20), `at most 4194304 are read`},
		{"many separators", "raw: [" + strings.Repeat("a,", 700_000) + "]", `too many values`},
		{"many", "raw: [" + strings.Repeat("a,", 250_000) + "]", `too many values`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := decode(test.text)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("%T does not wrap ErrInvalid", err)
			}
		})
	}
}

func TestASyntaxErrorIsAtItsLine(t *testing.T) {
	for text, line := range map[string]int{
		"text: [a\nflag: true\n":                 2,
		"flag: true\ntext: [a\nnumber: 1\n":      2,
		"flag: true\ntext: ]\nnumber: 1\n":       2,
		"flag: true\ntext: [a]]\nnumber: 1\n":    2,
		"flag: true\nlist:\n  - a\n text: b\n":   4,
		"flag: true\ntext: a\n- b\n":             3,
		"flag: true\n  text: a\nnumber: 1\n":     2,
		"flag: true\ntext: a: b\nnumber: 1\n":    2,
		"flag: true\ntext: 'a\nnumber: 1\n":      2,
		"flag: true\n\ttext: a\n":                2,
		"text: a: b\nflag: true\n":               1,
		"text: `a`\nflag: true\n":                1,
		"flag: true\ntext\nnumber: 1\n":          2,
		"flag: true\ntext: \"\\q\"\nnumber: 1\n": 2,
	} {
		_, err := decode(text)
		if want := fmt.Sprintf("f.yaml:%d: not YAML: ", line); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestAllProblemsAreReportedInTheOrderOfLines(t *testing.T) {
	_, err := decode("inner: {}\nnumber: a\nfalg: true\nlist:\n- a\n- {}\n")
	var errs Errors
	if !errors.As(err, &errs) {
		t.Fatalf("got %v", err)
	}
	var lines []int
	for _, e := range errs {
		lines = append(lines, e.Line)
	}
	if diff := cmp.Diff([]int{1, 2, 3, 6}, lines); diff != "" {
		t.Error(diff, err)
	}
}

func TestAbsentKeysLeaveTheirFields(t *testing.T) {
	s := sample{Number: 7, List: []string{"kept"}}
	if err := Decode("f", []byte("list:\ninner:\n  path: x\n"), Bounds{}, &s); err != nil {
		t.Fatal(err)
	}
	if s.Number != 7 || len(s.List) != 1 {
		t.Errorf("got %+v", s)
	}
	if err := Decode("f", nil, Bounds{}, &s); err != nil {
		t.Errorf("an empty file: %v", err)
	}
}

func TestMergeLaysMappingsOverEachOtherAndReplacesTheRest(t *testing.T) {
	doc, err := Parse("f.yaml", []byte("base:\n  inner: {path: a, deep: {path: b}}\n  list: [x]\n  nubmer: 1\nover:\n  inner: {path: c}\n  list: [y]\n  text: d\n"), Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	var s sample
	merged := doc.Root().At("over").Merge(doc.Root().At("base"))
	merged.Decode(&s)
	merged.Decode(&s)
	if s.Inner.Path != "c" || s.Inner.Deep.Path != "b" || s.List[0] != "y" || s.Text != "d" {
		t.Errorf("got %+v", s)
	}
	if want := `f.yaml:4: over.nubmer: unknown key; did you mean "number"?`; doc.Err() == nil || doc.Err().Error() != want {
		t.Errorf("got %v, want once %s", doc.Err(), want)
	}
}

func TestPlainTextSurvivesAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.StringMatching(`[0-9A-Za-z][0-9A-Za-z_.+-]{0,15}`), 1, 20).Filter(func(l []string) bool {
			return !strings.Contains(strings.ToLower(fmt.Sprintf("%q", l)), `"null"`)
		}).Draw(t, "list")
		for _, text := range []string{"list: [" + strings.Join(want, ", ") + "]", "list:\n- " + strings.Join(want, "\n- ")} {
			got, err := decode(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.List); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

func FuzzDecodeNeverPanicsAndNamesLines(f *testing.F) {
	f.Add("text: a\nlist: [1, {a: b}]\nordered: {a: 1}")
	f.Add("a: &x [*x, *x]\n<<: *x\n? {a: b}\n: !!int 3")
	f.Add("inners:\n  a:\n  - inner: {path: |\n     x}\n")
	f.Add("--- a\n...\n--- b")
	f.Add("- \n  - ? \n    - : \n")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := decode(text)
		var errs Errors
		if err != nil && (!errors.As(err, &errs) || len(errs) == 0) {
			t.Errorf("%T is not a list of problems", err)
		}
		for _, e := range errs {
			if e.Line < 0 || e.Message == "" {
				t.Errorf("bad problem %+v", e)
			}
		}
	})
}
