//go:build unix

package ledger

import (
	"os"
	"strings"
	"testing"
)

func TestTheQuestionsOfThePageAreAnswered(t *testing.T) {
	page, err := os.ReadFile("../../docs/ledger.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(page), "```sql\n")
	questions, _, closed := strings.Cut(after, "```")
	if !found || !closed {
		t.Fatal("the page has no block of SQL")
	}
	r := newRig(t)
	asked := 0
	for question := range strings.SplitSeq(questions, ";") {
		if strings.TrimSpace(question) == "" {
			continue
		}
		asked++
		rows, err := r.conn.Query(t.Context(), question)
		if err == nil {
			rows.Close()
			err = rows.Err()
		}
		if err != nil {
			t.Errorf("%s: %v", strings.TrimSpace(question), err)
		}
	}
	if asked < 3 {
		t.Errorf("the page asks %d questions", asked)
	}
}
