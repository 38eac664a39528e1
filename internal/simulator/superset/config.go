package superset

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Profile is the release whose behaviour is faked.
type Profile string

// The profiles. They differ in the cache fields of an answer, in the asynchronous path and in some bodies of errors.
const (
	Old Profile = "old" // before the cache refactoring of 2021: is_cached is false on a miss, a missing permission is a 401
	V4  Profile = "v4"
	V6  Profile = "v6"
	Dev Profile = "dev" // the development line after 6.0: queried_dttm, tasks, UUIDs of datasets
)

// Profiles lists all.
func Profiles() []Profile { return []Profile{Old, V4, V6, Dev} }

// CacheMode is how the backend of the data cache behaves.
type CacheMode string

// The modes of the cache.
const (
	CacheNormal   CacheMode = "normal"
	CacheNull     CacheMode = "null"     // the shipped default: stores nothing, and cache_timeout does not tell
	CacheOversize CacheMode = "oversize" // skips values above Config.CacheValueBytes silently
	CacheDown     CacheMode = "down"     // neither finds nor stores
)

// CacheModes lists all.
func CacheModes() []CacheMode { return []CacheMode{CacheNormal, CacheNull, CacheOversize, CacheDown} }

// Bounds of the settings.
const (
	maxLogSize   = 1_000_000
	MaxWait      = time.Hour // the longest latency, freeze or delay
	maxRows      = 10_000_000
	maxWidth     = 1 << 16
	maxSlots     = 10_000
	maxRules     = 1_000
	maxBodyBytes = 4 << 20 // of a request
)

// Config says how the server behaves. The zero value is a server of profile dev with DefaultWorld, without latency, limits and faults.
type Config struct {
	Profile Profile          `json:"profile"` // empty: dev
	Seed    uint64           `json:"seed"`    // of the data and of all chance
	World   *World           `json:"-"`       // nil: DefaultWorld; not changed by the server
	Now     func() time.Time `json:"-"`       // the clock of stamps, tokens and the cache; nil: time.Now. Advance moves it on

	// Async switches on GLOBAL_ASYNC_QUERIES in v4 and v6, the task framework in dev.
	Async bool `json:"async"`

	Cache           CacheMode `json:"cache"`             // empty: normal
	CacheValueBytes int64     `json:"cache_value_bytes"` // for oversize; 0: 1 MiB
	CacheTimeout    int64     `json:"cache_timeout"`     // seconds, where nothing nearer says; 0: a day
	// CacheForgets stores entries without their list of applied filter columns, as some writers do: dev then queries again and still
	// says is_cached.
	CacheForgets bool `json:"cache_forgets"`

	// SubjectMustBeString answers every bearer token with 422, as builds do whose JWT library disagrees with Superset.
	SubjectMustBeString bool          `json:"subject_must_be_string"`
	CSRFChartData       bool          `json:"csrf_chart_data"` // chart/data is not exempt from CSRF protection
	AccessTTL           time.Duration `json:"access_ttl"`      // 0: 15m
	GuestTTL            time.Duration `json:"guest_ttl"`       // 0: 5m

	RateLimit      int  `json:"rate_limit"`       // requests per second and client address; 0: none (the real default is 50)
	LoginRateLimit int  `json:"login_rate_limit"` // logins likewise; 0: none (the real default is 5)
	LimiterHeaders bool `json:"limiter_headers"`  // Retry-After in refusals

	Gzip bool `json:"gzip"` // compresses answers of chart/data for clients that accept it
	// Orphans lets a request whose client has gone away occupy the server to its end, as the real one does.
	Orphans bool `json:"orphans"`
	// DependentsDown answers related_objects with 503.
	DependentsDown bool `json:"dependents_down"`

	Data    Data    `json:"data"`
	Latency Latency `json:"latency"`
	Faults  []Fault `json:"faults"`

	LogSize int `json:"-"` // requests that Stats lists, the latest; 0: 100,000
}

// Data says what databases hold.
type Data struct {
	Rows     int           `json:"rows"`      // of sequence columns; 0: 1,000
	Width    int           `json:"width"`     // bytes of wide columns; 0: 64
	MaxRows  int           `json:"max_rows"`  // the deployment's row limit; 0: 1,000,000
	Shuffle  bool          `json:"shuffle"`   // each execution gives the rows in another order
	ChangeAt time.Duration `json:"change_at"` // after the server's start by its clock, the values are others; 0: never
}

// Shape is the form of a distribution.
type Shape string

// The shapes.
const (
	Constant  Shape = "constant"
	Uniform   Shape = "uniform"    // from Low to High
	LogNormal Shape = "log_normal" // median Low, never above High if that is set
)

// Distribution is how long something takes.
type Distribution struct {
	Shape Shape         `json:"shape"` // empty: constant
	Low   time.Duration `json:"low"`
	High  time.Duration `json:"high"`
	Sigma float64       `json:"sigma"` // of the logarithm; 0: 0.5
}

// Latency says how long databases and answers take, in real time.
type Latency struct {
	Base   Distribution           `json:"base"`   // of one query
	Charts map[int64]Distribution `json:"charts"` // instead of Base
	PerRow time.Duration          `json:"per_row"`
	Hit    time.Duration          `json:"hit"`   // of a query that the cache answers
	Slots  int                    `json:"slots"` // queries that the database executes at once, the others wait in turn; 0: no bound
	Steps  []Step                 `json:"steps"` // the last one that has begun counts
	Freeze []Freeze               `json:"freeze"`
	// BodyBytes are sent per BodyTick; 0: at once.
	BodyBytes int           `json:"body_bytes"`
	BodyTick  time.Duration `json:"body_tick"`
}

// Step multiplies the time of queries from a request on.
type Step struct {
	From   int     `json:"from"` // ordinal of the chart/data request, from 1
	Factor float64 `json:"factor"`
}

// Freeze stops all answers for a while when a request arrives.
type Freeze struct {
	At  int           `json:"at"` // ordinal of the chart/data request, from 1
	For time.Duration `json:"for"`
}

func (c Config) withDefaults() Config {
	c.Profile = cmp.Or(c.Profile, Dev)
	c.Cache = cmp.Or(c.Cache, CacheNormal)
	c.CacheValueBytes = cmp.Or(c.CacheValueBytes, 1<<20)
	c.CacheTimeout = cmp.Or(c.CacheTimeout, 86400)
	c.AccessTTL = cmp.Or(c.AccessTTL, 15*time.Minute)
	c.GuestTTL = cmp.Or(c.GuestTTL, 5*time.Minute)
	c.Data.Rows = cmp.Or(c.Data.Rows, 1000)
	c.Data.Width = cmp.Or(c.Data.Width, 64)
	c.Data.MaxRows = cmp.Or(c.Data.MaxRows, 1_000_000)
	c.LogSize = cmp.Or(c.LogSize, 100_000)
	if c.World == nil {
		c.World = DefaultWorld()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Faults = slices.Clone(c.Faults)
	c.Latency.Charts = maps.Clone(c.Latency.Charts)
	c.Latency.Steps = slices.Clone(c.Latency.Steps)
	c.Latency.Freeze = slices.Clone(c.Latency.Freeze)
	return c
}

// Validate tells what New would refuse, every problem of it.
func (c Config) Validate() error { return c.withDefaults().validate() }

func (c Config) validate() error {
	errs := []error{
		within("cache_value_bytes", c.CacheValueBytes, 1, 1<<40),
		within("cache_timeout", c.CacheTimeout, -1, 1<<31),
		within("access_ttl", c.AccessTTL, time.Second, 24*time.Hour),
		within("guest_ttl", c.GuestTTL, time.Second, 24*time.Hour),
		within("rate_limit", c.RateLimit, 0, 1_000_000),
		within("login_rate_limit", c.LoginRateLimit, 0, 1_000_000),
		within("data.rows", c.Data.Rows, 1, maxRows),
		within("data.width", c.Data.Width, 1, maxWidth),
		within("data.max_rows", c.Data.MaxRows, 1, maxRows),
		within("data.change_at", c.Data.ChangeAt, 0, 10_000*time.Hour),
		within("log size", c.LogSize, 1, maxLogSize),
		within("number of faults", len(c.Faults), 0, maxRules),
		c.Latency.validate(),
	}
	if !slices.Contains(Profiles(), c.Profile) {
		errs = append(errs, fmt.Errorf("profile is %q, must be one of %q", c.Profile, Profiles()))
	}
	if !slices.Contains(CacheModes(), c.Cache) {
		errs = append(errs, fmt.Errorf("cache is %q, must be one of %q", c.Cache, CacheModes()))
	}
	for i, f := range c.Faults {
		if err := f.validate(); err != nil {
			errs = append(errs, fmt.Errorf("fault %d: %w", i, err))
		}
	}
	if err := c.World.validate(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (l Latency) validate() error {
	errs := []error{
		l.Base.validate("latency.base"),
		within("latency.per_row", l.PerRow, 0, time.Second),
		within("latency.hit", l.Hit, 0, MaxWait),
		within("latency.slots", l.Slots, 0, maxSlots),
		within("latency.body_bytes", l.BodyBytes, 0, 1<<30),
		within("latency.body_tick", l.BodyTick, 0, MaxWait),
		within("number of latency.steps", len(l.Steps), 0, maxRules),
		within("number of latency.freeze", len(l.Freeze), 0, maxRules),
	}
	for id, d := range l.Charts {
		errs = append(errs, d.validate(fmt.Sprintf("latency.charts.%d", id)))
	}
	for _, step := range l.Steps {
		if !(step.Factor >= 0 && step.Factor <= 1e6) {
			errs = append(errs, fmt.Errorf("latency.steps: factor is %v, must be 0 to 1000000", step.Factor))
		}
	}
	for _, freeze := range l.Freeze {
		errs = append(errs, within("latency.freeze: for", freeze.For, 0, MaxWait))
	}
	return errors.Join(errs...)
}

func (d Distribution) validate(field string) error {
	errs := []error{within(field+".low", d.Low, 0, MaxWait), within(field+".high", d.High, 0, MaxWait)}
	if shapes := []Shape{"", Constant, Uniform, LogNormal}; !slices.Contains(shapes, d.Shape) {
		errs = append(errs, fmt.Errorf("%s.shape is %q, must be one of %q", field, d.Shape, shapes[1:]))
	}
	if d.Shape == Uniform && d.High < d.Low {
		errs = append(errs, fmt.Errorf("%s.high is below low", field))
	}
	if !(d.Sigma >= 0 && d.Sigma <= 10) {
		errs = append(errs, fmt.Errorf("%s.sigma is %v, must be 0 to 10", field, d.Sigma))
	}
	return errors.Join(errs...)
}

func within[T int | int64 | time.Duration](field string, value, lowest, highest T) error {
	if value < lowest || value > highest {
		return fmt.Errorf("%s is %v, must be %v to %v", field, value, lowest, highest)
	}
	return nil
}
