package simulator

import (
	"fmt"
	"slices"
	"strings"
)

// hucRegions and the numbers of children make the fake world's hydrologic units: 21 regions of 48 units of 12 digits.
const hucRegions = 21

// allHUC12 lists every unit of 12 digits, sorted.
func allHUC12() []string {
	list := make([]string, 0, hucRegions*48)
	for region := 1; region <= hucRegions; region++ {
		for i := range 48 {
			list = append(list, fmt.Sprintf("%02d%02d%02d%02d%02d%02d", region, 1+i/24, 1+i/12%2, 1+i/6%2, 1+i/3%2, 1+i%3))
		}
	}
	return list
}

// waterUseLocations are the units of 12 digits that one location has. Units on the border of states and counties belong to
// both neighbours with overlap, to none without.
func waterUseLocations(location string, overlap bool, w *world) ([]string, error) {
	kind, id, found := strings.Cut(location, ":")
	if !found {
		return nil, nwdcFault{"location", "must be type:id, for example stateCd:WI"}
	}
	switch kind {
	case "stateCd":
		s, known := stateByPostal(id)
		if !known {
			return nil, fmt.Errorf("invalid location: %s", clip(location))
		}
		first, end := w.territory(s)
		return between(first, end, overlap), nil
	case "countyCd":
		at := slices.IndexFunc(w.states, func(s usState) bool { return len(id) == 5 && s.fips == id[:2] })
		if at < 0 || !allDigits(id) {
			return nil, fmt.Errorf("invalid location: %s", clip(location))
		}
		first, end := w.territory(w.states[at])
		part := int(id[4]-'0') / 2 % countiesPerState
		size := (end - first) / countiesPerState
		return between(first+part*size, first+(part+1)*size, overlap), nil
	}
	if !allDigits(id) || len(id)%2 != 0 || len(id) > 12 || kind != fmt.Sprintf("huc%d", len(id)) {
		return nil, nwdcFault{"location", fmt.Sprintf("%q is not a known type with an id of its form", clip(location))}
	}
	list := allHUC12()
	list = slices.DeleteFunc(list, func(huc string) bool { return !strings.HasPrefix(huc, id) })
	if len(list) == 0 {
		return nil, errNoData
	}
	return list, nil
}

// territory is the part of allHUC12 that a state has; its first unit is shared with the state before it, and so is the
// first unit behind its end with the state behind it.
func (w *world) territory(s usState) (first, end int) {
	at := slices.Index(w.states, s)
	return at * hucRegions * 48 / len(w.states), (at + 1) * hucRegions * 48 / len(w.states)
}

func between(first, end int, overlap bool) []string {
	all := allHUC12()
	if overlap {
		return all[first:min(end+1, len(all))]
	}
	return all[min(first+1, end):end]
}

func allDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
