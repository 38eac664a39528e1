package load

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/jcs"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// SchemaProfile is the schema that a profile file names.
const SchemaProfile = "load/v1"

// profileFile is a profile as it is written by hand. Its keys are the paths in the messages of Validate.
type profileFile struct {
	Schema      string            `yaml:"schema,required"`
	ID          string            `yaml:"id"`
	Name        string            `yaml:"name"`
	Environment string            `yaml:"environment,required"`
	Dashboard   string            `yaml:"dashboard,required"`
	Tab         string            `yaml:"tab"`
	Charts      []int64           `yaml:"charts"`
	Axes        strictyaml.Node   `yaml:"axes"`
	Cap         *int              `yaml:"cap"`
	Seed        int64             `yaml:"seed"`
	Concurrency int               `yaml:"concurrency,required"`
	Stages      []stageFile       `yaml:"stages"`
	Arrival     *arrivalFile      `yaml:"arrival"`
	WarmUp      int               `yaml:"warm_up"`
	Force       bool              `yaml:"force"`
	Preflight   bool              `yaml:"preflight"`
	Deadline    *time.Duration    `yaml:"deadline"`
	Drain       *time.Duration    `yaml:"drain"`
	Breaker     breakerFile       `yaml:"breaker"`
	Thresholds  []thresholdFile   `yaml:"thresholds"`
	Sample      sampleFile        `yaml:"sample"`
	Reference   string            `yaml:"reference"`
	Labels      map[string]string `yaml:"labels"`
}

type stageFile struct {
	Concurrency int           `yaml:"concurrency,required"`
	Executions  int           `yaml:"executions"`
	Lasts       time.Duration `yaml:"lasts"`
}

type arrivalFile struct {
	PerSecond float64        `yaml:"per_second,required"`
	Patience  *time.Duration `yaml:"patience"`
}

type breakerFile struct {
	Enabled      *bool    `yaml:"enabled"`
	Window       *int     `yaml:"window"`
	Minimum      *int     `yaml:"minimum"`
	ErrorRate    string   `yaml:"error_rate"`
	Multiplier   string   `yaml:"multiplier"`
	ReferenceP99 string   `yaml:"reference_p99_ms"`
	AbsoluteP99  string   `yaml:"absolute_p99_ms"`
	Excluded     []string `yaml:"excluded"`
}

type thresholdFile struct {
	Metric string `yaml:"metric,required"`
	Chart  int64  `yaml:"chart"`
	Role   string `yaml:"role"`
	Cache  string `yaml:"cache"`
	Max    string `yaml:"max"`
	Min    string `yaml:"min"`
}

type sampleFile struct {
	Rows  *int `yaml:"rows"`
	Bytes *int `yaml:"bytes"`
}

// ParseProfile reads a profile file, YAML or JSON, and fills in the defaults. All that is wrong with it is reported together, as
// strictyaml.Errors, each with its line and what to do. The file's name is for messages; without a key id it gives the profile's id too.
func ParseProfile(file string, text []byte) (*Profile, error) {
	doc, err := strictyaml.Parse(file, text, strictyaml.Bounds{Bytes: 4 << 20, Depth: 32})
	if err != nil {
		return nil, err
	}
	root := doc.Root()
	f := profileFile{}
	root.Decode(&f)
	p := f.profile(file)
	f.explicit(root)
	if doc.Err() == nil { // else values are missing that the problems would speak of once more
		p.fill()
		for _, problem := range p.problems() {
			if key, ok := problem.path[0].(string); ok && !root.Has(key) {
				root.Fail("%s", problem) // there is no line to blame
				continue
			}
			root.At(problem.path...).Fail("%s", problem.message)
		}
	}
	if err := doc.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

func (f *profileFile) profile(file string) *Profile {
	p := &Profile{
		V: 1, ID: f.ID, Name: f.Name, Environment: f.Environment, Dashboard: f.Dashboard, Tab: f.Tab, Charts: f.Charts, Axes: axesJSON(f.Axes),
		Cap: or(f.Cap, 0), Seed: uint64(max(f.Seed, 0)), Concurrency: f.Concurrency, WarmUp: f.WarmUp, Force: f.Force, Preflight: f.Preflight,
		Reference: f.Reference, Labels: f.Labels, Sample: SampleBounds{Rows: or(f.Sample.Rows, 0), Bytes: or(f.Sample.Bytes, 0)},
		Breaker: BreakerRules{
			Disabled: f.Breaker.Enabled != nil && !*f.Breaker.Enabled, Window: or(f.Breaker.Window, 0), Minimum: or(f.Breaker.Minimum, 0),
			ErrorRate: f.Breaker.ErrorRate, Multiplier: f.Breaker.Multiplier, ReferenceP99: f.Breaker.ReferenceP99, AbsoluteP99: f.Breaker.AbsoluteP99,
			Excluded: f.Breaker.Excluded,
		},
	}
	if p.ID == "" {
		p.ID = idOf(file)
	}
	for _, s := range f.Stages {
		p.Stages = append(p.Stages, Stage(s))
	}
	if f.Arrival != nil {
		p.Arrival = &Arrival{PerSecond: f.Arrival.PerSecond}
		if f.Arrival.Patience != nil {
			p.Arrival.Patience = *f.Arrival.Patience
		}
	}
	if f.Deadline != nil {
		p.Deadline = *f.Deadline
	}
	if f.Drain != nil {
		p.Drain = *f.Drain
	}
	for _, t := range f.Thresholds {
		p.Thresholds = append(p.Thresholds, Threshold(t))
	}
	return p
}

// explicit refuses what is given and would be taken for not given.
func (f *profileFile) explicit(root strictyaml.Node) {
	if f.Schema != "" && f.Schema != SchemaProfile {
		root.At("schema").Fail("is %.40q, want %s", f.Schema, SchemaProfile)
	}
	if f.Seed < 0 {
		root.At("seed").Fail("is %d, want 0 or more", f.Seed)
	}
	for _, given := range []struct {
		path []any
		zero bool
	}{
		{[]any{"cap"}, isZero(f.Cap)},
		{[]any{"deadline"}, isZero(f.Deadline)},
		{[]any{"drain"}, isZero(f.Drain)},
		{[]any{"breaker", "window"}, isZero(f.Breaker.Window)},
		{[]any{"breaker", "minimum"}, isZero(f.Breaker.Minimum)},
		{[]any{"sample", "rows"}, isZero(f.Sample.Rows)},
		{[]any{"sample", "bytes"}, isZero(f.Sample.Bytes)},
		{[]any{"arrival", "patience"}, f.Arrival != nil && isZero(f.Arrival.Patience)},
	} {
		if given.zero {
			root.At(given.path...).Fail("is 0, want more; without the key it is the default")
		}
	}
}

func isZero[T int | time.Duration](value *T) bool { return value != nil && *value == 0 }

var profileID = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$`)

// idOf is the file's own name, when that can be an id.
func idOf(file string) string {
	name := path.Base(strings.ReplaceAll(file, `\`, "/"))
	name = strings.TrimSuffix(name, path.Ext(name))
	if !profileID.MatchString(name) {
		return ""
	}
	return name
}

var jsonNumber = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$`)

// axesJSON gives the axes as JSON. Where a text is wanted a scalar is one, as everywhere in these files; only what a filter compares with and the
// sides of a viewport are of no declared type: there a plain scalar that is JSON is that, and a quoted one is a text.
func axesJSON(axes strictyaml.Node) json.RawMessage {
	if axes.Kind() == strictyaml.Absent || axes.Kind() == strictyaml.Null {
		return json.RawMessage("{}")
	}
	return appendJSON(nil, axes, "")
}

func appendJSON(out []byte, n strictyaml.Node, key string) []byte {
	switch n.Kind() {
	case strictyaml.Mapping:
		out = append(out, '{')
		first := true
		for name, value := range n.Entries() {
			if !first {
				out = append(out, ',')
			}
			first = false
			out = append(jcs.AppendString(out, name), ':')
			out = appendJSON(out, value, name)
		}
		return append(out, '}')
	case strictyaml.List:
		out = append(out, '[')
		first := true
		for item := range n.Items() {
			if !first {
				out = append(out, ',')
			}
			first = false
			out = appendJSON(out, item, key)
		}
		return append(out, ']')
	case strictyaml.Scalar:
		text := n.Text()
		typed := key == "val" || key == "width" || key == "height"
		if typed && !n.Quoted() && (text == "true" || text == "false" || jsonNumber.MatchString(text)) {
			return append(out, text...)
		}
		return jcs.AppendString(out, text)
	case strictyaml.Absent, strictyaml.Null:
	}
	return append(out, "null"...)
}
