package coordinator

import (
	"fmt"
	"strings"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/resume"
)

const mostNamed = 200 // bytes of what a chunk asks for

// named puts the chunk into the reason of a run that an interruption by the service ended, where the service has answered others: then
// it is not away, and whoever reads the reason wants to know for which chunk it has no answer.
func (d *driver) named(action resume.Action) resume.Action {
	stop := action.Stop
	if action.State != messages.Interrupted || stop == nil || stop.Kind != string(messages.ServiceInterrupted) || stop.Position == "" {
		return action
	}
	done := d.run.Completion()
	if done.Roots() == 0 || !stop.OfChunk() && done.Lacks(d.at.query.Chunks) > 1 {
		return action
	}
	chunk, ok := d.pinned.chunkAt(stop.Position)
	if !ok {
		return action
	}
	told := *stop
	what := "has no answer"
	if stop.Status != 0 {
		what = fmt.Sprintf("answers HTTP %d", stop.Status)
	}
	reason := strings.TrimPrefix(stop.Reason, fmt.Sprintf("HTTP %d: ", stop.Status))
	told.Reason = messages.Text(fmt.Sprintf("chunk %s (%s) %s: %s; %d of %d chunks are complete",
		stop.Position, clipped(d.pinned.describe(chunk)), what, reason, done.Roots(), d.at.query.Chunks))
	if told.Hint == "" {
		told.Hint = "a resume asks for it again; it is not among those that failed, for the service may answer it later. Where it never does, run the query without what this chunk asks for"
	}
	action.Stop = &told
	return action
}

func clipped(text string) string {
	if len(text) <= mostNamed {
		return text
	}
	return strings.ToValidUTF8(text[:mostNamed], "") + " …"
}
