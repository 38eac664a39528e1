package superset

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/pkg/load"
)

const (
	loginPath   = "/api/v1/security/login"
	refreshPath = "/api/v1/security/refresh"
	csrfPath    = "/api/v1/security/csrf_token/"
	guestPath   = "/api/v1/security/guest_token/"

	maxTokenBytes = 16 << 10
)

// identity is somebody whom the server knows: a login, or a guest whose tokens a login orders. Its token is shared by all workers; its cookies
// and the CSRF token that belongs to them are this process's own. Safe for concurrent use.
type identity struct {
	client *Client
	role   load.Role
	orders *identity // of a guest: the login that orders its tokens
	pass   *pass
	jar    jar
	asking chan struct{} // holds one while the CSRF token is asked for: who came meanwhile waits, to be in the same session

	mu        sync.Mutex // guards what follows
	csrf      string
	csrfAsked int       // generation of the token that a CSRF token was last asked with
	seen      [4]string // tokens and passwords that were used last, to keep them out of what is told
	next      int

	tasksAsked, tasks bool // whether the server has tasks for this identity
}

func (c *Client) newLogin(role load.Role) *identity {
	who := &identity{client: c, role: role, asking: make(chan struct{}, 1)}
	key := storeKey("login", c.environment.Name, c.environment.BaseURL, role.Provider+"\x00"+role.Credential)
	who.pass = c.newPass(key, who.secret, who.login)
	return who
}

func (c *Client) newGuest(role load.Role, orders *identity) *identity {
	who := &identity{client: c, role: role, orders: orders, asking: make(chan struct{}, 1)}
	identity, _ := json.Marshal(role) // plain data
	key := storeKey("guest", c.environment.Name, c.environment.BaseURL, string(identity))
	who.pass = c.newPass(key, who.secret, who.orderGuest)
	return who
}

// secret is that of the credential, USER:PASSWORD.
func (who *identity) secret() (string, error) {
	c := who.client
	secret, err := fetch.LoginSecret(c.definition, who.role.Credential, c.base.String()+loginPath, c.cfg.Credentials)
	if err != nil {
		return "", err
	}
	_, password, ok := strings.Cut(secret, ":")
	if !ok || password == "" {
		return "", &failure{Kind: kindAuth, Message: "the credential " + who.role.Credential + " is not USER:PASSWORD; write the name, a colon and the password"}
	}
	who.note(password)
	return secret, nil
}

// note remembers a secret that is used.
func (who *identity) note(secret string) {
	who.mu.Lock()
	defer who.mu.Unlock()
	for _, have := range who.seen {
		if have == secret {
			return
		}
	}
	who.seen[who.next%len(who.seen)] = secret
	who.next++
}

// secrets are all that must not be told.
func (who *identity) secrets() []string {
	t := who.pass.current()
	all := append([]string{t.Access, t.Refresh}, who.jar.values()...)
	who.mu.Lock()
	all = append(all, who.csrf)
	all = append(all, who.seen[:]...)
	who.mu.Unlock()
	if who.orders != nil {
		all = append(all, who.orders.secrets()...)
	}
	return all
}

// headers are those that let a request in.
func (who *identity) headers(t token) http.Header {
	header := http.Header{}
	if who.orders != nil {
		header["X-GuestToken"] = []string{t.Access} // as the server spells it
	} else {
		header.Set("Authorization", "Bearer "+t.Access)
	}
	who.mu.Lock()
	defer who.mu.Unlock()
	if who.csrf != "" {
		header["X-CSRFToken"] = []string{who.csrf}
	}
	return header
}

// enter gets ready to send requests: it gives a token of a later generation than after, and has the cookies that go with it. The error is a
// *failure, or the cause of ctx.
func (who *identity) enter(ctx context.Context, after int) (token, error) {
	t, err := who.pass.get(ctx, after)
	if err != nil {
		return token{}, err
	}
	who.note(t.Access)
	if err := who.askCSRF(ctx, t); err != nil {
		return token{}, err
	}
	return t, nil
}

// askCSRF asks for the token that goes with the cookies, once for each token of the identity until there is one. A deployment may give none and
// want none, so a refusal is none here: what needs the token will be refused.
func (who *identity) askCSRF(ctx context.Context, t token) error {
	if who.hasAsked(t) {
		return nil
	}
	select {
	case who.asking <- struct{}{}:
		defer func() { <-who.asking }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if who.hasAsked(t) {
		return nil
	}
	answer, err := who.client.ask(ctx, call{method: http.MethodGet, path: csrfPath, jar: &who.jar, header: who.headers(t)})
	if _, refused := errors.AsType[*failure](err); err != nil && !refused {
		return err
	}
	defer func() {
		who.mu.Lock()
		who.csrfAsked = max(who.csrfAsked, t.Generation)
		who.mu.Unlock()
	}()
	if csrf := gjson.GetBytes(answer, "result"); csrf.Type == gjson.String && isToken(csrf.Str) {
		who.mu.Lock()
		who.csrf = csrf.Str
		who.mu.Unlock()
	}
	return nil
}

func (who *identity) hasAsked(t token) bool {
	who.mu.Lock()
	defer who.mu.Unlock()
	return who.csrf != "" || who.csrfAsked >= t.Generation
}

// login orders a token with the refresh token, or with the password where there is none that is taken.
func (who *identity) login(ctx context.Context, old token) (token, *failure) {
	if old.Refresh != "" {
		header := http.Header{"Authorization": {"Bearer " + old.Refresh}}
		next, refusal := who.tokenOf(ctx, call{method: http.MethodPost, path: refreshPath, body: []byte("{}"), jar: &who.jar, header: header})
		if refusal == nil {
			next.Refresh = old.Refresh
			return next, nil
		}
		if refusal.Status == 0 {
			return token{}, refusal
		}
	}
	secret, err := who.secret()
	if err != nil {
		return token{}, failed(err)
	}
	if err := who.client.pace.login(ctx); err != nil {
		return token{}, failed(err)
	}
	name, password, _ := strings.Cut(secret, ":")
	body, err := json.Marshal(map[string]any{"username": name, "password": password, "provider": who.role.Provider, "refresh": true})
	if err != nil {
		return token{}, failed(err)
	}
	next, refusal := who.tokenOf(ctx, call{method: http.MethodPost, path: loginPath, body: body, jar: &who.jar})
	if refusal != nil && refusal.Status == http.StatusUnauthorized {
		refusal.Hint = "the server does not take the credential " + who.role.Credential + "; check name, password and provider (" + who.role.Provider + ")"
	}
	if refusal != nil && refusal.Status == http.StatusNotFound {
		refusal.Hint = "nothing answers logins there; base_url is the address of Superset's own start page, without what stands behind it"
	}
	return next, refusal
}

// tokenOf sends a request that is answered with tokens.
func (who *identity) tokenOf(ctx context.Context, what call) (token, *failure) {
	answer, err := who.client.ask(ctx, what)
	if err != nil {
		return token{}, who.clean(failed(err))
	}
	var t token
	for _, name := range []string{"access_token", "token"} {
		if text := gjson.GetBytes(answer, name); text.Type == gjson.String {
			t.Access = text.Str
			break
		}
	}
	if text := gjson.GetBytes(answer, "refresh_token"); text.Type == gjson.String && isToken(text.Str) {
		t.Refresh = text.Str
	}
	if !isToken(t.Access) {
		return token{}, &failure{Kind: load.BadBody, Status: http.StatusOK, Message: what.method + " " + what.path + ": the answer has no token"}
	}
	t.Lifetime = lifetimeOf(t.Access)
	return t, nil
}

// orderGuest orders a guest token by the login that may.
func (who *identity) orderGuest(ctx context.Context, _ token) (token, *failure) {
	clauses := who.role.Clauses
	if clauses == nil {
		clauses = []load.GuestClause{}
	}
	body, err := json.Marshal(map[string]any{
		"user":      map[string]string{"username": "braid", "first_name": "Braid", "last_name": "Guest"},
		"resources": []map[string]string{{"type": "dashboard", "id": who.role.Embedded}},
		"rls":       clauses,
	})
	if err != nil {
		return token{}, failed(err)
	}
	for after := 0; ; {
		t, err := who.orders.enter(ctx, after)
		if err != nil {
			return token{}, failed(err)
		}
		next, refusal := who.tokenOf(ctx, call{method: http.MethodPost, path: guestPath, body: body, jar: &who.orders.jar, header: who.orders.headers(t)})
		if refusal == nil || refusal.Status != http.StatusUnauthorized || after > 0 {
			return next, refusal
		}
		after = t.Generation
	}
}

// clean takes the secrets out of a failure.
func (who *identity) clean(f *failure) *failure {
	f.Message, f.Hint = who.hide(f.Message), who.hide(f.Hint)
	return f
}

// isToken tells whether a text can stand in a header as a token.
func isToken(text string) bool {
	return text != "" && len(text) <= maxTokenBytes && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// ask sends a request that is no chart's as this identity; a refused token is renewed once.
func (who *identity) ask(ctx context.Context, what call) ([]byte, error) {
	for after := 0; ; {
		t, err := who.enter(ctx, after)
		if err != nil {
			return nil, err
		}
		what.jar, what.header = &who.jar, who.headers(t)
		answer, err := who.client.ask(ctx, what)
		f, refused := errors.AsType[*failure](err)
		switch {
		case !refused:
			return answer, err
		case f.Status != http.StatusUnauthorized || after > 0:
			return nil, who.clean(f)
		}
		after = t.Generation
	}
}
