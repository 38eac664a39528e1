package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/braidhq/braid/pkg/messages"
)

// stopAtOnce has a second signal end the process at once, with the shortest word of how to go on. What is stored is
// safe however a process ends.
func (s *session) stopAtOnce(id string, last *messages.Status) {
	s.onSecond(func() { s.app.atOnce(id, last) })
}

// onSecond has a second signal end the process at once, after a last word. It holds until the session is closed.
func (s *session) onSecond(last func()) {
	if s.second != nil {
		return
	}
	s.second = make(chan os.Signal, 1)
	signal.Notify(s.second, os.Interrupt, syscall.SIGTERM)
	go func(second <-chan os.Signal) { // ends with the session, or ends the process
		if _, again := <-second; again {
			last()
			os.Exit(exitInterrupted)
		}
	}(s.second)
}

func (a *app) atOnce(id string, last *messages.Status) {
	a.line("stopped", "at once")
	q := &messages.Query{ID: id}
	if last != nil {
		a.line("kept", "%s", kept(last.Progress.Completed, last.Query.Chunks, last.Progress.KeptPages))
		q = last.Query
	}
	a.line("continue", "%s", a.resumeHint(q, stoppedForQuota(q)))
}

func (s *session) forgetSecond() {
	if s.second != nil {
		signal.Stop(s.second)
		close(s.second)
		s.second = nil
	}
}
