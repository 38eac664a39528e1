package superset

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

const (
	claimTime    = 20 * time.Second // a worker that orders a token is believed to be at it for so long
	claimWait    = 150 * time.Millisecond
	refusalTime  = 15 * time.Second // nobody asks again so long after credentials were refused
	passStored   = 12 * time.Hour
	renewBefore  = 30 * time.Second
	longestToken = 365 * 24 * time.Hour
)

// token is what lets requests in, as it is shared between workers.
type token struct {
	Access     string        `json:"access,omitempty"`
	Refresh    string        `json:"refresh,omitempty"`
	Generation int           `json:"generation"` // counts the tokens of the identity
	Obtained   time.Time     `json:"obtained,omitzero"`
	Lifetime   time.Duration `json:"lifetime,omitempty"` // 0: not known; a 401 tells
	Claim      *claim        `json:"claim,omitempty"`    // somebody is ordering the next one
	Refused    *refused      `json:"refused,omitempty"`  // the last order was
}

type claim struct {
	By    string    `json:"by"`
	Until time.Time `json:"until"`
}

type refused struct {
	Failure failure   `json:"failure"`
	Until   time.Time `json:"until"`
}

// fresh tells whether requests may still be sent with it.
func (t token) fresh(now time.Time) bool {
	return t.Access != "" && (t.Lifetime == 0 || now.Before(t.Obtained.Add(t.Lifetime-min(renewBefore, t.Lifetime/5))))
}

// lifetimeOf reads from a JWT for how long it was made. It is a hint: nothing is believed but the server's answers.
func lifetimeOf(jwt string) time.Duration {
	parts := strings.Split(jwt, ".")
	if len(parts) != 3 || len(parts[1]) > 16<<10 {
		return 0
	}
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return 0
	}
	var claims struct {
		Exp *float64 `json:"exp"`
		Iat *float64 `json:"iat"`
	}
	if json.Unmarshal(text, &claims) != nil || claims.Exp == nil || claims.Iat == nil {
		return 0
	}
	seconds := *claims.Exp - *claims.Iat
	if math.IsNaN(seconds) || seconds <= 0 || seconds > longestToken.Seconds() {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// pass has the token of one identity. However many ask for a new one, in however many workers, one orders it and the others get the same:
// in the process by turn, over the workers by a claim that is stored by compare-and-set. A worker that dies holding the claim delays
// the others by claimTime. When the store cannot be reached, each process orders its own. Safe for concurrent use.
type pass struct {
	client *Client
	key    string
	secret func() (string, error)                                   // of the credential, asked for anew each time
	order  func(ctx context.Context, old token) (token, *failure)   // Access, Refresh and Lifetime of the next
	wait   func(ctx context.Context, d time.Duration) (ended error) // until d is over

	turn chan struct{} // holds one while the token is renewed
	mu   sync.Mutex    // guards have
	have token
}

func (c *Client) newPass(key string, secret func() (string, error), order func(context.Context, token) (token, *failure)) *pass {
	return &pass{client: c, key: key, secret: secret, order: order, wait: wait, turn: make(chan struct{}, 1)}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *pass) current() token {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.have
}

// get gives a fresh token of a later generation than after: that of one which the server refused, 0 for any. The error is a *failure, or the
// cause of ctx.
func (p *pass) get(ctx context.Context, after int) (token, error) {
	if t := p.current(); t.Generation > after && t.fresh(p.client.now()) {
		return t, nil
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return token{}, context.Cause(ctx)
	}
	if t := p.current(); t.Generation > after && t.fresh(p.client.now()) {
		return t, nil // somebody else was faster
	}
	t, err := p.renew(ctx, after)
	if err != nil {
		return token{}, err
	}
	t.Claim, t.Refused = nil, nil
	p.mu.Lock()
	p.have = t
	p.mu.Unlock()
	return t, nil
}

func (p *pass) renew(ctx context.Context, after int) (token, error) {
	secret, err := p.secret()
	if err != nil {
		return token{}, failed(err)
	}
	s, err := newSeal(secret, p.client.environment.Name, p.client.environment.BaseURL, p.key)
	if err != nil {
		return token{}, failed(err)
	}
	for {
		stored, revision, err := p.load(ctx, s)
		now := p.client.now()
		switch {
		case ctx.Err() != nil:
			return token{}, context.Cause(ctx)
		case err != nil:
			return p.alone(ctx, after)
		case stored.Generation > after && stored.fresh(now):
			return stored, nil
		case stored.Refused != nil && now.Before(stored.Refused.Until):
			refusal := stored.Refused.Failure
			return token{}, &refusal
		case stored.Claim != nil && now.Before(stored.Claim.Until):
			if err := p.wait(ctx, claimWait+p.client.jitter(claimWait)); err != nil {
				return token{}, err
			}
			continue
		}
		stored.Claim, stored.Refused = &claim{By: p.client.cfg.Worker, Until: now.Add(claimTime)}, nil
		revision, err = p.save(ctx, s, stored, revision)
		switch {
		case errors.Is(err, messages.ErrConflict):
			continue
		case err != nil:
			return p.alone(ctx, after)
		}
		return p.claimed(ctx, s, stored, revision, after)
	}
}

// claimed orders the next token and shares it, or the refusal.
func (p *pass) claimed(ctx context.Context, s *seal, stored token, revision uint64, after int) (token, error) {
	next, refusal := p.ordered(ctx, stored, after)
	shared := next
	if refusal != nil {
		shared = stored
		shared.Claim = nil
		if refusal.Kind == kindAuth {
			shared.Access, shared.Refresh = "", ""
			shared.Refused = &refused{Failure: *refusal, Until: p.client.now().Add(refusalTime)}
		}
	}
	// A claim that stays would hold up the others, so it is taken back also when nobody waits here any more. Who took it over meanwhile has
	// a token of its own, which is as good.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTime)
	defer cancel()
	_, _ = p.save(ctx, s, shared, revision)
	if refusal != nil {
		return token{}, refusal
	}
	return next, nil
}

// alone orders a token for this process.
func (p *pass) alone(ctx context.Context, after int) (token, error) {
	next, refusal := p.ordered(ctx, p.current(), after)
	if refusal != nil {
		return token{}, refusal
	}
	return next, nil
}

func (p *pass) ordered(ctx context.Context, old token, after int) (token, *failure) {
	ctx, cancel := context.WithTimeout(ctx, claimTime-claimTime/10)
	defer cancel()
	begun := p.client.now()
	next, refusal := p.order(ctx, old)
	if refusal != nil {
		return token{}, refusal
	}
	next.Generation, next.Obtained = max(old.Generation, after)+1, begun
	return next, nil
}

// load reads what is shared. What cannot be read, because the secret was replaced, is as good as absent and will be written over.
func (p *pass) load(ctx context.Context, s *seal) (token, uint64, error) {
	if p.client.cfg.Tokens == nil {
		return token{}, 0, errors.New("no store of tokens")
	}
	value, revision, err := p.client.cfg.Tokens.Load(ctx, p.key)
	if err != nil {
		return token{}, 0, err
	}
	var t token
	if value == nil || s.open(value, &t) != nil {
		return token{}, revision, nil
	}
	return t, revision, nil
}

func (p *pass) save(ctx context.Context, s *seal, t token, revision uint64) (uint64, error) {
	value, err := s.close(t)
	if err != nil {
		return 0, err
	}
	return p.client.cfg.Tokens.Save(ctx, p.key, value, revision, passStored)
}
