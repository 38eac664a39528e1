package messages

import (
	"errors"
	"regexp"
)

// Submission is who submits a query, and how it is told from others. The zero value says nothing of either.
type Submission struct {
	Owner string // who asked, as a server's tokens name people; empty: the server knows nobody
	Team  string // of the owner
	Key   string // the digest of owner and Idempotency-Key: what is submitted again under it is the same query; empty: none
	Trace string // W3C traceparent of the submission; empty: it is not traced
}

func checkOptionalName(name string) error {
	if name == "" {
		return nil
	}
	return CheckName(name)
}

// checkTrace takes a traceparent of version 00, as W3C Trace Context (2021) writes it.
func checkTrace(trace string) error {
	if trace == "" || regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`).MatchString(trace) {
		return nil
	}
	return errors.New("it is no traceparent of version 00")
}

// TraceID is the id of the trace that a traceparent names, for log lines; empty: it names none.
func TraceID(traceparent string) string {
	if traceparent == "" || checkTrace(traceparent) != nil {
		return ""
	}
	return traceparent[len("00-") : len("00-")+32]
}
