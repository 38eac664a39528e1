package superset

import (
	"errors"
	"net/http"
	"slices"
	"strings"
)

// caller is who sends a request.
type caller struct {
	name     string
	identity *Identity // nil: a guest
	guest    *claims
	roles    []string
	session  *claims // of the cookie; nil: none
	bearer   bool
}

func (c *caller) role() string {
	if len(c.roles) == 0 {
		return ""
	}
	return c.roles[0]
}

func (c *caller) id() int64 {
	if c.identity == nil {
		return 0
	}
	return c.identity.ID
}

// can tells whether one of the caller's roles has a permission.
func (c *caller) can(w *World, permission string) bool {
	return slices.ContainsFunc(c.roles, func(name string) bool {
		role := w.role(name)
		return role != nil && slices.Contains(role.Permissions, permission)
	})
}

// ownsDataset tells whether the caller's roles grant a dataset.
func (c *caller) ownsDataset(w *World, dataset int64) bool {
	return c.can(w, AllDatasetsAccess) || slices.ContainsFunc(c.roles, func(name string) bool {
		role := w.role(name)
		return role != nil && slices.Contains(role.Datasets, dataset)
	})
}

// seesDashboard tells whether the caller may open a dashboard.
func (c *caller) seesDashboard(w *World, d *Dashboard) bool {
	if c.guest != nil {
		return d.Embedded != "" && slices.ContainsFunc(c.guest.Resources, func(r resource) bool { return r.Type == "dashboard" && r.ID == d.Embedded })
	}
	if slices.ContainsFunc(c.roles, func(role string) bool { return slices.Contains(d.Roles, role) }) {
		return true
	}
	return slices.ContainsFunc(d.charts(), func(id int64) bool { return c.ownsDataset(w, w.chart(id).Dataset) })
}

// seesChart tells whether the caller may read a chart by itself, or by one of the dashboards that list the caller's role.
func (c *caller) seesChart(w *World, chart *Chart) bool {
	if c.guest == nil && c.ownsDataset(w, chart.Dataset) {
		return true
	}
	return slices.ContainsFunc(w.Dashboards, func(d Dashboard) bool { return c.granted(w, &d, chart) })
}

// granted tells whether a dashboard gives the caller the right to one of its charts.
func (c *caller) granted(w *World, d *Dashboard, chart *Chart) bool {
	if !slices.Contains(d.charts(), chart.ID) {
		return false
	}
	if c.guest != nil {
		return c.seesDashboard(w, d)
	}
	return slices.ContainsFunc(c.roles, func(role string) bool { return slices.Contains(d.Roles, role) })
}

func (c *caller) guestRules() []guestRule {
	if c.guest == nil {
		return nil
	}
	return c.guest.Rules
}

// callerName gives the name that a token's caller is counted and revoked by.
func (s *state) callerName(c *claims) string {
	if c.User != nil {
		return "guest:" + c.User.Username
	}
	if who := s.world.identityByID(c.Subject); who != nil {
		return who.Username
	}
	return ""
}

// identify finds who sends the request: a guest's header, a bearer token, or the session's cookie.
func (x *exchange) identify() (*caller, *refusal) {
	now := x.s.Now()
	if text := x.r.Header.Get("X-GuestToken"); text != "" {
		c, err := x.s.tokens.read(text, now, x.st.callerName)
		if err != nil || c.Type != guestToken {
			return nil, anonymous() // the real server logs what is wrong and goes on without a guest
		}
		return &caller{name: x.st.callerName(c), guest: c, roles: []string{GuestRole}, session: x.session()}, nil
	}
	session := x.session()
	if header := x.r.Header.Get("Authorization"); header != "" {
		who, denied := x.bearer(header, accessToken)
		if denied != nil {
			return nil, denied
		}
		return &caller{name: who.Username, identity: who, roles: who.Roles, session: session, bearer: true}, nil
	}
	if session != nil && session.Subject != 0 {
		if who := x.st.world.identityByID(session.Subject); who != nil {
			return &caller{name: who.Username, identity: who, roles: who.Roles, session: session}, nil
		}
	}
	return nil, anonymous()
}

func anonymous() *refusal {
	return &refusal{http.StatusUnauthorized, msg("Missing Authorization Header")}
}

// bearer finds whose token of the kind a header carries.
func (x *exchange) bearer(header, kind string) (*Identity, *refusal) {
	text, ok := strings.CutPrefix(header, "Bearer ")
	if !ok {
		return nil, &refusal{http.StatusUnauthorized, msg("Missing 'Bearer' type in 'Authorization' header. Expected 'Authorization: Bearer <JWT>'")}
	}
	c, err := x.s.tokens.read(text, x.s.Now(), x.st.callerName)
	switch {
	case errors.Is(err, errExpired), errors.Is(err, errRevoked):
		return nil, &refusal{http.StatusUnauthorized, msg(err.Error())}
	case err != nil:
		return nil, &refusal{http.StatusUnprocessableEntity, msg(err.Error())}
	case x.st.config.SubjectMustBeString:
		return nil, &refusal{http.StatusUnprocessableEntity, msg("Subject must be a string")}
	case c.Type != kind && kind == refreshToken:
		return nil, &refusal{http.StatusUnprocessableEntity, msg("Only refresh tokens are allowed")}
	case c.Type != kind:
		return nil, &refusal{http.StatusUnprocessableEntity, msg("Only non-refresh tokens are allowed")}
	}
	who := x.st.world.identityByID(c.Subject)
	if who == nil {
		return nil, &refusal{http.StatusUnauthorized, message("Not authorized")}
	}
	return who, nil
}

// session reads the session's cookie; nil where there is none that is valid.
func (x *exchange) session() *claims {
	if x.fresh != nil {
		return x.fresh
	}
	cookie, err := x.r.Cookie("session")
	if err != nil {
		return nil
	}
	c, err := x.s.tokens.read(cookie.Value, x.s.Now(), x.st.callerName)
	if err != nil || c.Type != sessionToken {
		return nil
	}
	return c
}

// need tells whether the caller may go on, and answers if not.
func (x *exchange) need(permission string) bool {
	switch {
	case x.caller == nil:
		x.refuse(x.denied)
	case !x.caller.can(x.st.world, permission):
		x.forbidden()
	default:
		return true
	}
	return false
}

// forbidden answers that a permission is missing.
func (x *exchange) forbidden() {
	if x.st.config.Profile == Old {
		x.fail(http.StatusUnauthorized, message("Not authorized"))
		return
	}
	x.fail(http.StatusForbidden, message("Forbidden"))
}

// datasetForbidden answers that the data themselves are not for the caller.
func (x *exchange) datasetForbidden(dataset *Dataset) {
	if x.st.config.Profile == Dev {
		x.fail(http.StatusForbidden, message("Forbidden"))
		return
	}
	x.fail(http.StatusForbidden, errorsBody("DATASOURCE_SECURITY_ACCESS_ERROR",
		"This endpoint requires the datasource %s, database or `all_datasource_access` permission", dataset.Name))
}
