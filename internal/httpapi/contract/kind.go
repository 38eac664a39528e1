package contract

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/access"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

// TypePath is the path below which each kind of problem has its address: what a problem's type begins with.
const TypePath = "/problems/"

// Kind is one kind of problem. Its slug and its status never change.
type Kind struct {
	Slug   string `json:"slug"`
	Status int    `json:"status"` // HTTP status
	Title  string `json:"title"`
	Fix    string `json:"fix"` // what a person can do
	Err    error  `json:"-"`   // the sentinel that the kind stands for; nil when callers have nothing to branch on
}

// Slugs of the kinds that the HTTP layer itself speaks of.
const (
	RequestInvalid   = "request-invalid"
	TooLarge         = "too-large"
	NotJSON          = "not-json"
	ReadTimeout      = "read-timeout"
	CrossOrigin      = "cross-origin"
	UnknownHost      = "unknown-host"
	NoRoute          = "no-route"
	MethodNotAllowed = "method-not-allowed"
	NotReady         = "not-ready"
	Busy             = "busy"
	NoSuchRange      = "no-such-range"
	Precondition     = "precondition-failed"
	Timeout          = "timeout"
	Internal         = "internal"
	QueryInvalid     = "query-invalid"
	Unauthenticated  = "unauthenticated"
	Forbidden        = "forbidden"
	TokenInURL       = "token-in-url"
	TooManyLogins    = "too-many-logins"
	AuditUnwritable  = "audit-unwritable"
)

// Kinds lists all kinds. An error that wraps several sentinels is of the first kind that fits, so those that a caller can
// mend stand first.
func Kinds() []Kind {
	return slices.Concat(domainKinds(), loadKinds(), []Kind{
		{RequestInvalid, 422, "The request is not valid", "correct the named parameter or field; /openapi.json describes them", query.ErrInvalid},
		{TooLarge, 413, "The body is too large", "ask for fewer values in one query", query.ErrInvalid},
		{NotJSON, 415, "The body is not JSON", "send the body with Content-Type: application/json", nil},
		{ReadTimeout, 408, "The body came too slowly", "send it again over a faster connection", nil},
		{CrossOrigin, 403, "A page of another origin may not ask for this", "send the request from a program, or from this server's own pages", nil},
		{UnknownHost, 421, "The server does not know itself by that name", "call it by localhost or its address, or start it with the name among its known hosts", nil},
		{TokenInURL, 400, "A token does not belong into a URL", "revoke it, as URLs are written to logs; send another one in the header Authorization", nil},
		{TooManyLogins, 429, "Too many logins from this address", "wait a minute", nil},
		{AuditUnwritable, 503, "What is changed cannot be written down", "make the audit file writable; nothing is changed until then", nil},
		{NoRoute, 404, "There is nothing at this path", "/openapi.json lists the paths; an older server may lack some", nil},
		{MethodNotAllowed, 405, "The path does not know this method", "use one of the methods in the Allow header", nil},
		{NotReady, 503, "The coordinator is not ready", "wait and ask again", nil},
		{NoSuchRange, 416, "The table has no such part", "ask for a part within the size that Content-Range tells", nil},
		{Precondition, 412, "The table is not the one that the request is for", "ask for its ETag again", nil},
		{Busy, 503, "The coordinator has too much to do", "wait a moment and ask again", nil},
		{Timeout, 504, "The coordinator did not finish in time", "ask again; if it stays so, look at the coordinator's log", nil},
		{Internal, 500, "Unexpected error", "look at the coordinator's log", nil},
	})
}

func domainKinds() []Kind {
	return []Kind{
		{QueryInvalid, 422, "The query cannot be run", "correct the named fields; nothing was sent", query.ErrInvalid},
		{"idempotency-key-reused", 422, "The key was used for another query", "take a new key for each new query, and send the same body again under the old one", query.ErrKeyReused},
		{"query-ambiguous", 409, "Several queries match", "write more of the id", query.ErrAmbiguous},
		{"query-state", 409, "Not possible in the query's present state", "look at the query's status", query.ErrState},
		{"load-invalid", 422, "The load profile or run cannot be carried out as it is asked for", "correct what is named; nothing was sent", load.ErrInvalid},
		{"load-key-reused", 422, "The key was used for another start", "take a new key for each new run, and send the same body again under the old one", load.ErrKeyReused},
		{"load-ambiguous", 409, "Several load runs match", "write more of the id", load.ErrAmbiguous},
		{"load-state", 409, "Not possible in the load run's present state", "look at the run's state", load.ErrState},
		{"plan-changed", 409, "The plan differs from the one that the query was begun with", "finish it with the version that began it, or run it anew", query.ErrFingerprint},
		{"query-incomplete", 409, "The query is not complete", "resume the query, or ask for the results with partial=true", query.ErrIncomplete},
		{"table-impossible", 422, "The table cannot be made of these rows", "correct the service definition, and run the query with it anew", query.ErrTable},
		{"results-damaged", 409, "Stored results are lost or damaged", "resume the query: it fetches them again", messages.ErrDamaged},
		{"store-full", 507, "The message store is full", "give NATS more space, or remove queries that are done with", messages.ErrStoreFull},
		{"store-unreachable", 503, "NATS is not reachable", "start NATS, or wait until it is back; no work is lost", messages.ErrUnreachable},
		{"not-found", 404, "Not found", "list the queries and compare the id", messages.ErrNotFound},
		{"conflict", 409, "Changed by somebody else meanwhile", "ask again", messages.ErrConflict},
		{Unauthenticated, 401, "The server does not know who you are", "send a token that is valid: Authorization: Bearer braid_…", access.ErrUnauthenticated},
		{Forbidden, 403, "Not permitted", "ask who keeps the server's tokens for the named permission", access.ErrForbidden},
		{"version", 500, "A record is of a newer Braid", "upgrade this coordinator", messages.ErrVersion},
	}
}

// KindOf gives the kind of an error: that of a load run's gate or look-up, else the first whose sentinel it wraps, or Internal.
func KindOf(err error) Kind {
	if k := kindOfLoad(err); k.Slug != "" {
		return k
	}
	for _, k := range domainKinds() {
		if errors.Is(err, k.Err) {
			return k
		}
	}
	return KindNamed(Internal)
}

// KindNamed gives the kind of a slug; the zero Kind when this build does not know it.
func KindNamed(slug string) Kind {
	for _, k := range Kinds() {
		if k.Slug == slug {
			return k
		}
	}
	return Kind{}
}

// Type is the URI reference that identifies the kind in a problem.
func (k Kind) Type() string { return TypePath + k.Slug }

// KindAt gives the kind of a problem's type, which may be absolute; the zero Kind when this build does not know it.
func KindAt(typ string) Kind {
	address, err := url.Parse(typ)
	if err != nil {
		return Kind{}
	}
	_, slug, _ := strings.Cut(address.Path, TypePath)
	return KindNamed(slug)
}
