package superset

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	simulator "github.com/braidhq/braid/internal/simulator/superset"
	"github.com/braidhq/braid/pkg/load"
)

// together runs n calls at once and waits for them.
func together(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

func TestLR_10_8_TokensAreOrderedOnceForAllWorkers(t *testing.T) {
	r := newRig(t, simulator.Config{})
	request := r.chart(101, "Gamma")
	workers := []*Client{r.worker("a"), r.worker("b"), r.worker("c")}
	together(25, func(i int) {
		if a, err := workers[i%3].Execute(context.Background(), request, load.Places{}); err != nil || a.Outcome != load.Success {
			t.Errorf("%s: %v", a.Message, err)
		}
	})
	if s := r.Stats(); s.Logins["gamma"] != 1 || s.Refreshes["gamma"] != 0 {
		t.Errorf("%d logins, %d refreshes", s.Logins["gamma"], s.Refreshes["gamma"])
	}
}

func TestLR_10_8_A401WithManyInFlightRenewsOnce(t *testing.T) {
	r := newRig(t, simulator.Config{})
	request := r.chart(101, "Gamma")
	workers := []*Client{r.worker("a"), r.worker("b"), r.worker("c")}
	for _, c := range workers {
		execute(t, c, request)
	}
	r.RevokeTokens("gamma")
	together(25, func(i int) {
		if a, err := workers[i%3].Execute(context.Background(), request, load.Places{}); err != nil || a.Outcome != load.Success || a.Requests > 2 {
			t.Errorf("%s: %v", a.Message, err)
		}
	})
	if s := r.Stats(); s.Logins["gamma"] != 1 || s.Refreshes["gamma"] != 1 {
		t.Errorf("%d logins, %d refreshes", s.Logins["gamma"], s.Refreshes["gamma"])
	}
}

func TestATokenIsRenewedBeforeItEnds(t *testing.T) {
	r := newRig(t, simulator.Config{})
	c := r.configured(Config{Tokens: r.tokens, Now: r.Now})
	request := r.chart(101, "Gamma")
	execute(t, c, request)
	r.Advance(14*time.Minute + 45*time.Second)
	if a := execute(t, c, request); a.Requests != 1 || r.Stats().Refreshes["gamma"] != 1 {
		t.Errorf("%d requests, %d refreshes", a.Requests, r.Stats().Refreshes["gamma"])
	}
}

func TestAGuestsTokensAreOrderedByItsLogin(t *testing.T) {
	r := newRig(t, simulator.Config{})
	request := r.chart(101, "Guest")
	workers := []*Client{r.worker("a"), r.worker("b")}
	together(8, func(i int) {
		if a, err := workers[i%2].Execute(context.Background(), request, load.Places{}); err != nil || a.Outcome != load.Success {
			t.Errorf("%s: %v", a.Message, err)
		}
	})
	if s := r.Stats(); s.GuestTokens["embedder"] != 1 || s.Logins["embedder"] != 1 {
		t.Errorf("%d guest tokens, %d logins", s.GuestTokens["embedder"], s.Logins["embedder"])
	}
	r.RevokeTokens("guest:braid")
	if a := execute(t, workers[0], request); a.Outcome != load.Success || a.Requests != 2 {
		t.Errorf("after the guest's token was revoked: %s %s", a.Outcome, a.Message)
	}
}

func TestTheCSRFTokenIsSentWhereADeploymentAsksForIt(t *testing.T) {
	r := newRig(t, simulator.Config{CSRFChartData: true})
	for _, role := range []string{"Gamma", "Ldap"} {
		if a := execute(t, r.worker("a"), r.chart(101, role)); a.Outcome != load.Success {
			t.Errorf("%s: %s", role, a.Message)
		}
	}
}

func TestRefusedCredentialsAreAuthAndAreNotTriedAgainAtOnce(t *testing.T) {
	r := newRig(t, simulator.Config{})
	request := r.chart(101, "Wrong")
	workers := []*Client{r.worker("a"), r.worker("b")}
	before := r.Stats().Routes["login"].Requests
	together(10, func(i int) {
		var p places
		a, err := workers[i%2].Execute(context.Background(), request, p.places())
		if err != nil || a.Outcome != load.Error || a.Kind != load.Auth || a.Requests != 0 || !a.Admitted.IsZero() || !strings.Contains(a.Message, "check name, password") {
			t.Errorf("%+v, %v", a, err)
		}
		if strings.Contains(a.Message, "not-the-password") {
			t.Errorf("the password is told: %s", a.Message)
		}
	})
	if asked := r.Stats().Routes["login"].Requests - before; asked != 1 || r.counted() != 0 {
		t.Errorf("%d logins were tried, %d requests sent", asked, r.counted())
	}
	if a := execute(t, workers[0], r.chart(101, "Nobody else")); a.Kind != load.Auth || !strings.Contains(a.Message, "has no role") {
		t.Errorf("%+v", a)
	}
}

func TestWithoutTheStoreAProcessLogsInForItself(t *testing.T) {
	r := newRig(t, simulator.Config{})
	r.tokens.down = errors.New("away")
	request := r.chart(101, "Ops")
	c := r.worker("a")
	together(6, func(int) {
		if a, err := c.Execute(context.Background(), request, load.Places{}); err != nil || a.Outcome != load.Success {
			t.Errorf("%s: %v", a.Message, err)
		}
	})
	if logins := r.Stats().Logins["ops"]; logins != 1 {
		t.Errorf("%d logins", logins)
	}
}

func TestAClaimOfAWorkerThatDiedIsTakenOver(t *testing.T) {
	r := newRig(t, simulator.Config{})
	request := r.chart(101, "Ops")
	c := r.configured(Config{Worker: "b", Tokens: r.tokens, Now: r.Now})
	who := c.identities["Ops"]
	s, err := newSeal("ops:ops-secret", "boards", c.environment.BaseURL, who.pass.key)
	if err != nil {
		t.Fatal(err)
	}
	value, err := s.close(token{Claim: &claim{By: "a", Until: r.Now().Add(claimTime)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.tokens.Save(t.Context(), who.pass.key, value, 0, time.Hour); err != nil {
		t.Fatal(err)
	}
	waits := 0
	who.pass.wait = func(context.Context, time.Duration) error {
		waits++
		r.Advance(claimTime / 4)
		return nil
	}
	if a := execute(t, c, request); a.Outcome != load.Success || waits != 4 {
		t.Errorf("%s, after %d waits", a.Message, waits)
	}
}

func TestWhatIsSharedCanBeReadWithTheCredentialAlone(t *testing.T) {
	s, err := newSeal("user:secret", "env", "https://one.example", "login-env-1")
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := s.close(token{Access: "the-token", Generation: 3})
	if err != nil {
		t.Fatal(err)
	}
	var got token
	if err := s.open(sealed, &got); err != nil || got.Access != "the-token" || got.Generation != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	for name, with := range map[string][4]string{
		"another secret":      {"user:Secret", "env", "https://one.example", "login-env-1"},
		"another environment": {"user:secret", "enw", "https://one.example", "login-env-1"},
		"another address":     {"user:secret", "env", "https://two.example", "login-env-1"},
		"another name":        {"user:secret", "env", "https://one.example", "login-env-2"},
	} {
		other, err := newSeal(with[0], with[1], with[2], with[3])
		if err != nil {
			t.Fatal(err)
		}
		if err := other.open(sealed, &got); !errors.Is(err, errSealed) {
			t.Errorf("with %s: %v", name, err)
		}
	}
	for i := range sealed {
		bad := bytes.Clone(sealed)
		bad[i] ^= 1
		if err := s.open(bad, &got); !errors.Is(err, errSealed) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
	}
	for _, bad := range [][]byte{nil, {1}, sealed[:20], make([]byte, maxSealedBytes+1)} {
		if err := s.open(bad, &got); !errors.Is(err, errSealed) {
			t.Errorf("%d bytes: %v", len(bad), err)
		}
	}
}

func TestSecretsAreNowhere(t *testing.T) {
	r := newRig(t, simulator.Config{})
	var seen []string
	trace := func(ctx context.Context, method, url string) (context.Context, func(int, error)) {
		seen = append(seen, method+" "+url)
		return ctx, func(_ int, err error) { seen = append(seen, fmt.Sprint(err)) }
	}
	c := r.configured(Config{Tokens: r.tokens, Trace: trace})
	request := r.chart(101, "Gamma")
	request.Sample = load.SampleBounds{Rows: 10, Bytes: 10_000}
	records := []load.Answer{execute(t, c, request), execute(t, c, r.chart(101, "Guest"))}
	secrets := append(c.identities["Gamma"].secrets(), c.identities["Guest"].secrets()...)
	// A server that repeats what it was sent, in errors of all kinds.
	for _, kind := range []string{"json", "html", "text"} {
		records = append(records, executeAt(t, odd{handler: func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			said := r.Header.Get("Authorization") + " " + r.Header.Get("X-CSRFToken")
			switch kind {
			case "json":
				_ = json.NewEncoder(w).Encode(map[string]string{"message": said})
			case "html":
				fmt.Fprintf(w, "<html><title>%s</title>", said)
			default:
				fmt.Fprint(w, said)
			}
		}}))
	}
	repeating := executeAt(t, odd{body: `{"result": [{"data": [{"a": "an-access-token-of-the-odd-server"}]}]}`})
	if string(repeating.Sample) != "[]" || !repeating.Truncated {
		t.Errorf("the sample has a token in it: %s", repeating.Sample)
	}
	text, err := json.Marshal(records)
	if err != nil {
		t.Fatal(err)
	}
	all := string(text) + strings.Join(seen, "\n")
	for key, value := range r.tokens.values {
		all += key + string(value)
	}
	secrets = append(secrets, "gamma-secret", "embedder-secret", "an-access-token-of-the-odd-server", "the-token-against-forgery")
	for _, secret := range secrets {
		for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret))} {
			if len(secret) >= 4 && strings.Contains(all, form) {
				t.Errorf("%.12s… is told", secret)
			}
		}
	}
	if len(secrets) < 10 || !strings.Contains(all, "HTTP 400") {
		t.Errorf("there were %d secrets to look for in %.200s", len(secrets), all)
	}
}

func TestLoginsKeepTheirPaceOverWorkers(t *testing.T) {
	at := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
	store := newTokens()
	var logins []time.Time
	for i := range 12 {
		c, err := New(boards(t, "http://127.0.0.1:9"), Config{Credentials: passwords, Tokens: store, Now: func() time.Time { return at }, Worker: fmt.Sprint(i % 3)})
		if err != nil {
			t.Fatal(err)
		}
		login := at
		c.pace.wait = func(_ context.Context, d time.Duration) error {
			login = at.Add(d)
			return nil
		}
		if err := c.pace.login(t.Context()); err != nil {
			t.Fatal(err)
		}
		logins = append(logins, login)
	}
	for i := 1; i < len(logins); i++ {
		if gap := logins[i].Sub(logins[i-1]); gap < loginEvery-time.Millisecond || gap > 2*loginEvery {
			t.Errorf("login %d follows after %s", i, gap)
		}
	}
}

func TestACredentialIsSentToItsHostAlone(t *testing.T) {
	d := boards(t, "http://127.0.0.1:9")
	if err := d.Rebase("http://127.0.0.1:8"); err != nil {
		t.Fatal(err)
	}
	c, err := New(d, Config{Credentials: passwords})
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Execute(t.Context(), oddRequest(), load.Places{})
	if err != nil || a.Kind != load.Auth || !strings.Contains(a.Message, "is not sent to another address") {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestALifetimeIsReadFromAToken(t *testing.T) {
	jwt := func(payload string) string {
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".sig"
	}
	for text, want := range map[string]time.Duration{
		jwt(`{"iat": 100, "exp": 1000}`): 900 * time.Second, jwt(`{"iat": 100.5, "exp": 101}`): 500 * time.Millisecond, jwt(`{"exp": 1000}`): 0,
		jwt(`{"iat": 1000, "exp": 100}`): 0, jwt(`{"iat": 0, "exp": 1e300}`): 0, jwt(`x`): 0, "opaque": 0, "a.b": 0, "a.!.c": 0, jwt(`{"iat": "1", "exp": 2}`): 0,
	} {
		if got := lifetimeOf(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
