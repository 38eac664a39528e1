package messages_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/messages"
)

func TestTextIsMadeFitForAMessage(t *testing.T) {
	long := strings.Repeat("x", 4096)
	for name, c := range map[string]struct{ text, want string }{
		"short":                    {"quota exceeded", "quota exceeded"},
		"as long as may be":        {long, long},
		"too long":                 {long + "x", long[:4093] + "…"},
		"cut before a character":   {long[:4092] + "ééé", long[:4092] + "…"},
		"cut after a character":    {long[:4091] + "ééé", long[:4091] + "é…"},
		"only wide characters":     {strings.Repeat("🜁", 1025), strings.Repeat("🜁", 1023) + "…"},
		"not UTF-8":                {"a\xff\xfeb", "a\uFFFDb"},
		"lines stay":               {"one\r\n\ttwo", "one\r\n\ttwo"},
		"what a terminal obeys":    {"\x1b[2Jgone\x00", "\uFFFD[2Jgone\uFFFD"},
		"what old terminals obey":  {"\u009b2J", "\uFFFD2J"},
		"growing past the longest": {strings.Repeat("\x01", 4096), strings.Repeat("\uFFFD", 1364) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := messages.Text(c.text); got != c.want {
				t.Errorf("got %d bytes, %q, want %d bytes", len(got), got[max(0, len(got)-20):], len(c.want))
			}
		})
	}
}

func hostileText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		piece := rapid.OneOf(
			rapid.String(), rapid.StringOfN(rapid.SampledFrom([]rune("<>&\"\\\x00\x1b\u2028é🜁\n")), 0, 40, -1),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		).Draw(t, "piece")
		return strings.Repeat(piece, rapid.SampledFrom([]int{1, 1, 10, 500}).Draw(t, "times"))
	})
}

func TestTextIsWholeCharactersAndAgainItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := hostileText().Draw(t, "text")
		got := messages.Text(text)
		if len(got) > 4096 || !utf8.ValidString(got) {
			t.Fatalf("%d bytes, UTF-8 %t", len(got), utf8.ValidString(got))
		}
		if again := messages.Text(got); again != got {
			t.Fatalf("a second time it gives %d bytes, not %d", len(again), len(got))
		}
	})
}

// A service that answers with the worst text must not keep its own refusal from being told.
func TestTheWorstTextStillFitsItsMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := messages.Text(hostileText().Draw(t, "text"))
		header := *words()[2].full.(*messages.ResultHeader)
		header.Failure = &messages.Failure{Class: "auth", Message: text, Hint: text}
		interruption := *words()[3].full.(*messages.Interruption)
		interruption.Reason = text
		query := *words()[5].full.(*messages.Query)
		query.URL, query.Stop = text, &messages.Stop{Kind: "quota", Position: "1", Reason: text, Hint: text}
		gate := *words()[8].full.(*messages.Gate)
		gate.Reason = text
		worker := *words()[9].full.(*messages.Worker)
		worker.Host, worker.Version = text, text
		for i, m := range map[int]wire{2: &header, 3: &interruption, 5: &query, 8: &gate, 9: &worker} {
			data, err := m.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := words()[i].decode(data); err != nil {
				t.Fatal(err)
			}
		}
	})
}
