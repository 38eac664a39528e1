package query

import (
	"fmt"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// Schema is the version of the query file that this build reads.
const Schema = "query/v1"

// MaxFileBytes bounds a query file, and each file of values.
const MaxFileBytes = 64 << 20

// Query is a query file as it was written, or a query that was given in another way.
type Query struct {
	File       string // for messages; empty: it came from no file
	Name       string // from the file's name, unless the caller sets another
	Service    string
	Collection string
	Where      []Condition // in the order of the file
	Select     []string    // columns of the table; empty: all
	Outputs    []Output
	Run        Run
	BadValues  BadValues
	Coverage   CoverageRule
	Changed    ChangedRule
	Since      *Since // nil: every run asks for all
	MaxChunks  int    // divide finer than the service's limits ask, up to this many chunks in all; 0: as few as possible
	MaxRows    int64  // the table is the first rows of this number; 0: all
	Zone       string // IANA name of the zone of times without an offset; empty: none

	places map[string]Place // of keys
}

// Run says how much the query may cost in quota and time.
type Run struct {
	OnQuota     OnQuota `yaml:"on_quota" json:"on_quota,omitzero"`         // what happens while the quota is used up or the service is away
	MaxRequests int64   `yaml:"max_requests" json:"max_requests,omitzero"` // after so many the query stops, and can be resumed; 0: any number
	HoldBack    int64   `yaml:"hold_back" json:"hold_back,omitzero"`       // requests of each quota that are left for others
	// InFlight is how many requests at a time; 0: as the service allows.
	InFlight  messages.InFlight `yaml:"in_flight" json:"in_flight,omitzero"`
	Priority  *int              `yaml:"priority" json:"priority,omitempty"`    // among the queries of its service; nil: 0
	Weight    int               `yaml:"weight" json:"weight,omitzero"`         // of its share among those of its priority; 0: 1
	OnFailure OnFailure         `yaml:"on_failure" json:"on_failure,omitzero"` // empty: stop
}

// Rank is how the query asks to stand to the others at its service.
func (r Run) Rank() messages.Rank {
	rank := messages.Rank{Weight: r.Weight}
	if r.Priority != nil {
		rank.Priority = *r.Priority
	}
	if rank.Weight == 1 {
		rank.Weight = 0 // as if it were not said
	}
	return rank
}

// OnFailure says what becomes of the other chunks when one has failed for good.
type OnFailure string

// The ways to go on after a failure. Either way what is complete is kept, and the query fails.
const (
	FailureStop   OnFailure = "stop"   // only what stands before it in the plan is run to its end
	FailureFinish OnFailure = "finish" // all the rest is run to its end
)

// unlessUsual is empty for the usual way, so that a query that names it is the same as one that does not.
func (o OnFailure) unlessUsual() OnFailure {
	if o == FailureStop {
		return ""
	}
	return o
}

// Choices lists the ways.
func (OnFailure) Choices() []string { return []string{string(FailureStop), string(FailureFinish)} }

// OnQuota says what happens when the quota is used up.
type OnQuota struct {
	WaitUpTo Duration  `yaml:"wait_up_to" json:"wait_up_to,omitzero"` // longest wait in all
	Then     QuotaStop `yaml:"then" json:"then,omitzero"`             // when the wait would be longer; default pause
}

// QuotaStop is what a query does when the wait for quota would be too long.
type QuotaStop string

// The ways to stop.
const (
	ThenPause QuotaStop = "pause" // resumable
)

// Choices lists the ways.
func (QuotaStop) Choices() []string { return []string{string(ThenPause)} }

// BadValues says whether values that do not convert to their column's type end the run with an error.
type BadValues string

// The rules for bad values.
const (
	BadValuesStop  BadValues = "stop"
	BadValuesAllow BadValues = "allow"
)

// Choices lists the rules.
func (BadValues) Choices() []string { return []string{string(BadValuesStop), string(BadValuesAllow)} }

// CoverageRule says whether a value that was asked for and has no rows ends the run with an error.
type CoverageRule string

// The rules for values without rows.
const (
	CoverageReport  CoverageRule = "report"
	CoverageRequire CoverageRule = "require" // each value has rows, and nothing of it is missing
)

// Choices lists the rules.
func (CoverageRule) Choices() []string {
	return []string{string(CoverageReport), string(CoverageRequire)}
}

// ChangedRule says whether rows that changed at the service while the query ran end the run with an error: such as came in two
// versions, and such as are newer than the query by the column that tells which of two rows is newer.
type ChangedRule string

// The rules for rows that changed.
const (
	ChangedReport      ChangedRule = "report"
	ChangedRequireNone ChangedRule = "require_none"
)

// Choices lists the rules.
func (ChangedRule) Choices() []string {
	return []string{string(ChangedReport), string(ChangedRequireNone)}
}

// Duration is a time span that is written with its unit, such as 3h or 1d, in YAML and in JSON.
type Duration time.Duration

// UnmarshalText reads a duration.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := strictyaml.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// MarshalText writes a duration.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

type queryRule struct {
	Schema     string                        `yaml:"schema,required"`     // version of this language: query/v1
	Service    string                        `yaml:"service,required"`    // name of the service's definition
	Collection string                        `yaml:"collection,required"` // which data of the service
	Where      strictyaml.Map[conditionRule] `yaml:"where,required"`      // parameter → which values are wanted
	Select     []string                      `yaml:"select"`              // columns of the table, in this order; default: all
	Output     strictyaml.OneOrMany[Output]  `yaml:"output"`              // where the table goes; default: NAME.parquet beside the query file
	Run        Run                           `yaml:"run"`                 // what the query may cost in quota and time, and how it stands to others
	Verify     verifyRule                    `yaml:"verify"`              // what makes a finished table an error
	Since      *Since                        `yaml:"since"`               // go on from the last complete run of the same query
	MaxChunks  int                           `yaml:"max_chunks"`          // divide finer than the service's limits ask, up to so many chunks
	MaxRows    int64                         `yaml:"max_rows"`            // the table is the first rows of this number
	Zone       string                        `yaml:"zone"`                // IANA name of the time zone of times without an offset
}

type verifyRule struct {
	BadValues BadValues    `yaml:"bad_values"`         // a value that does not fit its column's type
	Coverage  CoverageRule `yaml:"coverage"`           // a value that was asked for and does not have all of its rows
	Changed   ChangedRule  `yaml:"changed_during_run"` // rows that changed at the service while the query ran
}

// Parse reads a query file. The error reports everything that is wrong, as strictyaml.Errors; what could be read is given
// beside it for further checks, nil when the file is no YAML. The file's name is for messages and gives the query its
// name.
func Parse(file string, data []byte) (*Query, error) {
	doc, err := strictyaml.Parse(file, data, strictyaml.Bounds{Bytes: MaxFileBytes, Nodes: maxNodes})
	if err != nil {
		return nil, err
	}
	root := doc.Root()
	rule := queryRule{
		Run:    Run{OnQuota: OnQuota{Then: ThenPause}, OnFailure: FailureStop},
		Verify: verifyRule{BadValues: BadValuesStop, Coverage: CoverageReport, Changed: ChangedReport},
	}
	root.Decode(&rule)
	q := &Query{
		File:       file,
		Name:       NameOf(file),
		Service:    rule.Service,
		Collection: rule.Collection,
		Select:     rule.Select,
		Outputs:    rule.Output,
		Run:        rule.Run,
		BadValues:  rule.Verify.BadValues,
		Coverage:   rule.Verify.Coverage,
		Changed:    rule.Verify.Changed,
		Since:      rule.Since,
		MaxChunks:  rule.MaxChunks,
		MaxRows:    rule.MaxRows,
		Zone:       rule.Zone,
	}
	q.Run.OnFailure = q.Run.OnFailure.unlessUsual()
	for name, condition := range rule.Where.All() {
		q.Where = append(q.Where, Condition{name, condition.source, Place{File: file, Line: condition.line, Path: "where." + name}})
	}
	q.rememberPlaces(root)
	q.setOutputs(root.At("output"))
	q.check(rule, root)
	return q, doc.Err()
}

// maxNodes bounds a query file, whose lists may hold all values of a query.
const maxNodes = 2_000_000

// check reports what is wrong, and takes out of the query what later checks could not work with.
func (q *Query) check(rule queryRule, root strictyaml.Node) {
	if rule.Schema != Schema && root.Has("schema") {
		root.At("schema").Fail("%.40q is not read by this version; write %s", rule.Schema, Schema)
	}
	q.checkNames(root)
	q.checkSince(root)
	for _, bound := range []struct {
		at    strictyaml.Node
		key   string
		value int64
		most  int64
		reset func()
	}{
		{root, "max_chunks", int64(q.MaxChunks), MaxChunks, func() { q.MaxChunks = 0 }},
		{root, "max_rows", q.MaxRows, MaxRows, func() { q.MaxRows = 0 }},
		{root.At("run"), "max_requests", q.Run.MaxRequests, MaxRequests, func() { q.Run.MaxRequests = 0 }},
		{root.At("run"), "hold_back", q.Run.HoldBack, MaxRequests, func() { q.Run.HoldBack = 0 }},
		{root.At("run"), "weight", int64(q.Run.Weight), messages.MaxWeight, func() { q.Run.Weight = 0 }},
	} {
		if !bound.at.Has(bound.key) {
			continue
		}
		if err := CheckBound(bound.value, bound.most); err != nil {
			bound.at.At(bound.key).Fail("%s", err)
			bound.reset()
		}
	}
	if q.Run.Priority != nil {
		if err := messages.CheckPriority(*q.Run.Priority); err != nil {
			root.At("run", "priority").Fail("%s", err)
			q.Run.Priority = nil
		}
	}
	if len(q.Select) > maxColumns {
		root.At("select").Fail("%d columns, at most %d", len(q.Select), maxColumns)
		q.Select = nil
		return
	}
	for i, column := range q.Select {
		if err := checkColumn(q.Select[:i], column); err != nil {
			root.At("select", i).Fail("%s", err)
		}
	}
}

// CheckBound refuses a number that is not 1 to most.
func CheckBound(value, most int64) error {
	if value < 1 || value > most {
		return fmt.Errorf("%d is out of bounds, want 1 to %d", value, most)
	}
	return nil
}

func (q *Query) checkNames(root strictyaml.Node) {
	for _, named := range []struct {
		key  string
		name *string
	}{{"service", &q.Service}, {"collection", &q.Collection}} {
		if err := messages.CheckName(*named.name); err != nil && root.Has(named.key) {
			if *named.name != "" || root.At(named.key).Kind() == strictyaml.Scalar {
				root.At(named.key).Fail("%s", err)
			}
			*named.name = ""
		}
	}
}

// NameOf makes a query's name from a file's: its base without ending, other characters than letters, digits, '-' and
// '_' replaced. It is "query" when nothing is left.
func NameOf(file string) string {
	base := file[strings.LastIndexAny(file, `/\`)+1:]
	if dot := strings.LastIndexByte(base, '.'); dot > 0 {
		base = base[:dot]
	}
	slug := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, base)
	slug = strings.Trim(slug[:min(len(slug), 48)], "-_")
	if slug == "" {
		return "query"
	}
	return slug
}
