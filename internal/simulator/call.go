package simulator

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// maxBody bounds the body of a service request, in bytes.
const maxBody = 1 << 20

// call is one service request on its way through the simulator.
type call struct {
	*state
	routes  map[string]route
	request *http.Request
	front   front
	url     string // path and query
	key     string // the credential by which the gateway tells clients apart
	body    []byte

	bodyRead bool
	grant    grant
	draw     draw
	out      *response
	entry    Exchange
	ending   ending
}

// exchange sees one service request through, from the gates to the count of its end.
func (s *Simulator) exchange(w http.ResponseWriter, r *http.Request) (cut severing) {
	c := &call{state: s.state.Load(), routes: s.routes, request: r, front: frontOf(r.URL.Path), url: r.URL.RequestURI()}
	c.key = c.front.keyOf(r)
	c.out = &response{w: w, zipAsked: c.config.Gzip && acceptsGzip(r.Header.Get("Accept-Encoding"))}
	c.entry = Exchange{Time: s.now(), Method: r.Method, URL: withoutSecrets(c.url), Service: c.front.service, Host: r.Host, Keyed: c.key != "", Credentials: credentialsOf(r)}
	inFlight := s.seen.arrive(&c.entry)
	defer func() {
		c.conclude(cut)
		c.entry.Duration = s.now().Sub(c.entry.Time)
		s.seen.finish(c.entry, c.ending)
	}()
	if !c.admit(inFlight) {
		c.out.finish(r.Context(), Fault{})
		return severNot
	}
	return c.serve(r.Context())
}

// admit asks every gate; a gate that refuses has answered.
func (c *call) admit(inFlight int) bool {
	now := c.entry.Time
	c.grant = c.account().peek(c.key, now)
	switch {
	case c.urlBytes() > c.config.URLBytes:
		c.ending.gate = gateTooLong
		c.announce(now)
		c.out.html(http.StatusRequestURITooLong, "414 Request-URI Too Large")
	case !c.known(now):
	case c.config.MaxInFlight > 0 && inFlight > c.config.MaxInFlight:
		c.ending.gate = gateInFlight
		c.announce(now)
		c.out.gatewayError(c.config.MaxInFlightStatus, "OVER_CONCURRENCY_LIMIT",
			"More than "+strconv.Itoa(c.config.MaxInFlight)+" requests are in flight. Send fewer at once.")
	default:
		return c.spend(now)
	}
	return false
}

// known checks the credential; when it will not do, known has answered.
func (c *call) known(now time.Time) bool {
	switch c.front.admission {
	case admitAll:
	case admitByKey:
		switch {
		case c.key == "" && c.config.RequireKey:
			return c.deny(now, "API_KEY_MISSING", "No api_key was supplied. Send one in the X-Api-Key header.")
		case c.key != "" && len(c.config.Keys) > 0 && !slices.Contains(c.config.Keys, c.key):
			return c.deny(now, "API_KEY_INVALID", "An invalid api_key was supplied. Check the X-Api-Key header.")
		}
	default:
		missing := c.key == "" && c.front.admission != admitByToken
		wrong := c.key != "" && len(c.config.OpenTokens) > 0 && !slices.Contains(c.config.OpenTokens, c.key)
		if missing || wrong {
			return c.deny(now, pick(missing, "missing credential", "unknown credential"), "")
		}
	}
	return true
}

func (c *call) deny(now time.Time, code, message string) bool {
	c.ending.gate = gateDenied
	c.announce(now)
	switch c.front.admission {
	case admitByKey:
		c.out.gatewayError(http.StatusForbidden, code, message)
	case demandToken, admitByToken:
		c.out.w.Header().Set("WWW-Authenticate", `Bearer realm="open-hydro"`)
		c.refuse(http.StatusUnauthorized, "", code)
	default:
		c.refuse(http.StatusUnauthorized, "", code)
	}
	return false
}

// account is the ledger that the request is charged to.
func (c *call) account() *ledger {
	switch c.front.admission {
	case admitAll:
		return newLedger(Quota{})
	case admitByKey:
		return c.ledger
	default:
		return c.open
	}
}

func (c *call) spend(now time.Time) bool {
	c.grant = c.account().spend(c.key, now)
	c.announce(now)
	if c.grant.admitted {
		return true
	}
	c.ending.gate, c.ending.insisted = gateQuota, c.grant.insisted
	c.overRateLimit()
	return false
}

func (c *call) announce(now time.Time) {
	account := c.account()
	c.grant.announce(c.out.w.Header(), account.quota, now, account == c.open)
}

func (c *call) overRateLimit() {
	if c.front.service == serviceOpenHydro {
		c.refuse(http.StatusTooManyRequests, "", "quota exceeded")
		return
	}
	c.out.gatewayError(http.StatusTooManyRequests, "OVER_RATE_LIMIT",
		"You have exceeded your rate limit. Try again later.")
}

// urlBytes is the length of the absolute URL.
func (c *call) urlBytes() int {
	return len(c.origin()) + len(c.url)
}

// origin is scheme and authority as the client sees them.
func (c *call) origin() string {
	if c.request.TLS != nil {
		return "https://" + c.request.Host
	}
	return "http://" + c.request.Host
}

// serve answers an admitted request, or breaks it as the script says.
func (c *call) serve(ctx context.Context) severing {
	route, known := c.routes[c.request.URL.Path]
	if c.request.Method == http.MethodPost && route.continued != nil && !c.readBody() {
		return c.out.finish(ctx, Fault{}) // where the body tells the page, it is read before the fault is drawn
	}
	n := nature{form: route.form, continued: c.request.URL.Query().Has("cursor")}
	if route.continued != nil {
		n.continued = route.continued(c)
	}
	c.draw = c.script.next(hashText(0, c.request.Method, c.url), c.url, n)
	c.entry.Fault, c.entry.Attempt = c.draw.fault.Kind, c.draw.attempt
	if c.draw.fault.Kind == FaultResetBefore {
		return severReset
	}
	if !c.bodyRead && !c.readBody() {
		return c.out.finish(ctx, Fault{})
	}
	if err := pause(ctx, c.latency()); err != nil {
		c.out.err = err
		return severAbort
	}
	if site, broken := c.asksForBroken(); broken {
		c.answerBroken(site)
		return c.out.finish(ctx, Fault{})
	}
	if cut, done := c.failInstead(ctx); done {
		return cut
	}
	switch {
	case !known:
		c.out.serviceError(http.StatusNotFound, "NotFound", "There is nothing at "+c.request.URL.Path+".")
	case !slices.Contains(route.methods, c.request.Method):
		for _, method := range route.methods {
			c.out.w.Header().Add("Allow", method)
		}
		c.out.serviceError(http.StatusMethodNotAllowed, "MethodNotAllowed", "This path does not take "+c.request.Method+".")
	default:
		c.entry.Rows = route.answer(c)
	}
	if c.draw.fault.Kind == FaultResetAfter {
		return severReset
	}
	return c.out.finish(ctx, c.draw.fault)
}

// readBody takes in the request's body, or answers 413.
func (c *call) readBody() bool {
	c.bodyRead = true
	body, err := io.ReadAll(http.MaxBytesReader(c.out.w, c.request.Body, int64(c.config.BodyBytes)))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		c.refuse(http.StatusRequestEntityTooLarge, "TooLarge", "The body is over "+strconv.Itoa(c.config.BodyBytes)+" bytes.")
	case err == nil && c.config.FirewallBytes > 0 && len(body) > c.config.FirewallBytes:
		c.out.html(http.StatusForbidden, "403 Forbidden")
		return false
	case err != nil:
		c.out.err = err
	}
	c.body = body
	c.ending.identity = hashText(0, c.request.Method, c.url, string(body))
	return err == nil
}

func (c *call) latency() time.Duration {
	d := c.config.Latency
	if jitter := c.config.LatencyJitter; jitter > 0 {
		d += time.Duration(unit(mix(c.draw.chance)) * float64(jitter))
	}
	return d
}

// failInstead carries out the faults that take the place of the service's answer, and prepares those that spoil it.
func (c *call) failInstead(ctx context.Context) (cut severing, done bool) {
	f := c.draw.fault
	switch f.Kind {
	case Fault500:
		c.out.serviceError(http.StatusInternalServerError, "NoApplicableCode", "query error (check logs)")
	case Fault502:
		c.out.html(http.StatusBadGateway, "502 Bad Gateway")
	case Fault503:
		c.askForPatience(f.Delay)
		c.out.gatewayError(http.StatusServiceUnavailable, "SERVICE_UNAVAILABLE", "The service is unavailable. Try again later.")
	case Fault504:
		c.out.html(http.StatusGatewayTimeout, "504 Gateway Time-out")
	case Fault429:
		c.askForPatience(f.Delay)
		c.overRateLimit()
	case FaultHang:
		return c.hang(ctx, f.Delay), true
	default:
		if c.answerFault(f) {
			break
		}
		c.out.hold(f.Kind)
		return severNot, false
	}
	return c.out.finish(ctx, Fault{}), true
}

func (c *call) askForPatience(d time.Duration) {
	if d > 0 {
		c.out.w.Header().Set("Retry-After", strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10))
	}
}

// hang keeps the client waiting until it leaves or the delay is over.
func (c *call) hang(ctx context.Context, delay time.Duration) severing {
	if delay == 0 {
		delay = maxDelay
	}
	if err := pause(ctx, delay); err != nil {
		c.out.err = err
		return severAbort
	}
	return severReset
}

// conclude fills in how the exchange ended.
func (c *call) conclude(cut severing) {
	if c.ending.gate == gateQuota {
		c.account().refusalAnswered(c.grant.pool)
	}
	gone := c.out.err != nil || c.request.Context().Err() != nil
	c.ending.whole = cut == severNot && !gone
	c.ending.bytes = c.out.bytes
	switch {
	case gone:
		c.entry.Status = statusClientGone
	case cut == severReset:
		c.entry.Status = statusReset
	default:
		c.entry.Status = c.out.status
	}
}
