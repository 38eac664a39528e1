package simulator

import (
	"bytes"
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
	url     string // path and query
	key     string // X-Api-Key
	body    []byte
	grant   grant
	draw    draw
	out     *response
	entry   Exchange
	ending  ending
}

// exchange sees one service request through, from the gates to the count of its end.
func (s *Simulator) exchange(w http.ResponseWriter, r *http.Request) (cut severing) {
	c := &call{state: s.state.Load(), routes: s.routes, request: r, url: r.URL.RequestURI(), key: r.Header.Get("X-Api-Key")}
	c.out = &response{w: w, zipAsked: c.config.Gzip && acceptsGzip(r.Header.Get("Accept-Encoding"))}
	c.entry = Exchange{Time: s.now(), Method: r.Method, URL: c.url, Keyed: c.key != ""}
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
	c.grant = c.ledger.peek(c.key, now)
	switch {
	case c.urlBytes() > c.config.URLBytes:
		c.ending.gate = gateTooLong
		c.announce(now)
		c.out.html(http.StatusRequestURITooLong, "414 Request-URI Too Large")
	case c.key == "" && c.config.RequireKey:
		c.deny(now, "API_KEY_MISSING", "No api_key was supplied. Send one in the X-Api-Key header.")
	case c.key != "" && len(c.config.Keys) > 0 && !slices.Contains(c.config.Keys, c.key):
		c.deny(now, "API_KEY_INVALID", "An invalid api_key was supplied. Check the X-Api-Key header.")
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

func (c *call) deny(now time.Time, code, message string) {
	c.ending.gate = gateDenied
	c.announce(now)
	c.out.gatewayError(http.StatusForbidden, code, message)
}

func (c *call) spend(now time.Time) bool {
	c.grant = c.ledger.spend(c.key, now)
	c.announce(now)
	if c.grant.admitted {
		return true
	}
	c.ending.gate, c.ending.insisted = gateQuota, c.grant.insisted
	c.overRateLimit()
	return false
}

func (c *call) announce(now time.Time) {
	c.grant.announce(c.out.w.Header(), c.config.Quota, now)
}

func (c *call) overRateLimit() {
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
	c.draw = c.script.next(hashText(0, c.request.Method, c.url), c.url, route.isPage)
	c.entry.Fault, c.entry.Attempt = c.draw.fault.Kind, c.draw.attempt
	if c.draw.fault.Kind == FaultResetBefore {
		return severReset
	}
	if !c.readBody() {
		return c.out.finish(ctx, Fault{})
	}
	if err := pause(ctx, c.latency()); err != nil {
		c.out.err = err
		return severAbort
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
	body, err := io.ReadAll(http.MaxBytesReader(c.out.w, c.request.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		c.out.serviceError(http.StatusRequestEntityTooLarge, "TooLarge", "The body is over "+strconv.Itoa(maxBody)+" bytes.")
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
	case FaultHTML:
		c.out.html(http.StatusOK, "The service is down for maintenance")
	case FaultHang:
		return c.hang(ctx, f.Delay), true
	case FaultResetAfter, FaultTruncated, FaultCutJSON, FaultSlowBody:
		c.out.held = &bytes.Buffer{}
		return severNot, false
	default:
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
		c.ledger.refusalAnswered(c.grant.pool)
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
