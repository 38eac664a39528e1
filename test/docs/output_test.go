package docs

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// Output is compared by what stays the same from run to run: the words that have no digit in them, in their order, each line of the page in
// one line of what was printed, and the lines in their order. An ellipsis stands for anything.

var (
	escape = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")
	digit  = regexp.MustCompile(`[0-9…]`)
	edge   = regexp.MustCompile("^[\"'`(\\[{,;:.]+|[\"'`)\\]},;:.]+$")
)

// differsFrom compares by the language of the page's block.
func differsFrom(page, lang, printed string) string {
	if lang != "json" {
		return differs(page, printed)
	}
	var want, have any
	if err := json.Unmarshal([]byte(page), &want); err != nil {
		return err.Error()
	}
	if err := json.Unmarshal([]byte(printed), &have); err != nil {
		return fmt.Sprintf("%v: the command printed\n%s", err, printed)
	}
	if at := lacks(want, have, "$"); at != "" {
		return fmt.Sprintf("the page has something else at %s than what the command printed\n%s", at, printed)
	}
	return ""
}

// lacks tells where have is not what want says: members of objects, first members of lists, and texts that have no digit.
func lacks(want, have any, at string) string {
	switch want := want.(type) {
	case map[string]any:
		object, ok := have.(map[string]any)
		if !ok {
			return at
		}
		for name, value := range want {
			member, ok := object[name]
			if !ok {
				return at + "." + name
			}
			if below := lacks(value, member, at+"."+name); below != "" {
				return below
			}
		}
	case []any:
		list, ok := have.([]any)
		if !ok || len(list) == 0 && len(want) > 0 {
			return at
		}
		if len(want) > 0 {
			return lacks(want[0], list[0], at+"[0]")
		}
	case string:
		if text, ok := have.(string); !ok || !digit.MatchString(want) && text != want {
			return at
		}
	case bool:
		if have != want {
			return at
		}
	}
	return ""
}

// words gives the comparable words of a line; stable leaves out those that may differ.
func words(line string, stable bool) []string {
	var all []string
	for word := range strings.FieldsSeq(escape.ReplaceAllString(line, "")) {
		word = edge.ReplaceAllString(word, "")
		if word == "" || stable && digit.MatchString(word) {
			continue
		}
		all = append(all, word)
	}
	return all
}

// differs tells which line of the page was not printed; empty when all were.
func differs(page, printed string) string {
	lines := strings.Split(printed, "\n")
	next := 0
	for want := range strings.SplitSeq(page, "\n") {
		stable := words(want, true)
		if len(stable) == 0 {
			continue
		}
		found := false
		for i := next; i < len(lines) && !found; i++ {
			if follows(stable, words(lines[i], false)) {
				found, next = true, i+1
			}
		}
		if !found {
			return fmt.Sprintf("the page says %q, and the command printed\n%s", want, printed)
		}
	}
	return ""
}

// follows tells whether all words of want stand in have, in their order.
func follows(want, have []string) bool {
	for _, word := range have {
		if len(want) > 0 && want[0] == word {
			want = want[1:]
		}
	}
	return len(want) == 0
}

func TestOutputIsComparedByItsLastingWords(t *testing.T) {
	const printed = "\x1b[1mpaused\x1b[0m   the quota of usgs-waterdata is used up: HTTP 429: OVER_RATE_LIMIT. You have exceeded\nkept     20 of 30 chunks\n"
	for _, c := range []struct {
		page string
		same bool
	}{
		{"paused   the quota of usgs-waterdata is used up: HTTP 429: OVER_RATE_LIMIT. …\nkept     12 of 99 chunks\n", true},
		{"kept 3 of 4 chunks\npaused the quota\n", false},
		{"paused the quota of usgs-waterdata was used up\n", false},
		{"kept of chunks\nkept of chunks\n", false},
		{"", true},
	} {
		if got := differs(c.page, printed); (got == "") != c.same {
			t.Errorf("%q: %q", c.page, got)
		}
	}
}

func TestJSONIsComparedByWhatThePageShowsOfIt(t *testing.T) {
	const printed = `{"id":"abcdefgh","state":"complete","list":[{"a":true},{"b":1}],"more":null}`
	for page, same := range map[string]bool{
		`{"id": "x1", "list": [{"a": true}]}`: true,
		`{"id": "other"}`:                     false,
		`{"gone": 1}`:                         false,
		`{"list": [{"b": 1}]}`:                false,
		`{"list": [{"a": false}]}`:            false,
		`{"list": {}}`:                        false,
	} {
		if got := differsFrom(page, "json", printed); (got == "") != same {
			t.Errorf("%s: %q", page, got)
		}
	}
}
