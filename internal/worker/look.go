package worker

import (
	"context"
	"errors"
	"time"
)

// lookAgain is how old a look for another attempt's result may be when a request is sent. A look costs less than a request.
const lookAgain = 20 * time.Millisecond

// errDone ends an item whose position has got its result meanwhile, from somebody else.
var errDone = errors.New("another attempt's result is there")

// look tells whether the position has a result.
func (c *chunk) look(ctx context.Context) (have bool, err error) {
	have, err = c.w.ports.Results.HasResult(ctx, c.item.Query, c.item.Position)
	c.looked = c.w.ports.Now()
	return have, err
}

// overtaken gives errDone when a request would ask for what is complete: between the look with which an item begins and its
// request lies the wait for a slot, or for another try. Where nobody else is known to have the item, it is looked for only after
// a time in which the queue may have given it to another, had it heard nothing from here.
func (c *chunk) overtaken(ctx context.Context) error {
	c.again = c.again || c.delivery.InDoubt()
	age := c.w.ports.Now().Sub(c.looked)
	if age < lookAgain || !c.again && age < c.in.unheard() {
		return nil
	}
	have, err := c.look(ctx)
	if err == nil && have {
		c.log.Info("another attempt's result is there; nothing more is asked for")
		err = errDone
	}
	return err
}
