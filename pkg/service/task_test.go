package service_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/service"
)

func TestATaskIsReadAsItWasWritten(t *testing.T) {
	task := service.Task{Collection: "heights", Values: service.Values{"station": {"b", "a<b"}, "period": {"2024-01-01", ".."}}}
	data, err := task.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := service.DecodeTask(data)
	if diff := cmp.Diff(task, again); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
}

func TestWhatIsNoTaskIsABadRequest(t *testing.T) {
	for _, text := range []string{
		"", "null", "{}", `"x"`, "[]", `{"method":"GET","url":"https://a.example"}`, `{"collection":"a","values":{"x":"y"}}`,
		`{"collection":"a"} {}`, `{"collection":"a","values":{}`, strings.Repeat("[", 100_000),
	} {
		_, err := service.DecodeTask(json.RawMessage(text))
		if answer, ok := errors.AsType[*service.ResponseError](err); !ok || answer.Class != service.ClassBadRequest {
			t.Errorf("%.40q gives %v", text, err)
		}
	}
}
