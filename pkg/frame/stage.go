package frame

import "slices"

// stage is the steps of finalize that look at rows, up to a limit: the rows pass its filters and casts one by one, are then
// sorted, and cut. A filter or a cast behind a sort may come before it, as it does not change the order; only a limit may not.
type stage struct {
	steps []step
	by    []viewColumn
	limit int
}

const noLimit = -1

// step looks at a stored row and tells whether it stays.
type step struct {
	keeps func(stored Row) bool
	bad   *BadField // of a cast
}

// stage is that to which the next step belongs.
func (f *finalizer) stage() *stage { return f.stages[len(f.stages)-1] }

func (s *stage) look(next step) { s.steps = append(s.steps, next) }

// keeps tells whether a row passes the filters; casts count on the way.
func (s *stage) keeps(stored Row) bool {
	for _, step := range s.steps {
		if !step.keeps(stored) {
			return false
		}
	}
	return true
}

// appendKey appends what the stage sorts a row by.
func (s *stage) appendKey(key []byte, stored Row) []byte {
	for i := range s.by {
		key = appendKey(key, s.by[i].Type, s.by[i].value(stored))
	}
	return key
}

// castStep counts the values that become null by a cast; the view makes them null.
func castStep(c viewColumn, to Type) step {
	bad := &BadField{Name: c.Name, Type: to}
	return step{bad: bad, keeps: func(stored Row) bool {
		if v := c.value(stored); !v.Null && !fits(to, v.Text) {
			bad.add(v.Text)
		}
		return true
	}}
}

func (f *finalizer) filter(wanted map[string][]string) error {
	for name, texts := range sorted(wanted) {
		c, err := f.find("filter", name)
		if err != nil {
			return err
		}
		f.stage().look(step{keeps: func(stored Row) bool {
			v := c.value(stored)
			return !v.Null && slices.Contains(texts, v.Text)
		}})
	}
	return nil
}

func (f *finalizer) sort(names []string) error {
	columns := make([]viewColumn, len(names))
	for to, name := range names {
		var err error
		if columns[to], err = f.find("sort", name); err != nil {
			return err
		}
	}
	// Sorting is stable: what was sorted by before decides between equals.
	s := f.stage()
	s.by = append(columns, s.by...)
	return nil
}

func (f *finalizer) limit(rows int) {
	f.stage().limit = rows
	f.stages = append(f.stages, &stage{limit: noLimit})
}

// casts tells whether some step counts what it makes null.
func (s *stage) casts() bool {
	return slices.ContainsFunc(s.steps, func(step step) bool { return step.bad != nil })
}

// idle tells that a stage does nothing.
func (s *stage) idle() bool { return len(s.steps) == 0 && len(s.by) == 0 && s.limit == noLimit }
