package httpapi

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/pkg/access"
)

// What a rule may ask for beside a permission.
const (
	anyone access.Permission = "open"          // a token is not looked at
	known  access.Permission = "authenticated" // any valid token
)

// rule is what a route asks for. The zero rule lets nobody in who has to show a token.
type rule struct {
	permission access.Permission
	changes    bool // each request is written down by the audit, before it is carried out and after
}

// rules is the one table of what each route asks for, by its pattern. A route that is not in it is closed where tokens are
// needed. Whose query it is that somebody changes is asked beside it, see changeable.
func rules(of *Access) map[string]rule {
	const ofQuery = queryPath
	table := map[string]rule{
		"GET /healthz":         {anyone, false},
		"GET /readyz":          {anyone, false},
		"GET /problems/{slug}": {anyone, false},
		"GET /{$}":             {anyone, false}, // the dashboard's files hold no data
		"GET /assets/":         {anyone, false},
		"POST " + loginPath:    {anyone, false}, // these two write their own audit
		"POST " + logoutPath:   {anyone, false},

		"GET /openapi.json":  {known, false},
		"GET /docs":          {known, false},
		"GET " + whoamiPath:  {known, false},
		"GET " + metricsPath: {access.QueriesRead, false},

		"GET " + queriesPath:                    {access.QueriesRead, false},
		"GET /v1/events":                        {access.QueriesRead, false},
		"GET " + ofQuery:                        {access.QueriesRead, false},
		"GET " + ofQuery + "/events":            {access.QueriesRead, false},
		"GET " + ofQuery + "/grid":              {access.QueriesRead, false},
		"GET " + ofQuery + "/series":            {access.QueriesRead, false},
		"GET " + ofQuery + "/chunks":            {access.QueriesRead, false},
		"GET " + ofQuery + "/chunks/{position}": {access.QueriesRead, false},
		"GET " + ofQuery + "/rows":              {access.QueriesRead, false},
		"GET " + coverPath:                      {access.QueriesRead, false},
		"GET " + provePath:                      {access.QueriesRead, false},
		"GET " + failuresPath:                   {access.QueriesRead, false},
		"GET " + verifyPath:                     {access.QueriesRead, false},
		"GET " + resultsPath:                    {access.QueriesRead, false},
		"GET " + quotasPath:                     {access.QueriesRead, false},
		"GET /v1/services":                      {access.QueriesRead, false},
		"GET /v1/services/{name}":               {access.QueriesRead, false},
		"GET /v1/workers":                       {access.QueriesRead, false},

		"POST " + planPath:    {access.QueriesSubmit, false},
		"POST /v1/query-file": {access.QueriesSubmit, false},
		"POST " + queriesPath: {access.QueriesSubmit, true},
		"POST " + resumePath:  {access.QueriesControlOwn, true},
		"POST " + cancelPath:  {access.QueriesControlOwn, true},
		"DELETE " + queryPath: {access.QueriesControlOwn, true},
		"POST " + verifyPath:  {access.Operations, true},
		"POST " + garbagePath: {access.Operations, true},
	}
	loadRules(table)
	if of != nil && of.metricsOpen {
		table["GET "+metricsPath] = rule{anyone, false}
	}
	return table
}

// metricsPath is where Prometheus asks.
const metricsPath = "/metrics"

func (r rule) allow(p *access.Principal) error {
	if r.permission == known {
		return nil
	}
	return p.Require(r.permission)
}

// security tells, for the OpenAPI document, by what the route takes a caller to be known.
func (r rule) security() []map[string][]string {
	if r.permission == anyone {
		return []map[string][]string{}
	}
	return []map[string][]string{{"bearer": {}}, {"session": {}}}
}

func securitySchemes() map[string]*huma.SecurityScheme {
	return map[string]*huma.SecurityScheme{
		"bearer":  {Type: "http", Scheme: "bearer", Description: "A token that braid token new made. A server without tokens asks for none; GET " + whoamiPath + " tells."},
		"session": {Type: "apiKey", In: "cookie", Name: sessionCookie, Description: "Of the dashboard, by POST " + loginPath + "; over TLS its name begins with __Host-"},
	}
}

// nameOperations remembers the ids of operations, by which the audit calls them.
func (a *api) nameOperations() {
	a.operations = map[string]string{}
	for path, item := range a.huma.OpenAPI().Paths {
		for method, operation := range map[string]*huma.Operation{http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodDelete: item.Delete, http.MethodPut: item.Put, http.MethodPatch: item.Patch} {
			if operation != nil {
				a.operations[method+" "+path] = operation.OperationID
			}
		}
	}
}

// queryIn is the id of the query that a request names, as it stands in its path.
func queryIn(pattern string, r *http.Request) string {
	_, path, _ := strings.Cut(pattern, " ")
	given := strings.Split(r.URL.EscapedPath(), "/")
	for i, segment := range strings.Split(path, "/") {
		if segment == "{id}" && i < len(given) {
			id, err := url.PathUnescape(given[i])
			if err != nil {
				return ""
			}
			return id[:min(len(id), maxLoggedPath)]
		}
	}
	return ""
}
