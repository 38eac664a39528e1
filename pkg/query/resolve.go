package query

import (
	"fmt"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/service"
)

// Resolve gives the values that the query asks for. It reads the value files by open, which gets each path as it stands
// in the query file; puts prefixes where they are missing; drops blank lines and repeats; and freezes the word today
// to the day given. Notes tell a person what was dropped. Whether the service accepts the values is not judged here:
// service.Collection.CheckValues does.
func (q *Query) Resolve(open func(path string) ([]byte, error), today time.Time) (values service.Values, notes []string, err error) {
	values = make(service.Values, len(q.Where))
	for _, condition := range q.Where {
		list, err := condition.resolve(open, today)
		if err != nil {
			return nil, nil, fmt.Errorf("where.%s: %w", condition.Parameter, err)
		}
		if condition.Source.Interval == nil {
			var dropped int
			if list, dropped = distinct(list); dropped > 0 {
				notes = append(notes, fmt.Sprintf("%s: %d repeated values were dropped, %d remain", condition.Parameter, dropped, len(list)))
			}
		}
		values[condition.Parameter] = list
	}
	return values, notes, nil
}

func (c Condition) resolve(open func(path string) ([]byte, error), today time.Time) ([]string, error) {
	switch source := c.Source; {
	case source.Interval != nil:
		return source.Interval.resolve(today), nil
	case source.File != nil:
		data, err := open(source.File.Path)
		if err != nil {
			return nil, fmt.Errorf("read the values in %s: %w", source.File.Path, err)
		}
		return source.File.values(data)
	default:
		return source.Values, nil
	}
}

// distinct drops values that stand earlier in the list.
func distinct(list []string) (kept []string, dropped int) {
	seen := make(map[string]struct{}, len(list))
	kept = make([]string, 0, len(list))
	for _, value := range list {
		if _, twice := seen[value]; !twice {
			seen[value] = struct{}{}
			kept = append(kept, value)
		}
	}
	return kept, len(list) - len(kept)
}

const wordToday = "today"

func (i Interval) resolve(today time.Time) []string {
	from, to := i.From, i.To
	if from == "" {
		from = service.OpenEnd
	}
	if to == "" {
		to = service.OpenEnd
	}
	return []string{frozen(from, to, today), frozen(to, from, today)}
}

// frozen writes the word today in the form of the other end.
func frozen(end, other string, today time.Time) string {
	if end != wordToday {
		return end
	}
	switch {
	case strings.Contains(other, "T"):
		return today.UTC().Format(time.DateOnly) + "T00:00:00Z"
	case len(other) == len("2006"):
		return today.UTC().Format("2006")
	case len(other) == len("2006-01"):
		return today.UTC().Format("2006-01")
	}
	return today.UTC().Format(time.DateOnly)
}
