package simulator

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Bounds of a Config.
const (
	maxLimit        = 50_000 // rows the service lets a client ask for at once
	maxDelay        = time.Hour
	maxFaults       = 1_000
	maxLogSize      = 100_000
	maxQuota        = 10_000_000
	defaultURLBytes = 8_200
	defaultLogSize  = 1_000
)

// Config says how a Simulator behaves. The zero value is a fast, friendly service without a quota.
type Config struct {
	// Latency is waited before every answer of the service; refusals of the gateway come at once. At most an hour.
	Latency time.Duration
	// LatencyJitter adds between nothing and this much to Latency, chosen by Seed, URL and attempt.
	LatencyJitter time.Duration

	// PageRows is the server's own maximum page size, 1 to 50,000; a larger limit of a client is clamped to it without
	// a word. 0: 50,000.
	PageRows int
	// MaxQueryRows is the most rows (days times series, gaps included) a query may match; above it the answer is 403
	// "exceeding server limits". 0: no bound.
	MaxQueryRows int64
	// URLBytes is the length of an absolute URL above which the answer is 414. 0: 8,200.
	URLBytes int
	// BodyBytes is the length of a request body above which the answer is 413. 0: 1 MiB, which is also the most.
	BodyBytes int
	// FirewallBytes is the length of a request body above which the answer is a 403 in HTML, as a firewall in front
	// gives it. 0: no firewall.
	FirewallBytes int
	// CountMatched adds numberMatched, the number of rows of the whole query, to the answers of Water Data.
	CountMatched bool
	// SnakeColumns lets NGWMN write its columns in snake_case, as queries name them, instead of camelCase.
	SnakeColumns bool
	// CursorTTL is how long cursors live; older ones are refused with 400. Cursors then carry the time they were made. 0:
	// for ever.
	CursorTTL time.Duration
	// MaxInFlight is a hard limit of requests in flight; the request above it is answered MaxInFlightStatus and costs
	// no quota. 0: no limit.
	MaxInFlight int
	// MaxInFlightStatus is 503 or 429. 0: 503.
	MaxInFlightStatus int

	// Quota is what each key may spend.
	Quota Quota
	// Keys are the accepted values of X-Api-Key; another one is a 403. Empty: any key is accepted.
	Keys []string
	// RequireKey refuses requests without a key with 403.
	RequireKey bool

	// OpenQuota is what each token may spend at open-hydro.
	OpenQuota Quota
	// OpenTokens are the accepted tokens and keys of open-hydro; another one is a 401. Empty: any is accepted.
	OpenTokens []string

	// Seed decides chance: faults with a rate and the jitter of the latency. It never changes the data.
	Seed uint64
	// Faults is the script of what goes wrong; see Fault.
	Faults []Fault
	// BrokenSites is the share of sites, chosen by Seed, whose requests always fail with BrokenStatus, 0 to 1.
	BrokenSites float64
	// BrokenStatus is 400 to 599. 0: 400.
	BrokenStatus int
	// ForeignHost is where FaultForeignNext points, as host or host:port. Empty: a name that never resolves.
	ForeignHost string
	// AliasHost is where FaultAliasNext points, and with NameAlias every Link header of NWDC. Empty: water.usgs.gov.
	AliasHost string
	// NameAlias lets NWDC name AliasHost in its links, as the real service does, instead of the host that was asked.
	NameAlias bool

	// Values shapes the data.
	Values Values
	// Gzip compresses answers for clients that ask for it. Off by default: it costs more than making the rows.
	Gzip bool
	// LogSize is how many of the latest requests the log keeps; it cannot be changed later. 0: 1,000.
	LogSize int
	// Now is the clock of quota and log; it cannot be changed later and is called concurrently. Nil: time.Now.
	Now func() time.Time
}

// withDefaults fills in what was left zero.
func (c Config) withDefaults() Config {
	if c.PageRows == 0 {
		c.PageRows = maxLimit
	}
	if c.URLBytes == 0 {
		c.URLBytes = defaultURLBytes
	}
	if c.MaxInFlightStatus == 0 {
		c.MaxInFlightStatus = http.StatusServiceUnavailable
	}
	if c.BrokenStatus == 0 {
		c.BrokenStatus = http.StatusBadRequest
	}
	if c.ForeignHost == "" {
		c.ForeignHost = "elsewhere.invalid"
	}
	if c.AliasHost == "" {
		c.AliasHost = "water.usgs.gov"
	}
	if c.BodyBytes == 0 {
		c.BodyBytes = maxBody
	}
	if c.LogSize == 0 {
		c.LogSize = defaultLogSize
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Quota = c.Quota.withDefaults()
	c.OpenQuota = c.OpenQuota.withDefaults()
	c.Values = c.Values.withDefaults()
	c.Faults = slices.Clone(c.Faults)
	c.Keys = slices.Clone(c.Keys)
	c.OpenTokens = slices.Clone(c.OpenTokens)
	return c
}

// Validate says what New would refuse, naming every field that is out of its bounds.
func (c Config) Validate() error {
	return c.withDefaults().validate()
}

func (c Config) validate() error {
	errs := []error{
		within("latency", c.Latency, 0, maxDelay),
		within("latency_jitter", c.LatencyJitter, 0, maxDelay),
		within("page_rows", c.PageRows, 1, maxLimit),
		within("max_query_rows", c.MaxQueryRows, 0, 1<<62),
		within("url_bytes", c.URLBytes, 1, 1<<20),
		within("body_bytes", c.BodyBytes, 1, maxBody),
		within("firewall_bytes", c.FirewallBytes, 0, maxBody),
		within("cursor_ttl", c.CursorTTL, 0, 24*time.Hour),
		within("max_in_flight", c.MaxInFlight, 0, 1<<30),
		within("log_size", c.LogSize, 1, maxLogSize),
		within("number of faults", len(c.Faults), 0, maxFaults),
		c.Quota.validate(),
		wrapField("open", c.OpenQuota.validate()),
		c.Values.validate(),
	}
	if !(c.BrokenSites >= 0 && c.BrokenSites <= 1) {
		errs = append(errs, fmt.Errorf("broken_sites is %v, must be 0 to 1", c.BrokenSites))
	}
	if s := c.BrokenStatus; s < http.StatusBadRequest || s > 599 {
		errs = append(errs, fmt.Errorf("broken_status is %d, must be 400 to 599", s))
	}
	if s := c.MaxInFlightStatus; s != http.StatusServiceUnavailable && s != http.StatusTooManyRequests {
		errs = append(errs, fmt.Errorf("max_in_flight_status is %d, must be 429 or 503", s))
	}
	for i, f := range c.Faults {
		if err := f.validate(); err != nil {
			errs = append(errs, fmt.Errorf("faults[%d]: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

// within checks lowest <= value <= highest.
func within[T int | int64 | time.Duration](field string, value, lowest, highest T) error {
	if value < lowest || value > highest {
		return fmt.Errorf("%s is %v, must be %v to %v", field, value, lowest, highest)
	}
	return nil
}
