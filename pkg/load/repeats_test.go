package load_test

import (
	"strings"
	"testing"

	"github.com/braidhq/braid/pkg/load"
)

func diagnosticOf(f *load.Fold, code string) load.Diagnostic {
	for _, d := range f.Progress(moment(100)).Diagnostics {
		if d.Code == code {
			return d
		}
	}
	return load.Diagnostic{}
}

func TestWhatIsLostWithAWorkerIsToldAndForHowLong(t *testing.T) {
	f := folded(t, running(t, 6, nil))
	admit := func(number, attempt int, at float64, repeat bool) {
		f.Admission(&load.Admission{Run: "run-1", Number: number, Attempt: attempt, At: moment(at), Repeat: repeat})
	}
	admit(0, 1, 1, false)
	admit(0, 1, 1.5, true) // a renewed token is no second attempt
	admit(1, 1, 2, false)
	admit(2, 1, 3, false)
	f.Execution(success(0, 7, 100, load.Miss))
	if d := diagnosticOf(f, "repeated_attempts"); d.Count != 0 {
		t.Errorf("%+v before anything was repeated", d)
	}
	admit(1, 2, 14, false) // both were lost with their worker
	admit(2, 3, 15.2, false)
	for _, n := range []int{1, 2} {
		e := success(n, 7, 100, load.Miss)
		e.Attempt = n + 1
		f.Execution(e)
	}
	if d := diagnosticOf(f, "repeated_attempts"); d.Count != 2 || !strings.Contains(d.Text, "2 executions were done again") {
		t.Errorf("%+v", d)
	}
	if d := diagnosticOf(f, "below_capacity"); d.Count != 14 || !strings.Contains(d.Text, "up to 14 seconds, up to 2 places of 5") {
		t.Errorf("%+v", d)
	}
	if p := f.Progress(moment(100)); p.InFlight != 0 || p.RequestsSent != 6 {
		t.Errorf("%+v", p)
	}
}

func TestAnAttemptThatIsInFlightBesideItsRecordedPredecessorIsNoGap(t *testing.T) {
	f := folded(t, running(t, 3, nil))
	f.Admission(&load.Admission{Run: "run-1", Number: 0, Attempt: 1, At: moment(1)})
	f.Execution(success(0, 7, 100, load.Miss))
	f.Admission(&load.Admission{Run: "run-1", Number: 0, Attempt: 2, At: moment(9)})
	if d := diagnosticOf(f, "below_capacity"); d.Count != 0 {
		t.Errorf("%+v", d)
	}
	if d := diagnosticOf(f, "repeated_attempts"); d.Count != 1 {
		t.Errorf("%+v", d)
	}
	if f.InFlight() != 1 || f.RecordedAttempt(0) != 1 || f.RecordedAttempt(1) != 0 {
		t.Errorf("%d in flight", f.InFlight())
	}
}
