package simulator

import (
	"net/http"
	"slices"
)

// DailyPath is where the daily collection's items are.
const DailyPath = collectionsPath + "daily/items"

const (
	collectionsPath      = WaterDataBase + "/collections/"
	ngwmnCollectionsPath = NGWMNBase + "/collections/"
)

// ogcCollection is a collection with what its endpoint needs.
type ogcCollection struct {
	Collection
	timeColumn    string // what datetime means; "" for collections without times
	oneValueInURL bool
	fields        []Column // that a query may filter by
	open          func(*world, selection) table
}

// ogcRoutes are the paths of Water Data and NGWMN.
func (s *Simulator) ogcRoutes() map[string]route {
	routes := map[string]route{}
	both := []string{http.MethodGet, http.MethodPost}
	add := func(base string, col Collection) {
		o := &ogcCollection{Collection: col, timeColumn: timeColumnOf(col), open: openerOf(col)}
		o.fields = queryablesOf(col)
		o.oneValueInURL = col.Name == "monitoring-locations"
		items := o.answerItems
		if col.Name == "daily" {
			items = func(c *call) int64 { return o.answerDaily(c, &s.buffers) }
		}
		get := []string{http.MethodGet}
		routes[base+col.Name+"/items"] = route{methods: both, form: formFeatures, answer: items}
		routes[base+col.Name+"/queryables"] = route{methods: get, answer: o.describe(o.fields)}
		routes[base+col.Name+"/schema"] = route{methods: get, answer: o.describe(o.Columns)}
	}
	for _, col := range WaterDataCollections() {
		add(collectionsPath, col)
	}
	for _, col := range NGWMNCollections() {
		add(ngwmnCollectionsPath, col)
	}
	return routes
}

func timeColumnOf(col Collection) string {
	for _, name := range []string{colTime, "sample_time", "begin"} {
		if slices.Contains(names(col.Columns), name) {
			return name
		}
	}
	return ""
}

func openerOf(col Collection) func(*world, selection) table {
	switch col.Name {
	case "daily":
		return openDaily
	case "continuous":
		return openContinuous
	case "latest-daily":
		return openLatest(openDaily)
	case "latest-continuous":
		return openLatest(openContinuous)
	case "monitoring-locations":
		return openMonitoringLocations
	case "time-series-metadata":
		return openSeriesMetadata
	case "combined-metadata":
		return openCombinedMetadata
	case "field-measurements":
		return openFieldMeasurements
	case "field-measurements-metadata":
		return openFieldMetadata
	case "channel-measurements":
		return openChannelMeasurements
	case "peaks":
		return openPeaks
	case "sites":
		return openWells
	case "waterLevelObs":
		return openWaterLevels
	case "lithologyObs":
		return openLithology
	case "constructionObs":
		return openConstruction
	case "providers":
		return openProviders
	default:
		return openReference(col.Name)
	}
}

// queryable tells the type of a name that a query may filter by.
func (o *ogcCollection) queryable(name string) (ColumnType, bool) {
	for _, column := range o.fields {
		if column.Name == name {
			return column.Type, true
		}
	}
	return "", false
}

// queryablesOf are the columns and what else can be filtered by.
func queryablesOf(col Collection) []Column {
	list := slices.Clone(col.Columns)
	if !slices.Contains(names(list), "id") {
		list = append(list, Column{"id", TypeText})
	}
	for _, name := range col.Queryables {
		if name != "datetime" && !slices.Contains(names(list), name) {
			list = append(list, Column{name, TypeText})
		}
	}
	return list
}

// parameters are the names a URL may hold.
func (o *ogcCollection) parameters() []string {
	return append(names(o.fields), "limit", "f", "lang", "skipGeometry", "properties", "bbox", "datetime", "filter", "filter-lang", "cursor")
}

// describe answers with a JSON Schema of some columns.
func (o *ogcCollection) describe(columns []Column) func(*call) int64 {
	properties := map[string]any{}
	for _, column := range columns {
		property := map[string]any{"title": column.Name, "type": "string"}
		switch column.Type {
		case TypeDate:
			property["format"] = "date"
		case TypeTimestamp, TypeLocalTime:
			property["format"] = "date-time"
		case TypeList:
			property = map[string]any{"title": column.Name, "type": "array", "items": map[string]string{"type": "string"}}
		default: // the service types all else as text
		}
		properties[column.Name] = property
	}
	schema := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   o.Name, "type": "object", "properties": properties,
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
