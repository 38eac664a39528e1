package simulator

import (
	"net/http"
	"slices"
	"sync"
)

// DailyPath is where the daily collection's items are.
const DailyPath = collectionsPath + "daily/items"

const collectionsPath = "/ogcapi/v0/collections/"

// collection is one OGC API collection. A new one is a new value in usgsRoutes.
type collection struct {
	name       string
	columns    []string // what /schema describes
	parameters []string // the columns one can filter by, in /queryables
	items      func(c *call) int64
}

// usgsRoutes are the paths of the Water Data OGC API.
func usgsRoutes(buffers *sync.Pool) map[string]route {
	collections := []collection{{
		name:       "daily",
		columns:    dailyColumns(),
		parameters: []string{colSite, colParameter, colStatistic, colTime},
		items:      func(c *call) int64 { return answerDaily(c, buffers) },
	}}
	routes := map[string]route{}
	get := []string{http.MethodGet}
	for _, col := range collections {
		path := collectionsPath + col.name
		routes[path+"/items"] = route{methods: get, isPage: true, answer: col.items}
		routes[path+"/queryables"] = route{methods: get, answer: col.describe(col.parameters)}
		routes[path+"/schema"] = route{methods: get, answer: col.describe(col.columns)}
	}
	return routes
}

// describe answers with a JSON Schema of some columns.
func (col collection) describe(columns []string) func(*call) int64 {
	properties := map[string]any{}
	for _, column := range columns {
		property := map[string]any{"title": column, "type": "string"}
		switch column {
		case colTime:
			property["format"] = "date"
		case colModified:
			property["format"] = "date-time"
		case colQualifier:
			property = map[string]any{"title": column, "type": "array", "items": map[string]string{"type": "string"}}
		}
		properties[column] = property
	}
	schema := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   col.name, "type": "object", "properties": properties,
	}
	return func(c *call) int64 {
		for name, values := range c.request.URL.Query() {
			if !slices.Contains([]string{"f", "lang"}, name) || len(values) != 1 {
				c.out.serviceError(http.StatusBadRequest, "InvalidParameterValue", name+": unknown parameter; the known ones are f, lang")
				return 0
			}
		}
		c.out.json(http.StatusOK, schema)
		return 0
	}
}
