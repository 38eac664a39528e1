package service

import (
	"time"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// summaryRule names the columns that a person asks about first.
type summaryRule struct {
	Sites  string `yaml:"sites"`
	Time   string `yaml:"time"`
	Value  string `yaml:"value"`
	Status string `yaml:"status"`
	// Every is the time between two rows of a series without gaps; Series are the columns that tell the series of a site apart.
	Every  time.Duration `yaml:"every"`
	Series []string      `yaml:"series"`
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

// Roles says what the columns of the rows mean that values ask for, and which time is asked for. An interval that is open at an end
// has no gaps to reckon.
func (c *Collection) Roles(v Values) frame.Roles {
	roles := c.shape.Roles
	roles.From, roles.Behind = c.period(roles.Time, v)
	return roles
}

// period is the time that is asked for by the interval of a column's name, or else by the first interval.
func (c *Collection) period(column string, v Values) (from, behind time.Time) {
	var asked *Parameter
	for i := range c.params {
		param := &c.params[i]
		if param.Type == TypeInterval && (asked == nil || param.Name == column) {
			asked = param
		}
	}
	if asked == nil {
		return from, behind
	}
	values, given := asked.sent(v)
	if !given {
		return from, behind
	}
	span, err := ParseInterval(asked.Of, values)
	if err != nil || span.Unit == UnitDuration {
		return from, behind
	}
	return span.From, span.Behind
}
