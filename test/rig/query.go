package rig

import (
	"fmt"
	"strings"
)

// Site is the i-th site of DailyQuery.
func Site(i int) string { return fmt.Sprintf("USGS-%08d", 1_000_000+37*i) }

// DailyQuery is a query file for the daily values of a water year at so many sites, divided into chunks; 0: as the planner
// divides it.
func DailyQuery(sites, chunks int) string {
	var text strings.Builder
	text.WriteString("schema: query/v1\nservice: usgs-waterdata\ncollection: daily\nwhere:\n  monitoring_location_id: [")
	for i := range sites {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(Site(i))
	}
	text.WriteString("]\n  parameter_code: '00060'\n  statistic_id: '00003'\n")
	text.WriteString("  time: {from: 2023-10-01, to: 2024-09-30}\n")
	if chunks > 0 {
		fmt.Fprintf(&text, "max_chunks: %d\n", chunks)
	}
	return text.String()
}
