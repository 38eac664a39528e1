package query

import (
	"slices"
	"testing"
)

func TestAFileOfUSGSIsReadAsTheTableThatItIs(t *testing.T) {
	const comments = "# U.S. Geological Survey\n#\n# retrieved: 2024-01-01\n"
	const table = "agency_cd\tsite_no\tstation_nm\r\n5s\t15s\t50s\r\nUSGS\t01013500\tFish River\r\nUSGS\t01022500\tNarraguagus\r\n"
	for name, data := range map[string]string{"with comments": comments + table, "without": table, "a blank line between": comments + "\n" + table} {
		for _, path := range []string{"sites.rdb", "sites.txt", "sites.tsv"} {
			list, errs := (&ValueFile{Path: path, Column: "site_no", Prefix: "USGS-"}).read([]byte(data), "", "monitoring_location_id", nil)
			if len(errs) > 0 || !slices.Equal(list.values, []string{"USGS-01013500", "USGS-01022500"}) {
				t.Errorf("%s, %s: %v %v", name, path, list.values, errs)
			}
		}
	}
	list, errs := (&ValueFile{Path: "sites.rdb", Column: "site_no"}).read([]byte(comments+table), "", "x", nil)
	if len(errs) > 0 || !slices.Equal(list.lines, []int32{6, 7}) {
		t.Errorf("lines are %v %v", list.lines, errs)
	}
	if _, errs = (&ValueFile{Path: "sites.rdb"}).read([]byte(comments+table), "column", "x", nil); len(errs) != 1 {
		t.Errorf("a table without a column: %v", errs)
	}
	// What only begins like one is read as it ever was.
	if list, errs = (&ValueFile{Path: "v.txt"}).read([]byte("#1\n#2\n"), "", "x", nil); len(errs) > 0 || len(list.values) != 2 {
		t.Errorf("%v %v", list.values, errs)
	}
}
