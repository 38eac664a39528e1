package httpapi

import (
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/access"
)

func TestRefusalsAreBoundedAndThoseLeftOutAreCounted(t *testing.T) {
	a, now := &Audit{}, time.Unix(0, 0)
	told := 0
	for range refusalsAMinute + 50 {
		if leftOut, ok := a.mayTell(now); ok && leftOut == 0 {
			told++
		}
	}
	if told != refusalsAMinute {
		t.Errorf("%d are told, want %d", told, refusalsAMinute)
	}
	if leftOut, ok := a.mayTell(now.Add(time.Minute)); !ok || leftOut != 50 {
		t.Errorf("the next one tells %d, %v; want the 50 that were left out", leftOut, ok)
	}
	if leftOut, ok := a.mayTell(now.Add(time.Minute)); !ok || leftOut != 0 {
		t.Errorf("the one after tells them again: %d, %v", leftOut, ok)
	}
}

func TestALineThatWasCutShortIsEnded(t *testing.T) {
	file := t.TempDir() + "/audit.jsonl"
	a, err := OpenAudit(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"v":1,"ti`), 0o600); err != nil {
		t.Fatal(err)
	}
	a.torn = true
	if err := a.write(auditEvent{V: 1}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if lines := strings.Split(string(data), "\n"); err != nil || len(lines) != 3 || !strings.HasPrefix(lines[1], `{"v":1,"time"`) || a.torn {
		t.Errorf("%v: %q", err, data)
	}
}

func TestAnAddressIsAMachine(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7": "192.0.2.7/32", "::ffff:192.0.2.7": "192.0.2.7/32", "2001:db8::1": "2001:db8::/64", "2001:db8::ffff:1": "2001:db8::/64", "fe80::1%eth0": "fe80::/64",
	} {
		if got := networkOf(address); got.String() != want {
			t.Errorf("%s is %s, want %s", address, got, want)
		}
	}
	if got := networkOf("@"); got != (netip.Prefix{}) {
		t.Errorf("a socket is %s", got)
	}
}

func TestWhatIsRememberedOfAddressesAndSessionsIsBounded(t *testing.T) {
	limit, now := newLoginLimit(), time.Unix(0, 0)
	for i := range maxAddresses + 100 {
		address := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		if wait := limit.take(address.String(), now.Add(time.Duration(i))); wait > 0 {
			t.Fatalf("%s waits %s", address, wait)
		}
	}
	if len(limit.tried) > maxAddresses {
		t.Errorf("%d addresses are remembered", len(limit.tried))
	}
	limit.take("192.0.2.1", now.Add(time.Hour))
	if len(limit.tried) != 1 {
		t.Errorf("%d addresses are remembered whose minute is over", len(limit.tried)-1)
	}
	s := newSessions()
	first := s.begin(access.Digest{1}, now)
	for i := range maxSessions + 10 {
		s.begin(access.Digest{2, byte(i), byte(i >> 8)}, now.Add(time.Duration(i+1)))
	}
	if _, ok := s.find(first, now); ok || len(s.begun) > maxSessions {
		t.Errorf("%d sessions, the oldest stands: %v", len(s.begun), ok)
	}
}

func TestARouteThatIsNotInTheTableIsClosed(t *testing.T) {
	for _, role := range access.Roles() {
		if err := (rule{}).allow(&access.Principal{Name: "a", Role: role, Permissions: role.Permissions()}); err == nil {
			t.Errorf("it lets a %s in", role)
		}
	}
}

// The other tests ask the table what it says; this one says what has to stand in it.
func TestWhatChangesSomethingAsksForTheRightPermission(t *testing.T) {
	want := map[string]rule{
		"POST /v1/queries":             {access.QueriesSubmit, true},
		"POST /v1/queries/{id}/resume": {access.QueriesControlOwn, true},
		"POST /v1/queries/{id}/cancel": {access.QueriesControlOwn, true},
		"DELETE /v1/queries/{id}":      {access.QueriesControlOwn, true},
		"POST /v1/queries/{id}/verify": {access.Operations, true},
		"POST /v1/gc":                  {access.Operations, true},
		"POST /v1/plan":                {access.QueriesSubmit, false},
		"POST /v1/query-file":          {access.QueriesSubmit, false},
		"POST /login":                  {anyone, false},

		"POST /v1/load/profiles":                {access.LoadRun, true},
		"PUT /v1/load/profiles/{id}":            {access.LoadRun, true},
		"DELETE /v1/load/profiles/{id}":         {access.LoadRun, true},
		"POST /v1/load/profiles/{id}/look-up":   {access.LoadRun, true},
		"POST /v1/load/profiles/{id}/approvals": {access.LoadProd, true},
		"POST /v1/load/profile-file":            {access.LoadRun, false},
		"POST /v1/load/runs":                    {access.LoadRun, true},
		"POST /v1/load/runs/{id}/stop":          {access.LoadRun, true},
		"DELETE /v1/load/runs/{id}":             {access.LoadRun, true},
		"POST /logout":                          {anyone, false},
	}
	for pattern, got := range rules(nil) {
		changes := !strings.HasPrefix(pattern, "GET ")
		if changes && got != want[pattern] {
			t.Errorf("%s asks for %+v, want %+v", pattern, got, want[pattern])
		}
		open := strings.HasPrefix(pattern, "GET /{$}") || strings.HasPrefix(pattern, "GET /assets/") || strings.HasPrefix(pattern, "GET /problems/") || strings.HasSuffix(pattern, "z")
		if !changes && (got.changes || open != (got.permission == anyone)) {
			t.Errorf("%s asks for %+v", pattern, got)
		}
	}
	if got := rules(&Access{metricsOpen: true})["GET /metrics"]; got.permission != anyone {
		t.Errorf("metrics that are open ask for %+v", got)
	}
}
