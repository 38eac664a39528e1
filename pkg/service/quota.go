package service

import (
	"fmt"
	"strconv"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// Quota is a pool of requests, bytes or rows that a service hands out per window. Its name is global: services,
// processes and machines that name one pool share one ledger.
type Quota struct {
	Pool           string           `yaml:"-"`
	Counts         QuotaUnit        `yaml:"counts"`          // what is counted
	Per            QuotaOwner       `yaml:"per"`             // whom the service counts
	Limit          int64            `yaml:"limit,required"`  // what is believed until the service says otherwise
	AnonymousLimit AnonymousLimit   `yaml:"anonymous_limit"` // without a credential
	Window         time.Duration    `yaml:"window,required"` // in which the limit holds
	Model          QuotaModel       `yaml:"model"`           // how spent units come back
	Observe        QuotaObservation `yaml:"observe"`         // what the service says of it: ietf, or sources
	HoldBack       int64            `yaml:"hold_back"`       // never spend the last ones
}

// QuotaUnit is what a quota counts.
type QuotaUnit string

// Choices lists the units.
func (QuotaUnit) Choices() []string { return []string{"requests", "bytes", "rows"} }

// QuotaOwner is whom the counter belongs to.
type QuotaOwner string

// Choices lists the owners.
func (QuotaOwner) Choices() []string { return []string{"credential", "address"} }

// QuotaModel is how spent units come back.
type QuotaModel string

// Choices lists the models.
func (QuotaModel) Choices() []string { return []string{"rolling", "fixed", "bucket"} }

// AnonymousLimit is the limit without a credential: a number, or learnt from the answers.
type AnonymousLimit struct {
	Limit   int64 // 0 when unknown
	Observe bool
}

// UnmarshalText reads a number or the word observe.
func (l *AnonymousLimit) UnmarshalText(text []byte) error {
	if string(text) == "observe" {
		l.Observe = true
		return nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < 1 {
		return fmt.Errorf("%.40q is neither a number of at least 1 nor observe", text)
	}
	l.Limit = n
	return nil
}

// QuotaObservation says what the service tells about a quota.
type QuotaObservation struct {
	IETF      bool // RateLimit-Policy and RateLimit headers
	Limit     Source
	Remaining Source
	Reset     Source
	ResetAs   ResetForm
}

// ResetForm is the unit of a reset hint.
type ResetForm string

// Choices lists the forms.
func (ResetForm) Choices() []string {
	return []string{"delta_s", "delta_ms", "epoch_s", "epoch_ms", "http_date"}
}

// UnmarshalStrict reads the word ietf, or a mapping of sources.
func (o *QuotaObservation) UnmarshalStrict(n strictyaml.Node) {
	if n.Kind() == strictyaml.Scalar {
		if o.IETF = n.Text() == "ietf"; !o.IETF {
			n.Fail("%.40q is neither ietf nor a mapping of limit, remaining and reset", n.Text())
		}
		return
	}
	var sources struct {
		Limit     Source `yaml:"limit"`     // where the answer says it
		Remaining Source `yaml:"remaining"` // where the answer says it
		Reset     struct {
			From Source    `yaml:"from,required"` // where the answer says it
			As   ResetForm `yaml:"as,required"`   // form of the reset
		} `yaml:"reset"` // when units come back
	}
	n.Decode(&sources)
	*o = QuotaObservation{Limit: sources.Limit, Remaining: sources.Remaining, Reset: sources.Reset.From, ResetAs: sources.Reset.As}
}

// UnmarshalStrict reads a quota over its defaults.
func (q *Quota) UnmarshalStrict(n strictyaml.Node) {
	type plain Quota
	*q = Quota{Counts: "requests", Per: "credential", Model: "rolling"}
	n.Decode((*plain)(q))
	const most = 1 << 50
	checkRange(n.At("limit"), q.Limit, 1, most)
	checkRange(n.At("hold_back"), q.HoldBack, 0, most)
	if q.Limit > 0 && q.HoldBack >= q.Limit {
		n.At("hold_back").Fail("%d leaves nothing of the limit %d", q.HoldBack, q.Limit)
	}
	if q.Window < time.Second || q.Window > 366*24*time.Hour {
		n.At("window").Fail("%s is out of bounds, want 1s to 366d", q.Window)
	}
}

func checkName(n strictyaml.Node, name string) {
	if err := messages.CheckName(name); err != nil {
		n.Fail("%s", err)
	}
}
