package worker

import (
	"fmt"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

const askForLess = "ask for less in one request: raise max_chunks, or narrow the query"

// failureOf is what an answer makes of the item when it would come again every time. class is the answer's, or what it gives
// up as.
func failureOf(answer *service.ResponseError, class service.Class, item *messages.Item) *messages.Failure {
	f := &messages.Failure{Class: string(class), Status: answer.Status, Message: answer.Message}
	switch class {
	case service.ClassTooLarge:
		f.Message, f.Hint = tooLarge(answer.Message, item.Asks), askForLess
	case service.ClassAuth:
		f.Hint = "check the credentials of the service where the workers run"
	case service.ClassBadRequest:
		f.Hint = "check the query's parameters"
		if item.Asks != "" {
			f.Hint += "; this chunk asks for " + item.Asks
		}
	default: // the message says it all
	}
	return f
}

// tooLarge names the values that cannot be asked for in less.
func tooLarge(said, asks string) string {
	text := "the service refuses the chunk as too large, and nothing in it can be divided"
	if asks != "" {
		text += ": " + asks
	}
	if said != "" {
		text += fmt.Sprintf(" (it says: %s)", said)
	}
	return text
}

// unstorable is the failure of a chunk whose result no store takes: fetching it again would give the same.
func unstorable(err error) *messages.Failure {
	return &messages.Failure{
		Class: string(service.ClassBadPage), Message: "the result cannot be stored: " + err.Error(), Hint: askForLess,
	}
}
