package coordinator

import (
	"errors"
	"fmt"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/query"
)

// checkSelect refuses a column that the table cannot have, before anything is sent.
func checkSelect(shape frame.Shape) error {
	var errs []error
	for _, name := range shape.Select {
		if _, err := query.CheckColumn(shape, name); err != nil {
			errs = append(errs, fmt.Errorf("select: %w", err))
		}
	}
	return errors.Join(errs...)
}
