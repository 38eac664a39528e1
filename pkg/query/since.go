package query

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/braidhq/braid/pkg/service"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// Since makes a run go on from the last complete run of the same query: it asks only for what is younger by a column than what that
// run has, less an overlap, and rows of the same key take the place of the ones that are there.
type Since struct {
	Column  string   `yaml:"column,required" json:"column"`   // of rows, of the type date or timestamp
	Overlap Duration `yaml:"overlap" json:"overlap,omitzero"` // how far before the youngest row a run begins
	Full    bool     `yaml:"-" json:"full,omitzero"`          // ask for all once more; later runs go on from this one
	// Begin is where the interval begins that a run narrows, before it was narrowed; open when it has no begin. The coordinator sets it.
	Begin string `yaml:"-" json:"begin,omitzero"`
}

// maxOverlap is as long as anything may be measured that runs still go on from.
const maxOverlap = Duration(100 * 366 * 24 * time.Hour)

func (s *Since) check() error {
	switch {
	case s == nil:
	case s.Column == "" || len(s.Column) > maxNameBytes:
		return fmt.Errorf("column: the name of a column has 1 to %d bytes", maxNameBytes)
	case s.Overlap < 0 || s.Overlap > maxOverlap:
		return errors.New("overlap: write a time span of up to 100 years, such as 2d")
	}
	return nil
}

// checkSince refuses what a run could not go on from.
func (q *Query) checkSince(root strictyaml.Node) {
	if q.Since == nil || !root.At("since").Has("column") {
		q.Since = nil // told already, or not there
		return
	}
	if err := q.Since.check(); err != nil {
		root.At("since").Fail("%s", err)
		q.Since = nil
	} else if q.MaxRows > 0 {
		root.At("since").Fail("goes on from all rows of the run before, and max_rows leaves some out; remove one of them")
	}
}

// Lineage is the same for runs of one query that may go on from one another: of values that last (service.Collection.Lasting), and of all
// else by which it is told which rows and columns there are.
func (s *Spec) Lineage(lasting service.Values) (string, error) {
	data, err := json.Marshal(struct {
		Service, Collection, Column string
		Values                      service.Values
		Select                      []string
	}{s.Service, s.Collection, s.Since.Column, lasting, s.Select})
	if err != nil {
		return "", fmt.Errorf("lineage of a query: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
