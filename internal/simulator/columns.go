package simulator

import "slices"

// ColumnType says how the values of a column are written in the service's answers. Every column can also be null.
type ColumnType string

// The types of columns.
const (
	TypeText      ColumnType = "text"
	TypeDecimal   ColumnType = "decimal"        // a JSON text with the digits of the measurement, "20.20"
	TypeNumber    ColumnType = "number"         // a JSON number, 871.0
	TypeInteger   ColumnType = "integer"        // a JSON number without fraction
	TypeDate      ColumnType = "date"           // 2024-01-31
	TypeTimestamp ColumnType = "timestamp"      // 2024-01-31T10:00:00+00:00, with a fraction or without
	TypeLocalTime ColumnType = "local_time"     // 2024-01-31T10:00:00.123456, UTC and without an offset
	TypeList      ColumnType = "list_text"      // ["e","A"]
	TypeJSON      ColumnType = "json"           // nested
	typeOddNumber ColumnType = "decimal_or_not" // a decimal, or the word Unknown
)

// Column is one member of the properties of a feature.
type Column struct {
	Name string
	Type ColumnType
}

// Collection is one OGC API collection, as Water Data and NGWMN have it.
type Collection struct {
	Service string // usgs-waterdata or usgs-ngwmn
	Name    string // in the path
	// Columns are the members of properties, in the order they are written. The feature's own id stands beside
	// properties; collections whose Columns name "id" repeat it inside.
	Columns []Column
	// Queryables are further names that a query may filter by; every column is a queryable too.
	Queryables []string
	// Geometry tells whether features have a place. Without it the member is null in Water Data and absent in NGWMN.
	Geometry bool
	// NumericID tells that the feature's id is a JSON number.
	NumericID bool
}

func columnsOf(t ColumnType, names ...string) []Column {
	columns := make([]Column, 0, len(names))
	for _, name := range names {
		columns = append(columns, Column{Name: name, Type: t})
	}
	return columns
}

// WaterDataCollections are the collections under /ogcapi/v0, data first, then reference tables.
func WaterDataCollections() []Collection {
	all := []Collection{
		{Name: "daily", Geometry: true, Columns: observationColumns(TypeDate), Queryables: names(siteColumns())},
		{
			Name: "continuous", Columns: append(observationColumns(TypeTimestamp), Column{Name: "method_category", Type: TypeText}),
			Queryables: names(siteColumns()),
		},
		{Name: "latest-daily", Geometry: true, Columns: observationColumns(TypeDate), Queryables: names(siteColumns())},
		{Name: "latest-continuous", Geometry: true, Columns: observationColumns(TypeTimestamp), Queryables: names(siteColumns())},
		{Name: "monitoring-locations", Geometry: true, Columns: slices.Concat(
			columnsOf(TypeText, "id"), siteColumns(), columnsOf(TypeText, "revision_note"),
			columnsOf(TypeTimestamp, "revision_created", "revision_modified"))},
		{Name: "time-series-metadata", Geometry: true, Columns: seriesColumns(), Queryables: names(siteColumns())},
		{Name: "combined-metadata", Geometry: true, Columns: slices.Concat(
			columnsOf(TypeText, "id", colSite), siteColumns(), combinedColumns())},
		{Name: "field-measurements", Geometry: true, Columns: fieldMeasurementColumns(), Queryables: names(siteColumns())},
		{Name: "field-measurements-metadata", Geometry: true, Columns: slices.Concat(
			columnsOf(TypeText, "id", colSite, colParameter, "parameter_name", "parameter_description", "reading_type"),
			columnsOf(TypeTimestamp, "begin", "end", colModified))},
		{Name: "channel-measurements", Geometry: true, Columns: channelColumns()},
		{Name: "peaks", Geometry: true, Columns: peakColumns(), Queryables: names(siteColumns())},
	}
	all = append(all, referenceTables()...)
	for i := range all {
		all[i].Service = serviceWaterData
	}
	return all
}

func names(columns []Column) []string {
	list := make([]string, 0, len(columns))
	for _, c := range columns {
		list = append(list, c.Name)
	}
	return list
}

// observationColumns are those of values in time; the daily collection's fast path writes the same (see dailyColumns).
func observationColumns(times ColumnType) []Column {
	return []Column{
		{colSeriesID, TypeText},
		{colSite, TypeText},
		{colParameter, TypeText},
		{colStatistic, TypeText},
		{colTime, times},
		{colValue, TypeDecimal},
		{colUnit, TypeText},
		{colApproval, TypeText},
		{colQualifier, TypeList},
		{colModified, TypeTimestamp},
	}
}

// siteColumns describe a site; the id column is not among them.
func siteColumns() []Column {
	return slices.Concat(
		columnsOf(TypeText, "agency_code", "agency_name", "monitoring_location_number", "monitoring_location_name", "district_code",
			"country_code", "country_name", "state_code", "state_name", "county_code", "county_name", "minor_civil_division_code",
			"site_type_code", "site_type", "hydrologic_unit_code", "basin_code"),
		columnsOf(TypeNumber, "altitude", "altitude_accuracy"),
		columnsOf(TypeText, "altitude_method_code", "altitude_method_name", "vertical_datum", "vertical_datum_name",
			"horizontal_positional_accuracy_code", "horizontal_positional_accuracy", "horizontal_position_method_code",
			"horizontal_position_method_name", "original_horizontal_datum", "original_horizontal_datum_name"),
		columnsOf(TypeNumber, "drainage_area", "contributing_drainage_area"),
		// A construction date is "1955" or "1955-06-01": text, for the year alone is no date.
		columnsOf(TypeText, "time_zone_abbreviation", "uses_daylight_savings", "construction_date", "aquifer_code",
			"national_aquifer_code", "aquifer_type_code"),
		columnsOf(TypeNumber, "well_constructed_depth", "hole_constructed_depth"),
		columnsOf(TypeText, "depth_source_code"),
	)
}

// seriesColumns describe a time series. Their last_modified carries no offset.
func seriesColumns() []Column {
	return slices.Concat(
		columnsOf(TypeText, "id", colUnit, "parameter_name", colParameter, colStatistic, "hydrologic_unit_code", "state_name"),
		columnsOf(TypeLocalTime, colModified),
		columnsOf(TypeTimestamp, "begin", "end", "begin_utc", "end_utc"),
		columnsOf(TypeText, "computation_period_identifier", "computation_identifier"),
		columnsOf(TypeJSON, "thresholds"),
		columnsOf(TypeText, "sublocation_identifier", "primary", colSite, "web_description", "parameter_description",
			"parent_time_series_id"),
	)
}

// combinedColumns are what combined-metadata adds to a site.
func combinedColumns() []Column {
	return slices.Concat(
		columnsOf(TypeText, colUnit, "parameter_name", colParameter, colStatistic),
		columnsOf(TypeTimestamp, colModified, "begin", "end"),
		columnsOf(TypeText, "data_type", "computation_identifier"),
		columnsOf(TypeJSON, "thresholds"),
		columnsOf(TypeText, "sublocation_identifier", "primary", "web_description", "parameter_description", "parent_time_series_id",
			"reading_type"),
	)
}

func fieldMeasurementColumns() []Column {
	return slices.Concat(
		columnsOf(TypeText, "field_measurements_series_id", "field_visit_id", colParameter, colSite, "observing_procedure_code",
			"observing_procedure"),
		columnsOf(TypeDecimal, colValue),
		columnsOf(TypeText, colUnit),
		columnsOf(TypeDate, colTime),
		columnsOf(TypeList, colQualifier),
		columnsOf(TypeText, "vertical_datum", colApproval, "measuring_agency", "reading_type"),
		columnsOf(TypeTimestamp, colModified),
		columnsOf(TypeText, "control_condition", "measurement_rated"),
		columnsOf(TypeInteger, "year", "month", "day"),
		columnsOf(TypeText, "time_of_day"),
	)
}

func channelColumns() []Column {
	return slices.Concat(
		columnsOf(TypeText, "id", colSite, "field_visit_id", "measurement_number"),
		columnsOf(TypeTimestamp, colTime),
		columnsOf(TypeText, "channel_name"),
		columnsOf(TypeDecimal, "channel_flow"), columnsOf(TypeText, "channel_flow_unit"),
		columnsOf(TypeDecimal, "channel_width"), columnsOf(TypeText, "channel_width_unit"),
		columnsOf(TypeDecimal, "channel_area"), columnsOf(TypeText, "channel_area_unit"),
		columnsOf(TypeDecimal, "channel_velocity"), columnsOf(TypeText, "channel_velocity_unit"),
		// The distance is "" where nobody measured it.
		columnsOf(TypeDecimal, "channel_location_distance"),
		columnsOf(TypeText, "channel_location_distance_unit", "channel_stability", "channel_material", "channel_evenness",
			"horizontal_velocity_description", "vertical_velocity_description", "longitudinal_velocity_description", "measurement_type"),
		columnsOf(TypeTimestamp, colModified),
		columnsOf(TypeText, "channel_measurement_type", "channel_location_direction"),
	)
}

func peakColumns() []Column {
	return slices.Concat(
		columnsOf(TypeText, colSeriesID, colSite, colParameter, colUnit),
		columnsOf(TypeDecimal, colValue),
		columnsOf(TypeTimestamp, colModified),
		columnsOf(TypeDate, colTime),
		columnsOf(TypeInteger, "water_year", "year", "month", "day"),
		columnsOf(TypeText, "time_of_day"),
		columnsOf(TypeInteger, "peak_since"),
		columnsOf(TypeList, colQualifier),
	)
}

// referenceTables are lists of codes: the code is the id, all columns are text, none has a place.
func referenceTables() []Collection {
	table := func(name string, columns ...string) Collection {
		return Collection{Name: name, Columns: columnsOf(TypeText, append([]string{"id"}, columns...)...)}
	}
	return []Collection{
		table("agency-codes", "agency_name"),
		table("altitude-datums", "altitude_datum_description"),
		table("aquifer-codes", "aquifer_name"),
		table("aquifer-types", "aquifer_type_description"),
		table("coordinate-accuracy-codes", "coordinate_accuracy_description"),
		table("coordinate-datum-codes", "coordinate_datum_description"),
		table("coordinate-method-codes", "coordinate_method_description"),
		table("counties", "country_code", "state_fips_code", "county_fips_code", "county_name"),
		table("hydrologic-unit-codes", "hydrologic_unit_name", "hydrologic_unit_classification_code"),
		table("medium-codes", "medium_name", "medium_description", "legacy_medium_code"),
		table("national-aquifer-codes", "national_aquifer_name"),
		table("parameter-codes", "parameter_name", colUnit, "parameter_group_code", "parameter_description", "medium",
			"statistical_basis", "time_basis", "weight_basis", "particle_size_basis", "sample_fraction", "temperature_basis",
			"epa_equivalence"),
		table("reliability-codes", "reliability_description"),
		table("site-types", "site_type_primary_flag", "site_type_name", "site_type_description"),
		table("states", "country_code", "state_fips_code", "state_name", "state_postal_code"),
		table("statistic-codes", "statistic_name", "statistic_description"),
		table("time-zone-codes", "time_zone_name", "time_zone_description", "time_zone_utc_offset",
			"time_zone_daylight_savings_time_code", "time_zone_daylight_savings_time_name", "time_zone_daylight_savings_utc_offset"),
		table("topographic-codes", "topography_name", "short_topography_description", "full_topography_description"),
	}
}
