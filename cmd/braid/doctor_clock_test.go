package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

func TestAClockThatIsOffIsSaidToBe(t *testing.T) {
	for _, test := range []struct {
		before time.Duration
		status verdict
		text   string
	}{
		{0, fine, "within 2s of NATS's"},
		{2 * time.Second, fine, "within 2s of NATS's"},
		{-2 * time.Second, fine, "within 2s of NATS's"},
		{2*time.Second + 1, doubtful, "this machine's clock is 2s before NATS's"},
		{-90 * time.Second, doubtful, "this machine's clock is 1m30s behind NATS's"},
		{26 * time.Hour, doubtful, "this machine's clock is 26h0m0s before NATS's"},
	} {
		if c := clockCheck("NATS's", test.before, fineDrift); c.Name != "clock" || c.Status != test.status || c.Text != test.text || (c.Cure != "") != (test.status == doubtful) {
			t.Errorf("%s: %+v", test.before, c)
		}
	}
}

// off is a coordinator whose NATS has another time.
type off struct {
	by  time.Duration
	err error
}

func (o off) Workers(context.Context) (*messages.WorkerList, error) {
	return &messages.WorkerList{V: 1, Now: time.Now().Add(o.by)}, o.err
}

func TestTheClockOfACoordinatorsNATSIsThatOfItsWorkers(t *testing.T) {
	for by, want := range map[time.Duration]string{
		time.Hour: "1h0m0s behind", -time.Minute: "1m0s before", 0: "within 2s",
	} {
		c, told := clockByWorkers(t.Context(), off{by: by}, "its NATS's")
		if !told || !strings.Contains(c.Text, want) {
			t.Errorf("%s: %+v, %t", by, c, told)
		}
	}
	if c, told := clockByWorkers(t.Context(), off{err: errors.New("no access")}, "its NATS's"); told {
		t.Errorf("%+v", c)
	}
}

func TestANATSServerIsCheckedWithItsClock(t *testing.T) {
	server := testkit.ServerOn(t, bus.ServerConfig{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	checked := func(url string) string {
		var lines []string
		for _, c := range checkNATS(t.Context(), bus.Config{URL: url}) {
			lines = append(lines, string(c.Status)+" "+c.Name+" "+c.Text)
		}
		return strings.Join(lines, "\n")
	}
	if got := checked(server.ClientURL()); !strings.HasPrefix(got, "ok nats it is reached, and has JetStream\nwarn clock NATS's clock cannot be read: ") || !strings.Contains(got, "RESULTS") {
		t.Errorf("without streams:\n%s", got)
	}
	testkit.Join(t, server)
	if got := checked(server.ClientURL()); got != "ok nats it is reached, and has JetStream\nok clock within 2s of NATS's" {
		t.Errorf("with streams:\n%s", got)
	}
	if got := checked("nats://ana:s3cr3t@127.0.0.1:1"); !strings.HasPrefix(got, "fail nats ") || strings.Contains(got, "s3cr3t") {
		t.Errorf("nobody there:\n%s", got)
	}
	if got := checked("nats://127.0.0.1:1//ana:s3cr3t@host"); !strings.HasPrefix(got, "fail nats ") || strings.Contains(got, "s3cr3t") {
		t.Errorf("a password in the path:\n%s", got)
	}
}
