package service

// WithPageRows gives the collection with pages of at most rows rows, or the collection itself when its pages are no larger
// or have no declared size. Only what is sent changes, not how answers are read.
func (c *Collection) WithPageRows(rows int64) *Collection {
	if rows < 1 || int64(c.Limits.PageRows) <= rows {
		return c
	}
	limited := *c
	limited.Limits.PageRows = int(rows)
	limited.setFixedQuery()
	return &limited
}
