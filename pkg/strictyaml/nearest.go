package strictyaml

import (
	"fmt"
	"strings"
)

// Nearest gives the candidate that name was most probably meant to be, or "" when none is near. Case does not count;
// the first of equally near candidates wins.
func Nearest(name string, candidates []string) string {
	name = strings.ToLower(name)
	if len(name) > 100 {
		return ""
	}
	nearest, best := "", 1+max(1, len(name)/3)
	for _, candidate := range candidates {
		if len(candidate) > len(name)+best || len(name) > len(candidate)+best {
			continue
		}
		if d := distance(name, strings.ToLower(candidate)); d < best {
			nearest, best = candidate, d
		}
	}
	return nearest
}

// DidYouMean says which candidate name was most probably meant, or which there are; it continues a message about an
// unknown name and begins with "; ". It is empty without candidates.
func DidYouMean(name string, candidates []string) string {
	if near := Nearest(name, candidates); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	const most = 40
	switch n := len(candidates); {
	case n == 0:
		return ""
	case n > most:
		return fmt.Sprintf("; known are %s and %d more", strings.Join(candidates[:most], ", "), n-most)
	}
	return "; known are " + strings.Join(candidates, ", ")
}

// distance counts the insertions, deletions, replacements and swaps of neighbours that turn a into b.
func distance(a, b string) int {
	row := func() []int { return make([]int, len(b)+1) }
	before, above, current := row(), row(), row()
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		current[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			current[j+1] = min(above[j+1]+1, current[j]+1, above[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				current[j+1] = min(current[j+1], before[j-1]+1)
			}
		}
		before, above, current = above, current, before
	}
	return above[len(b)]
}
