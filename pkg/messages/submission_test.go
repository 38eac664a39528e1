package messages_test

import (
	"strings"
	"testing"

	"github.com/braidhq/braid/pkg/messages"
)

func TestATraceparentNamesItsTrace(t *testing.T) {
	const id = "0af7651916cd43dd8448eb211c80319c"
	for traceparent, want := range map[string]string{
		"00-" + id + "-b7ad6b7169203331-01": id,
		"00-" + id + "-b7ad6b7169203331-00": id,
		"":                                  "",
		"00-" + id:                          "",
		"01-" + id + "-b7ad6b7169203331-01": "",
		"00-" + strings.ToUpper(id) + "-b7ad6b7169203331-01": "",
		"00-" + id + "-b7ad6b7169203331-01\n":                "",
	} {
		if got := messages.TraceID(traceparent); got != want {
			t.Errorf("%q is of %q, want %q", traceparent, got, want)
		}
	}
}
