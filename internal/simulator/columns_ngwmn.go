package simulator

import (
	"slices"
	"strings"
)

// NGWMNCollections are the collections under /ngwmn/ogcapi. Column names are given as a query filters by them; in answers
// they are written in camelCase (see wireName) unless Config.SnakeColumns is set.
func NGWMNCollections() []Collection {
	wellKey := columnsOf(TypeText, "agency_code", "monitoring_location_number", colSite)
	number := columnsOf(TypeInteger, "monitoring_location_obs_number")
	all := []Collection{
		{
			Name: "sites", Geometry: true,
			Columns: slices.Concat(
				columnsOf(TypeText, colSite, "agency_code", "agency_name", "monitoring_location_number", "monitoring_location_name",
					"country_code", "country_name", "state_name", "county_name", "site_type"),
				columnsOf(TypeDecimal, "altitude"),
				columnsOf(TypeText, "national_aquifer_code", "national_aquifer_description", "aquifer_name", "aquifer_type_code",
					"qw_sn_flag", "qw_well_type", "wl_sn_flag", "wl_well_type"),
			),
		},
		{
			Name: "waterLevelObs", NumericID: true,
			Columns: slices.Concat(wellKey, number,
				columnsOf(TypeTimestamp, "sample_time"),
				columnsOf(TypeText, "orig_unit"), columnsOf(TypeDecimal, "orig_value"),
				columnsOf(TypeText, "accuracy_unit"), columnsOf(typeOddNumber, "accuracy_value"),
				columnsOf(TypeText, "data_provided_by"),
				columnsOf(TypeDecimal, "water_depth_below_land_surface_ft", "water_level_above_site_datum_ft"),
				columnsOf(TypeText, "monitoring_location_vertical_datum"),
				columnsOf(TypeDecimal, "water_level_above_navd88_ft"),
			),
			Queryables: []string{"datetime"},
		},
		{
			Name: "lithologyObs", NumericID: true,
			Columns: slices.Concat(wellKey, number,
				columnsOf(TypeText, "lithology_id", "lithology_description", "lithology_controlled_concept"),
				columnsOf(TypeDecimal, "lithology_depth_from", "lithology_depth_to"),
				columnsOf(TypeText, "lithology_depth_from_unit", "lithology_depth_to_unit"),
			),
		},
		{
			Name: "constructionObs", NumericID: true,
			Columns: slices.Concat(wellKey, number,
				columnsOf(TypeText, "type"),
				columnsOf(TypeDecimal, "depth_from", "depth_to"),
				columnsOf(TypeText, "depth_from_unit", "depth_to_unit", "material"),
				columnsOf(TypeDecimal, "diameter"),
				columnsOf(TypeText, "diameter_unit"),
			),
		},
		{Name: "providers", Columns: columnsOf(TypeText, "agency_code", "agency_name", "organization_type", "state", "link")},
	}
	for i := range all {
		all[i].Service = serviceNGWMN
	}
	return all
}

// wireName writes a column as NGWMN does: waterLevelAboveNAVD88Ft for water_level_above_navd88_ft.
func wireName(column string) string {
	var b strings.Builder
	for i, word := range strings.Split(column, "_") {
		switch {
		case word == "navd88":
			b.WriteString("NAVD88")
		case i == 0 || word == "":
			b.WriteString(word)
		default:
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}
