package superset

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// What a token is for.
const (
	accessToken  = "access"
	refreshToken = "refresh"
	guestToken   = "guest"
	sessionToken = "session"
	asyncToken   = "async"
)

// refreshTTL is how long a refresh token lives.
const refreshTTL = 30 * 24 * time.Hour

// Why a token is refused, in the words of the server.
var (
	errExpired  = errors.New("Token has expired")             //nolint:staticcheck // the real server's words
	errRevoked  = errors.New("Token has been revoked")        //nolint:staticcheck // likewise
	errSegments = errors.New("Not enough segments")           //nolint:staticcheck // likewise
	errVerify   = errors.New("Signature verification failed") //nolint:staticcheck // likewise
)

// claims are what a token or a signed cookie says.
type claims struct {
	Type       string      `json:"type"`
	Subject    int64       `json:"sub,omitempty"` // id of an identity
	Issued     int64       `json:"iat"`
	Expires    int64       `json:"exp"`
	ID         string      `json:"jti"`
	Fresh      bool        `json:"fresh,omitempty"`
	Generation int         `json:"gen,omitempty"` // of the identity's tokens, raised by revocation
	User       *guestUser  `json:"user,omitempty"`
	Resources  []resource  `json:"resources,omitempty"`
	Rules      []guestRule `json:"rls_rules,omitempty"`
	Channel    string      `json:"channel,omitempty"`
}

type guestUser struct {
	Username  string `json:"username"`
	FirstName string `json:"first_name,omitempty"`
	LastName  string `json:"last_name,omitempty"`
}

type resource struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

type guestRule struct {
	Dataset int64  `json:"dataset,omitempty"`
	Clause  string `json:"clause"`
}

// tokens issues and reads signed tokens. Safe for concurrent use.
type tokens struct {
	key []byte

	mu          sync.Mutex // guards all below
	issued      int
	generations map[string]int // of names of callers: tokens of an earlier one are revoked
}

func newTokens(seed uint64) *tokens {
	return &tokens{key: fmt.Appendf(nil, "fake-superset-%016x", mix(seed)), generations: map[string]int{}}
}

// sign makes a JWT of c, which it completes.
func (t *tokens) sign(c claims, caller string, now time.Time, ttl time.Duration) string {
	t.mu.Lock()
	t.issued++
	if c.Generation = t.generations[caller]; c.ID == "" {
		c.ID = fmt.Sprintf("%08d", t.issued)
	}
	t.mu.Unlock()
	c.Issued, c.Expires = now.Unix(), now.Add(ttl).Unix()
	payload, err := json.Marshal(c)
	if err != nil {
		panic(err) // texts and numbers
	}
	signed := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString(payload)
	return signed + "." + base64.RawURLEncoding.EncodeToString(t.mac(signed))
}

func (t *tokens) mac(text string) []byte {
	h := hmac.New(sha256.New, t.key)
	_, _ = h.Write([]byte(text)) // a hash does not fail
	return h.Sum(nil)
}

// csrf is the token that belongs to a session.
func (t *tokens) csrf(session string) string { return hex.EncodeToString(t.mac("csrf " + session)) }

// read checks signature, expiry and revocation; whose gives the name that a token's caller is revoked by.
func (t *tokens) read(text string, now time.Time, whose func(*claims) string) (*claims, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, errSegments
	}
	mac, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !hmac.Equal(mac, t.mac(parts[0]+"."+parts[1])) {
		return nil, errVerify
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil, errVerify
	}
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, errVerify
	}
	if now.Unix() >= c.Expires {
		return nil, errExpired
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.Type != refreshToken && c.Generation < t.generations[whose(&c)] {
		return nil, errRevoked
	}
	return &c, nil
}

// revoke ends the access and guest tokens of a caller, not the refresh tokens.
func (t *tokens) revoke(caller string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.generations[caller]++
}

// RevokeTokens ends the access tokens and sessions of an identity, or the tokens of a guest, whose name then begins with guest:. Refresh tokens stay.
func (s *Server) RevokeTokens(identity string) { s.tokens.revoke(identity) }
