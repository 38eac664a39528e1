package service

import (
	"time"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// summaryRule names the columns that a person asks about first.
type summaryRule struct {
	Sites  string        `yaml:"sites"`  // column of sites
	Time   string        `yaml:"time"`   // column of times
	Value  string        `yaml:"value"`  // column of values
	Status string        `yaml:"status"` // column such as approved or provisional
	Every  time.Duration `yaml:"every"`  // time between two rows of a series without gaps
	Series []string      `yaml:"series"` // columns that tell the series of a site apart
}

func (r summaryRule) roles(n strictyaml.Node, known func(strictyaml.Node, string)) frame.Roles {
	for _, role := range []struct{ key, column string }{{"sites", r.Sites}, {"time", r.Time}, {"value", r.Value}, {"status", r.Status}} {
		if n.Has(role.key) {
			known(n.At(role.key), role.column)
		}
	}
	for i, column := range r.Series {
		known(n.At("series", i), column)
	}
	if n.Has("every") && (r.Every <= 0 || r.Sites == "" || r.Time == "") {
		n.At("every").Fail("is for gaps in the series of sites; it is longer than nothing, and needs sites and time")
	}
	return frame.Roles{Sites: r.Sites, Time: r.Time, Value: r.Value, Status: r.Status, Every: r.Every, Series: r.Series}
}

// Roles says what the columns of the rows mean that values ask for, and which time is asked for, as far as it was over at the time now.
// An interval that is open at its begin has no gaps to reckon.
func (c *Collection) Roles(v Values, now time.Time) frame.Roles {
	roles := c.shape.Roles
	if roles.Every == 0 {
		return roles
	}
	roles.SeriesAsked = 1
	for _, name := range roles.Series {
		if param, known := c.parameter(name); known {
			values, _ := param.sent(v)
			roles.SeriesAsked *= max(1, len(param.canonicalList(values)))
		}
	}
	param := c.narrowed(roles.Time)
	if param == nil {
		return roles
	}
	values, given := param.sent(v)
	span, err := ParseInterval(param.Of, values)
	if !given || err != nil || span.Unit == UnitDuration || span.From.IsZero() {
		return roles
	}
	over := now.Truncate(roles.Every)
	if span.Behind.IsZero() || span.Behind.After(over) {
		span.Behind = over
	}
	roles.From, roles.Behind = span.From, span.Behind
	return roles
}
